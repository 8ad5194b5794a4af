// Package order is the domain of the order service: orders and their life cycle, and the use cases that drive each of
// them to an outcome, exactly once.
//
// An order is written PENDING before anything is deducted for it, and changes by guarded steps only:
//
//	PENDING ──► CONFIRMED ──► CANCELLING ──► CANCELLED
//	   ├──────► REJECTED          ▲
//	   ├──────────────────────────┘
//	   └──────► CANCELLED
//
// The stock service's record under the order's operation flag, which is the order id, decides the outcome; a lost or
// late reply decides nothing. Place waits for that record for a bounded time. The Reconciler settles the orders that
// Place leaves unsettled, in this process or in one that died.
//
// Adapters: orderdb keeps the orders in MySQL, package stockapi calls the stock service, orderhttp serves the use cases
// over HTTP.
package order

import (
	"fmt"
	"strconv"
	"time"

	"orderstock/pkg/operation"
)

// Status is the state of an order.
type Status string

// The statuses. Confirmed, Rejected and Cancelled are outcomes. A confirmed order can still be cancelled.
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

// IsOutcome reports whether s can be an order's outcome.
func (s Status) IsOutcome() bool { return s == Confirmed || s == Rejected || s == Cancelled }

// Order is a client's order.
type Order struct {
	ID     int64
	Status Status
	// Outcome is the first of Confirmed, Rejected and Cancelled that the order reached, or "" before that. It never
	// changes.
	Outcome Status
	// Reason says why the order was rejected or cancelled.
	Reason string
	// Key is the client's idempotency key; "" if it gave none.
	Key string
	// BodyHash is the hash of the items in the request, 32 bytes. A repeat of the key must have the same.
	BodyHash string
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

// AtOutcome returns the order as it was at its outcome, which is the answer to every repeat of the request. An
// order without an outcome is Pending.
func (o Order) AtOutcome() Order {
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

// The codes of the use cases, in addition to package operation's; match them with errors.Is.
var (
	ErrNotFound  = operation.NewCode("order_not_found", operation.Final, "no such order")
	ErrInvalidID = operation.NewCode("invalid_order_id", operation.Final,
		"an order id is a whole number above zero, in decimal without leading zeros")
	// ErrKeyReused: the idempotency key belongs to an order with other items.
	ErrKeyReused = operation.NewCode("idempotency_key_reused", operation.Final,
		"the idempotency key was used for other items")
	ErrInvalidKey = operation.NewCode("invalid_idempotency_key", operation.Final,
		"an idempotency key has 1 to 255 visible ASCII characters")
	ErrTotalOverflow = operation.NewCode("total_overflow", operation.Final,
		"the order's total is above 9007199254740991")
	// ErrRejected: there is nothing to cancel.
	ErrRejected = operation.NewCode("order_rejected", operation.Final, "the order was rejected")

	// ErrOverloaded: nothing was written or read.
	ErrOverloaded = operation.NewCode("overloaded", operation.Service, "too many requests in flight")
	// ErrUnavailable: nothing was written; the database or an id was not available. The stock service has its own code.
	ErrUnavailable = operation.NewCode("unavailable", operation.Service, "not available in time")
	// ErrUnanswered: a write was sent and not answered.
	ErrUnanswered = operation.NewCode("unknown_outcome", operation.Unknown, "write unanswered")
)

// errNoOutcome says that nothing is recorded under an order's flag yet, or that an order has no outcome yet.
var errNoOutcome = fmt.Errorf("no outcome yet: %w", operation.ErrUnknownOutcome)
