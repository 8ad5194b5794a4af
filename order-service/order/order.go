package order

import (
	"strconv"
	"time"

	"orderstock/pkg/operation"
)

// Status is the state of an order.
type Status string

// The statuses. Confirmed, Rejected and Cancelled are final, except that a confirmed order can still be cancelled.
const (
	// Pending: the order is written; the outcome of its deduction is not settled yet.
	Pending Status = "PENDING"
	// Confirmed: the stock of every item was deducted.
	Confirmed Status = "CONFIRMED"
	// Rejected: the stock was short; nothing was deducted.
	Rejected Status = "REJECTED"
	// Cancelling: the request to cancel is written; the stock service has not settled it yet.
	Cancelling Status = "CANCELLING"
	// Cancelled: nothing is deducted for the order, and nothing ever will be.
	Cancelled Status = "CANCELLED"
)

// Statuses lists all of them.
var Statuses = []Status{Pending, Confirmed, Rejected, Cancelling, Cancelled}

// End reports whether s can be an order's first outcome.
func (s Status) End() bool { return s == Confirmed || s == Rejected || s == Cancelled }

// Order is a client's order.
type Order struct {
	ID     int64
	Status Status
	// Outcome is the first final status, or "" before that. It never changes.
	Outcome Status
	// Reason says why the order was rejected or cancelled.
	Reason string
	// Key is the client's idempotency key; "" if it gave none.
	Key string
	// BodyHash is the hash of the items in the request. A repeat of the key must have the same.
	BodyHash [32]byte
	// Items by ascending goods id, and the Prices of one piece of each when it was ordered, in minor units of the
	// currency.
	Items  []operation.Item
	Prices []int64
	// Total is the sum of price times quantity, in minor units of the currency.
	Total     int64
	CreatedAt time.Time
	UpdatedAt time.Time
	// InsertBefore, if not zero, is when the store begins to refuse to insert the order. It is not stored.
	InsertBefore time.Time
	// Trace is the W3C traceparent of the request that placed the order, or "" if that was not traced.
	Trace string
}

// Flag returns the order's operation flag at the stock service.
func (o Order) Flag() string { return strconv.FormatInt(o.ID, 10) }

// AtFirstEnd returns the order as it was at its first outcome, which is the answer to every repeat of the request. An
// order without an outcome is Pending.
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
