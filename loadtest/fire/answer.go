package fire

import (
	"encoding/json"
	"net/http"
	"slices"
	"strconv"

	"orderstock/loadtest/history"
	"orderstock/pkg/operation"
	"orderstock/pkg/stockapi"
)

// readOrder reads the order service's answer into the call. Sent are the items of the order.
func (c *client) readOrder(e *history.Call, sent []history.Item, body []byte) {
	var o struct {
		ID     string          `json:"id"`
		Status json.RawMessage `json:"status"` // a string in an order, a number in a problem
		Total  int64           `json:"total"`
		Items  []struct {
			GoodsID string `json:"goods_id"`
			Num     int64  `json:"num"`
			Price   int64  `json:"price"`
		} `json:"items"`
		Code string `json:"code"` // of a problem
	}
	if err := json.Unmarshal(body, &o); err != nil {
		unreadable(e)
		return
	}
	if o.ID == "" && e.Code >= http.StatusBadRequest {
		e.Problem = history.ParseProblem(o.Code)
		if e.Kind == history.Cancel && e.Code == http.StatusConflict && e.Problem == history.OrderRejected {
			e.Status = history.Rejected
		}
		return
	}
	var status string
	id, err := strconv.ParseInt(o.ID, 10, 64)
	if err != nil || id <= 0 || json.Unmarshal(o.Status, &status) != nil {
		unreadable(e)
		return
	}
	named := c.named[:0]
	for _, it := range o.Items {
		goods, err := operation.ParseGoodsID(it.GoodsID)
		if err != nil {
			unreadable(e)
			return
		}
		named = append(named, history.PricedItem{Item: history.Item{GoodsID: goods, Num: it.Num}, Price: it.Price})
	}
	c.named = named
	e.Order, e.Total, e.Status = id, o.Total, history.ParseStatus(status)
	e.Told = c.f.tell(c, sent, named)
}

// readOperation reads the stock service's answer into the call.
func (c *client) readOperation(e *history.Call, sent []history.Item, body []byte) {
	var o struct {
		stockapi.Operation
		Code string `json:"code"` // of a problem
	}
	if err := json.Unmarshal(body, &o); err != nil {
		unreadable(e)
		return
	}
	if o.State == "" && e.Code >= http.StatusBadRequest {
		e.Problem = history.ParseProblem(o.Code)
		return
	}
	c.takeOperation(e, sent, o.Operation)
}

// takeOperation copies the result recorded under the call's flag into the call.
func (c *client) takeOperation(e *history.Call, sent []history.Item, op stockapi.Operation) {
	items, err := stockapi.ParseItems(op.Items)
	if err != nil || op.Flag != c.f.h.Key(int(e.Op)) {
		unreadable(e)
		return
	}
	c.named = c.named[:0]
	for _, it := range items {
		c.named = append(c.named, history.PricedItem{Item: it})
	}
	e.Status, e.Replayed = history.ParseStatus(string(op.State)), op.Repeat
	e.Told = c.f.tell(c, sent, c.named)
}

// tell returns how the history records the items in an answer.
func (f *firing) tell(c *client, sent []history.Item, named []history.PricedItem) history.Told {
	c.sorted = append(c.sorted[:0], sent...)
	history.SortItems(c.sorted)
	f.telling.Lock()
	defer f.telling.Unlock()
	return f.h.Tell(c.sorted, named)
}

// sent returns the items of a call's order. A cancellation sends none, so they come from the plan.
func (c *client) sent(op int32, items []history.Item) []history.Item {
	if items == nil {
		c.planned, _ = c.f.plan.order(int(op), c.planned[:0])
		return c.planned
	}
	return slices.Clip(items)
}

// unreadable marks an answer that violates the contract, unless its code is 500 or more: a proxy that reaches no
// service answers with its own text.
func unreadable(c *history.Call) {
	if c.Code < http.StatusInternalServerError {
		c.Failure = history.Unreadable
	}
}
