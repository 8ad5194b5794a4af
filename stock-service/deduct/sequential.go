package deduct

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"orderstock/pkg/operation"
	"orderstock/pkg/zklock"
	"orderstock/stock-service/stock"
)

// sequential takes a ZooKeeper mutex for each product. Operations on different products do not wait for each other;
// operations on one product are served in order of arrival. Each acquisition has its own place in ZooKeeper's queue.
type sequential struct {
	*UnderLocks
	*Session
}

func newSequential(cfg Config) Strategy {
	session := OpenSession(cfg)
	return sequential{NewUnderLocks(cfg, EachProduct(func(ctx context.Context, goodsID int64) (Lock, error) {
		return session.Acquire(ctx, cfg.Root+"/stock/"+operation.FormatGoodsID(goodsID), zklock.WithHandoff(1, 0))
	})), session}
}

// UnderLocks deducts under locks. No transaction begins before all locks are held, and none is released before the
// commit has returned.
type UnderLocks struct {
	locker
	ledger   Ledger
	locksFor func(items []operation.Item) []Acquire
	timeout  time.Duration // of the wait for all locks of a request
}

// NewUnderLocks returns an UnderLocks that takes the locks returned by locksFor for the items of a request, in that
// order. locksFor must return either one lock for all items or one for each, in the order of the items.
func NewUnderLocks(cfg Config, locksFor func(items []operation.Item) []Acquire) *UnderLocks {
	return &UnderLocks{newLocker(cfg), cfg.Ledger, locksFor, cmp.Or(cfg.LockTimeout, DefaultLockTimeout)}
}

// EachProduct returns a locksFor for NewUnderLocks that takes one lock for each product. Every operation takes its
// locks by ascending goods id, so that no two wait for each other. If acquire returns operation.ErrLocked or
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
func (l *UnderLocks) Deduct(ctx context.Context, r stock.Request) (operation.Operation, error) {
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

// takeAll acquires all locks, in their order and within the lock timeout, or none.
func (l *UnderLocks) takeAll(ctx context.Context, acquires []Acquire) ([]Lock, error) {
	limited, cancel := context.WithTimeout(ctx, l.timeout)
	defer cancel()
	locks := make([]Lock, 0, len(acquires))
	for _, acquire := range acquires {
		asked := time.Now()
		lock, err := l.take(limited, acquire)
		lock.trace(ctx, "acquire-lock", asked, err)
		if err != nil {
			l.release(ctx, locks)
			return nil, err
		}
		locks = append(locks, lock)
	}
	return locks, nil
}

// fenceOf returns the fence of the locks: the token of the one lock for all products, or else each product's own token,
// since tokens of different locks do not rise together.
func fenceOf(items []operation.Item, locks []Lock) stock.Fence {
	if len(locks) == 0 || locks[0].Token.IsZero() {
		return nil
	}
	return func(goodsID int64) operation.Token {
		for i, item := range items {
			if item.GoodsID == goodsID {
				return locks[min(i, len(locks)-1)].Token
			}
		}
		return operation.Token{}
	}
}
