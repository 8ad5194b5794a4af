package loadtest

import (
	"encoding/json"
	"strconv"

	"orderstock/pkg/stockapi"
)

// orderAnswer is what the load tester reads of an order.
type orderAnswer struct {
	ID     string `json:"id"`
	Status string `json:"status"`
	Total  int64  `json:"total"`
}

// readOrder puts what the order service told into c.
func readOrder(c *Call, body []byte) {
	var o orderAnswer
	if err := json.Unmarshal(body, &o); err != nil {
		c.Failure = Unreadable
		return
	}
	if o.ID == "" && o.Status == "" && c.Code >= 400 {
		return // a problem, not an order
	}
	id, err := strconv.ParseInt(o.ID, 10, 64)
	if err != nil || id <= 0 {
		c.Failure = Unreadable
		return
	}
	c.Order, c.Total, c.Status = id, o.Total, parseStatus(o.Status)
}

// readOperation puts what the stock service told into c.
func readOperation(c *Call, body []byte) {
	var o struct {
		State  stockapi.State `json:"state"`
		Repeat bool           `json:"repeat"`
	}
	if err := json.Unmarshal(body, &o); err != nil {
		c.Failure = Unreadable
		return
	}
	if o.State == "" && c.Code >= 400 {
		return
	}
	c.Status, c.Replayed = parseStatus(string(o.State)), o.Repeat
}
