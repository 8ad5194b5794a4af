package order

import "errors"

// What the use cases fail with; match with errors.Is.
var (
	// ErrNotFound: there is no such order.
	ErrNotFound = errors.New("no such order")
	// ErrInvalidID: that is not an order id.
	ErrInvalidID = errors.New("an order id is a whole number above zero, in decimal without leading zeros")
	// ErrUnknownGoods: nothing was written, as there are no such goods.
	ErrUnknownGoods = errors.New("unknown goods")
	// ErrKeyReused: the idempotency key belongs to an order with other items.
	ErrKeyReused = errors.New("the idempotency key was used for other items")
	// ErrRejected: the order was rejected, so that there is nothing to cancel.
	ErrRejected = errors.New("the order was rejected")
	// ErrOverloaded: nothing was written or read; too many requests are in work already.
	ErrOverloaded = errors.New("too many requests in work")
	// ErrUnavailable: nothing was written, as the database or an id could not be had in time.
	ErrUnavailable = errors.New("not available in time")
	// ErrUnanswered: a write was sent and not answered; it may stand or not.
	ErrUnanswered = errors.New("write unanswered")
)

// What the stock service's port fails with.
var (
	// ErrStockUnavailable: the stock service did nothing, for now.
	ErrStockUnavailable = errors.New("stock service unavailable")
	// ErrOutcomeUnknown: the call may have been carried out or not; only the flag's record tells.
	ErrOutcomeUnknown = errors.New("outcome unknown")
	// ErrFlagConflict: the flag carries another operation, and will for ever.
	ErrFlagConflict = errors.New("flag used for something else")
	// ErrBooksDisagree: what is recorded under the flag contradicts itself, so that nothing may be decided by it.
	ErrBooksDisagree = errors.New("books disagree")
)
