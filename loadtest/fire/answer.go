package fire

import (
	"net/http"
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

// readOrder reads the order service's answer into the current call.
func (c *client) readOrder(body []byte) {
	e := &c.event.Call
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
	c.record(named, o.Reason)
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

// readLedger reads the operation and the flow rows under the current call's flag into it.
func (c *client) readLedger(body []byte) {
	e := &c.event.Call
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
		if f.Flag != c.flag() {
			unreadable(e)
			return
		}
		rows[i] = history.Row{Kind: string(f.Kind), GoodsID: f.GoodsID, Num: f.Num}
	}
	for _, op := range o.Operations {
		c.takeOperation(op)
	}
	e.Replayed = false // the record says so of every answer
	history.SortRows(rows)
	c.f.telling.Lock()
	defer c.f.telling.Unlock()
	e.Rows = c.f.h.SawRows(c.sorted, rows)
}

// readOperation reads the stock service's answer into the current call.
func (c *client) readOperation(body []byte) {
	e := &c.event.Call
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
	c.takeOperation(o.Operation)
}

// takeOperation copies the result recorded under the current call's flag into it.
func (c *client) takeOperation(op operation.Operation) {
	e := &c.event.Call
	if op.Flag != c.flag() {
		unreadable(e)
		return
	}
	c.named = c.named[:0]
	for _, it := range op.Items {
		c.named = append(c.named, history.PricedItem{GoodsID: it.GoodsID, Num: it.Num})
	}
	e.Status, e.Replayed = history.ParseStatus(string(op.State)), op.Repeat
	c.record(c.named, op.Reason)
}

// record keeps the items and the reason in the current call's answer.
func (c *client) record(named []history.PricedItem, reason string) {
	c.f.telling.Lock()
	defer c.f.telling.Unlock()
	e := &c.event
	e.Named, e.Reason = c.f.h.Identify(e.Kind, c.sorted, named), c.f.h.Reasoned(reason)
}

// unreadable marks an answer that violates the contract, unless its code is 500 or more: a proxy that reaches no
// service answers with its own text.
func unreadable(c *history.Call) {
	if c.Code < http.StatusInternalServerError {
		c.Failure = history.Unreadable
	}
}
