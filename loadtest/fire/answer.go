package fire

import (
	"encoding/json"
	"net/http"
	"strconv"

	"orderstock/loadtest/history"
	"orderstock/pkg/operation"
)

// readOrder reads the order service's answer into c.
func readOrder(c *history.Call, body []byte) {
	var o struct {
		ID     string          `json:"id"`
		Status json.RawMessage `json:"status"` // a word in an order, a number in a problem
		Total  int64           `json:"total"`
		Code   string          `json:"code"` // of a problem
	}
	if err := json.Unmarshal(body, &o); err != nil {
		unreadable(c)
		return
	}
	if o.ID == "" && c.Code >= http.StatusBadRequest {
		if c.Kind == history.Cancel && c.Code == http.StatusConflict && o.Code == "order_rejected" {
			c.Status = history.Rejected
		}
		return
	}
	var status string
	id, err := strconv.ParseInt(o.ID, 10, 64)
	if err != nil || id <= 0 || json.Unmarshal(o.Status, &status) != nil {
		unreadable(c)
		return
	}
	c.Order, c.Total, c.Status = id, o.Total, history.ParseStatus(status)
}

// readOperation reads the stock service's answer into c.
func readOperation(c *history.Call, body []byte) {
	var o struct {
		State  operation.State `json:"state"`
		Repeat bool            `json:"repeat"`
	}
	if err := json.Unmarshal(body, &o); err != nil {
		unreadable(c)
		return
	}
	if o.State == "" && c.Code >= http.StatusBadRequest {
		return
	}
	c.Status, c.Replayed = history.ParseStatus(string(o.State)), o.Repeat
}

// unreadable notes an answer that is not in the contract's form, unless its code is
// 500 or more: a proxy that reaches no service answers so, in words of its own.
func unreadable(c *history.Call) {
	if c.Code < http.StatusInternalServerError {
		c.Failure = history.Unreadable
	}
}
