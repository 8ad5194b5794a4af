package order

import (
	"context"
	"time"

	"orderstock/pkg/operation"
)

// Store keeps the orders. In addition to the errors named below, its methods return ErrUnavailable if the database
// cannot be reached.
type Store interface {
	// FindByKey returns the order with that idempotency key, or ErrNotFound.
	FindByKey(ctx context.Context, key string) (Order, error)
	// Insert writes a pending order with its items and key, in one transaction. The store's clock sets UpdatedAt, here and
	// in Move. If the key is in use, Insert writes nothing and returns the order that has the key, and false. After
	// ErrUnanswered the order may have been written.
	Insert(ctx context.Context, o Order) (stored Order, inserted bool, err error)
	// Move changes the status by a guarded update, and sets the outcome if To is one and the order has none. It returns
	// true if this call made the change. After false it may have made it, too: read the order to learn its status.
	Move(ctx context.Context, m Move) (bool, error)
	// Get returns an order with its items, or ErrNotFound.
	Get(ctx context.Context, id int64) (Order, error)
	// Status returns an order without its items, or ErrNotFound.
	Status(ctx context.Context, id int64) (Order, error)
	// Page returns the first orders of the range, and whether there are more. They have at most MaxPageItems items
	// together.
	Page(ctx context.Context, r Range) (page []Order, more bool, err error)
	// Now returns the store's time, which Stuck and Backlog use.
	Now(ctx context.Context) (time.Time, error)
	// Stuck returns up to limit orders of one status, with their items, whose id is above after and whose last change was
	// before changed, by ascending id.
	Stuck(ctx context.Context, status Status, after int64, changed time.Time, limit int) ([]Order, error)
	// Backlog counts the orders of one status whose last change was before changed, and returns the earliest of these
	// changes, or the zero time if there is none.
	Backlog(ctx context.Context, status Status, changed time.Time) (count int64, oldest time.Time, err error)
}

// Range is a part of the orders, by ascending id.
type Range struct {
	// Status, if not "", leaves out orders of another status.
	Status Status
	// After is the id below the first.
	After int64
	// Before, if not zero, leaves out orders whose ids were generated at that time or later.
	Before time.Time
	// Limit is how many orders there may be.
	Limit int
}

// Move is a change of an order's status.
type Move struct {
	ID       int64
	From, To Status
	Reason   string
}

// Stock is the stock service. Its errors are codes of package operation; operation.CodeOf says which one counts.
type Stock interface {
	// Deduct takes the items from the stock under the flag, all or none. It retries if that may help. After ErrUnavailable
	// and ErrLocked nothing was done; after ErrUnknownOutcome it may have been. ErrFlagConflict and ErrUnknownGoods are
	// final.
	Deduct(ctx context.Context, flag string, items []operation.Item) (operation.Operation, error)
	// Cancel ends the flag for good: with a tombstone, or by returning a deduction. Errors: ErrUnavailable, ErrLocked,
	// ErrUnknownOutcome.
	Cancel(ctx context.Context, flag string) (operation.Operation, error)
	// Recorded returns the flag's operation in the ledger, and whether there is
	// one. Errors: ErrUnavailable, operation.ErrBooksDisagree.
	Recorded(ctx context.Context, flag string) (operation.Operation, bool, error)
	// Prices returns the price of each product; unknown ones are missing. It may return ErrUnavailable.
	Prices(ctx context.Context, goodsIDs []int64) (map[int64]int64, error)
	// Oversold returns the products whose level is below zero. It may return ErrUnavailable.
	Oversold(ctx context.Context, goodsIDs []int64) ([]int64, error)
	// Pass returns ErrUnavailable or a Locked if a change of the items is known to fail now. Otherwise the caller goes on
	// to Deduct or Cancel, and must report the end, with the result of that call, or with the zero Operation if it was
	// not made: from time to time one order for a product that is held passes, to find out whether it still is. Pass may
	// wait for a short while, until ctx ends, if that is about to be known.
	Pass(ctx context.Context, items []operation.Item) (report operation.Report, err error)
}

// Flags sets operation flags in Redis, as a hint for the stock service. A
// failure costs the stock service a look-up, and nothing else.
type Flags interface {
	// Set sets the flag and reports whether Redis confirmed it.
	Set(ctx context.Context, flag string) bool
}

// IDs generates ids that rise with time and never repeat.
type IDs interface {
	Next() (int64, error)
}
