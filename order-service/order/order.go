package order

import (
	"strconv"
	"time"
)

// Status is where an order stands.
type Status string

// The statuses. Confirmed, Rejected and Cancelled are ends; a confirmed order can still be cancelled.
const (
	// Pending: written; what became of the deduction is not settled yet.
	Pending Status = "PENDING"
	// Confirmed: the stock of every item was deducted.
	Confirmed Status = "CONFIRMED"
	// Rejected: the stock was short; nothing was deducted.
	Rejected Status = "REJECTED"
	// Cancelling: the wish to cancel is written; the stock service has not settled it yet.
	Cancelling Status = "CANCELLING"
	// Cancelled: nothing is deducted for it any more, nor ever will be.
	Cancelled Status = "CANCELLED"
)

// Statuses lists all of them.
var Statuses = []Status{Pending, Confirmed, Rejected, Cancelling, Cancelled}

// End reports whether s can be an order's first end.
func (s Status) End() bool { return s == Confirmed || s == Rejected || s == Cancelled }

// Order is a client's order.
type Order struct {
	ID     int64
	Status Status
	// Outcome is the first end that the order reached; "" before. It never changes.
	Outcome Status
	// Reason says why it was rejected or cancelled.
	Reason string
	// Key is the client's idempotency key; "" if it gave none.
	Key string
	// BodyHash is that of the request: see Request.
	BodyHash [32]byte
	// Items by rising goods id.
	Items []Item
	// Total is the sum of price times quantity, in minor units of the currency.
	Total     int64
	CreatedAt time.Time
	UpdatedAt time.Time
	// Trace is the trace of the request that placed the order, as W3C's traceparent; "" if there is none.
	Trace string
}

// Flag returns the operation flag under which the stock service knows the order.
func (o Order) Flag() string { return strconv.FormatInt(o.ID, 10) }

// AtFirstEnd returns the order as it stood when it reached its first end: what
// every repeat of the request is told, whatever came later. Before, it is Pending.
func (o Order) AtFirstEnd() Order {
	if o.Outcome == "" {
		o.Status, o.Reason = Pending, ""
		return o
	}
	o.Status = o.Outcome
	if o.Outcome == Confirmed {
		o.Reason = ""
	}
	return o
}

// Item is a quantity of one goods, at the price that it had when ordered.
type Item struct {
	GoodsID int64
	Num     int64
	// Price of one piece, in minor units.
	Price int64
}
