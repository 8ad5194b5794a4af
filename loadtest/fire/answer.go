package fire

import (
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"orderstock/loadtest/contract"
	"orderstock/loadtest/history"
	"orderstock/pkg/httpapi"
	"orderstock/pkg/operation"
	"orderstock/pkg/stockapi"
)

// readOrder reads the order service's answer into the call. Sent are the items of the order.
func (c *client) readOrder(e *history.Call, sent []history.Item, body []byte) {
	var o struct {
		orderAnswer
		httpapi.Problem
		Status jsontext.Value `json:"status"` // a string in an order, a number in a problem
	}
	if err := json.Unmarshal(body, &o, contract.Strict); err != nil || e.Kind.Places() && !o.UpdatedAt.IsZero() {
		unreadable(e)
		return
	}
	if o.ID == "" && e.Code >= http.StatusBadRequest {
		readProblem(e, o.Code, string(o.Status))
		if e.Kind == history.Cancel && e.Code == http.StatusConflict && e.Problem == history.OrderRejected {
			e.Status = history.Rejected
		}
		return
	}
	var status string
	id, named, ok := o.read(c.named[:0])
	if c.named = named; !ok || json.Unmarshal(o.Status, &status) != nil {
		unreadable(e)
		return
	}
	e.Order, e.Total, e.Status = id, o.Total, history.ParseStatus(status)
	e.Created = o.created()
	c.f.tell(c, e, sent, named, o.Reason)
}

// readProblem reads the code of a problem into the call. A service's problem has the status of its answer.
func readProblem(e *history.Call, code, status string) {
	if e.Problem = history.ParseProblem(code); code != "" && status != strconv.Itoa(int(e.Code)) {
		e.Failure = history.Unreadable
	}
}

// orderAnswer is an order in an answer.
type orderAnswer struct {
	ID    string `json:"id"`
	Total int64  `json:"total"`
	Items []struct {
		GoodsID string `json:"goods_id"`
		Num     int64  `json:"num"`
		Price   int64  `json:"price"`
	} `json:"items"`
	Reason    string    `json:"reason"`
	CreatedAt time.Time `json:"created_at"`
	UpdatedAt time.Time `json:"updated_at"` // not in the answer to a call that places it
}

// created returns the order's date in microseconds since 1970, or 0 if there is none. It is negative if the date has
// parts of a microsecond, which the database does not keep, so that another answer would have another date.
func (o *orderAnswer) created() int64 {
	switch {
	case o.CreatedAt.IsZero():
		return 0
	case o.CreatedAt.Nanosecond()%1000 != 0:
		return -o.CreatedAt.UnixMicro()
	}
	return o.CreatedAt.UnixMicro()
}

// read returns the order's id and appends its items to named, if all are numbers.
func (o *orderAnswer) read(named []history.PricedItem) (id int64, _ []history.PricedItem, ok bool) {
	id, ok = operation.ParseID(o.ID)
	for _, it := range o.Items {
		goods, err := operation.ParseGoodsID(it.GoodsID)
		ok = ok && err == nil
		named = append(named, history.PricedItem{GoodsID: goods, Num: it.Num, Price: it.Price})
	}
	return id, named, ok
}

// readLedger reads the operation and the flow rows under the call's flag into the call.
func (c *client) readLedger(e *history.Call, sent []history.Item, body []byte) {
	var o struct {
		stockapi.FlowsResponse
		httpapi.Problem
	}
	if err := json.Unmarshal(body, &o, contract.Strict); err != nil || len(o.Operations) > 1 {
		unreadable(e)
		return
	}
	if e.Code >= http.StatusBadRequest {
		readProblem(e, o.Code, strconv.Itoa(o.Status))
		return
	}
	rows := make([]history.Row, len(o.Flows))
	for i, f := range o.Flows {
		if f.Flag != c.flag(e) {
			unreadable(e)
			return
		}
		rows[i] = history.Row{Kind: string(f.Kind), GoodsID: f.GoodsID, Num: f.Num}
	}
	for _, op := range o.Operations {
		c.takeOperation(e, sent, op)
	}
	e.Replayed = false // the record says so of every answer
	history.SortRows(rows)
	c.sorted = append(c.sorted[:0], sent...)
	history.SortItems(c.sorted)
	c.f.telling.Lock()
	defer c.f.telling.Unlock()
	e.Rows = c.f.h.SawRows(c.sorted, rows)
}

// flag returns the flag of the operation that a call reads or makes.
func (c *client) flag(e *history.Call) string {
	if c.f.cfg.Path == history.PathOrder {
		return strconv.FormatInt(c.reading, 10)
	}
	return c.f.h.Key(int(e.Op))
}

// readOperation reads the stock service's answer into the call.
func (c *client) readOperation(e *history.Call, sent []history.Item, body []byte) {
	var o struct {
		operation.Operation
		httpapi.Problem
	}
	if err := json.Unmarshal(body, &o, contract.Strict); err != nil {
		unreadable(e)
		return
	}
	if o.State == "" && e.Code >= http.StatusBadRequest {
		readProblem(e, o.Code, strconv.Itoa(o.Status))
		return
	}
	c.takeOperation(e, sent, o.Operation)
}

// takeOperation copies the result recorded under the call's flag into the call.
func (c *client) takeOperation(e *history.Call, sent []history.Item, op operation.Operation) {
	if op.Flag != c.flag(e) {
		unreadable(e)
		return
	}
	c.named = c.named[:0]
	for _, it := range op.Items {
		c.named = append(c.named, history.PricedItem{GoodsID: it.GoodsID, Num: it.Num})
	}
	e.Status, e.Replayed = history.ParseStatus(string(op.State)), op.Repeat
	c.f.tell(c, e, sent, c.named, op.Reason)
}

// tell records the items and the reason in an answer.
func (f *firing) tell(c *client, e *history.Call, sent []history.Item, named []history.PricedItem, reason string) {
	c.sorted = append(c.sorted[:0], sent...)
	history.SortItems(c.sorted)
	f.telling.Lock()
	defer f.telling.Unlock()
	e.Told, e.Reason = f.h.Tell(e.Kind, c.sorted, named), f.h.Reasoned(reason)
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
