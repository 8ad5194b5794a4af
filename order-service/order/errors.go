package order

import (
	"fmt"

	"orderstock/pkg/operation"
)

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
