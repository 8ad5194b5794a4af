package deduct

import (
	"context"
	"errors"
	"fmt"

	"orderstock/pkg/operation"
	"orderstock/pkg/zklock"
	"orderstock/stock-service/stock"
)

// Locked deducts under locks. No transaction begins before all locks are held, and none is released before the commit
// has returned.
type Locked struct {
	locker
	ledger   Ledger
	locksFor func(items []operation.Item) []Acquire
}

// NewLocked returns a Locked that takes the locks returned by locksFor for the items of a request, in that order.
// locksFor must return either one lock for all items or one for each, in the order of the items.
func NewLocked(cfg Config, locksFor func(items []operation.Item) []Acquire) *Locked {
	return &Locked{newLocker(cfg), cfg.Ledger, locksFor}
}

// EachProduct returns a locksFor for NewLocked that takes one lock for each product. Every operation takes its locks by
// ascending goods id, so that no two wait for each other. If acquire returns operation.ErrLocked or
// zklock.ErrNotAcquired, somebody else has that lock: the error names the product.
func EachProduct(acquire func(ctx context.Context, goodsID int64) (Lock, error)) func([]operation.Item) []Acquire {
	return func(items []operation.Item) []Acquire {
		all := make([]Acquire, len(items))
		for i, item := range items {
			all[i] = func(ctx context.Context) (Lock, error) {
				lock, err := acquire(ctx, item.GoodsID)
				if errors.Is(err, zklock.ErrNotAcquired) || errors.Is(err, operation.ErrLocked) {
					err = fmt.Errorf("%w: %w", operation.Locked{GoodsID: item.GoodsID}, err)
				}
				return lock, err
			}
		}
		return all
	}
}

// Deduct implements stock.Deducter.
func (l *Locked) Deduct(ctx context.Context, r stock.Request) (operation.Operation, error) {
	locks, err := l.takeAll(ctx, l.locksFor(r.Items))
	if err != nil {
		return operation.Operation{}, err
	}
	fence := fenceOf(r.Items, locks)
	defer l.release(ctx, locks)
	ctx, cancel := whileHeld(ctx, locks...)
	defer cancel()
	return l.ledger.Deduct(ctx, r, fence)
}

// fenceOf returns the fence of the locks: the token of the one lock for all products, or else each product's own token,
// since tokens of different locks do not rise together.
func fenceOf(items []operation.Item, locks []Lock) stock.Fence {
	if len(locks) == 0 || locks[0].Token.IsZero() {
		return nil
	}
	if len(locks) == 1 {
		return stock.FenceAll(locks[0].Token)
	}
	return func(goodsID int64) operation.Token {
		for i, item := range items {
			if item.GoodsID == goodsID {
				return locks[i].Token
			}
		}
		return operation.Token{}
	}
}
