package order

import "errors"

// The errors of the use cases; match them with errors.Is.
var (
	// ErrNotFound: there is no such order.
	ErrNotFound = errors.New("no such order")
	// ErrInvalidID: the string is not an order id.
	ErrInvalidID = errors.New("an order id is a whole number above zero, in decimal without leading zeros")
	// ErrUnknownGoods: there is no such product; no order was written.
	ErrUnknownGoods = errors.New("unknown product")
	// ErrKeyReused: the idempotency key belongs to an order with other items.
	ErrKeyReused = errors.New("the idempotency key was used for other items")
	// ErrRejected: the order was rejected, so there is nothing to cancel.
	ErrRejected = errors.New("the order was rejected")
	// ErrOverloaded: nothing was written or read; too many requests are in flight.
	ErrOverloaded = errors.New("too many requests in flight")
	// ErrUnavailable: nothing was written; the database or an id was not available in time.
	ErrUnavailable = errors.New("not available in time")
	// ErrUnanswered: a write was sent and not answered; it may or may not have been applied.
	ErrUnanswered = errors.New("write unanswered")
)

// The errors of the stock service's port.
var (
	// ErrStockUnavailable: the stock service did nothing, for now.
	ErrStockUnavailable = errors.New("stock service unavailable")
	// ErrOutcomeUnknown: the call may or may not have taken effect; only the flag's record shows which.
	ErrOutcomeUnknown = errors.New("outcome unknown")
	// ErrFlagConflict: the flag belongs to another operation, for good.
	ErrFlagConflict = errors.New("flag used for something else")
	// ErrBooksDisagree: the records under the flag contradict each other, so nothing may be decided by them.
	ErrBooksDisagree = errors.New("books disagree")
)
