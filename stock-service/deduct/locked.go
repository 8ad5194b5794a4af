package deduct

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"orderstock/pkg/operation"
	"orderstock/stock-service/stock"
)

// Lock is a lock while it is held.
type Lock struct {
	// Token fences the writes under the lock; zero if the lock has none.
	Token stock.Token
	// Alive ends when the lock is lost or released; nil if the lock cannot tell.
	Alive context.Context
	// Release gives the lock up.
	Release func(context.Context) error
}

// Acquire takes a lock, or fails when ctx ends.
type Acquire func(ctx context.Context) (Lock, error)

// locked deducts under the lock of each goods. No transaction begins before
// the locks are held, and none is released before the commit has returned.
type locked struct {
	keeper
	ledger Ledger
	// lockGoods takes the lock of one goods within ctx.
	lockGoods func(ctx context.Context, goodsID int64) (Lock, error)
}

// Deduct implements stock.Deducter.
func (l *locked) Deduct(ctx context.Context, r stock.Request) (stock.Operation, error) {
	locks, err := l.takeAll(ctx, r.Items)
	if err != nil {
		return stock.Operation{}, err
	}
	fence := fenceOf(r.Items, locks)
	defer l.giveBack(ctx, locks)
	ctx, cancel := whileAlive(ctx, locks...)
	defer cancel()
	return l.ledger.Deduct(ctx, r, fence)
}

// takeAll takes the locks of the items in their order, which is the same for
// everyone, so that nobody waits in a circle. All or none; one time limit for all.
func (l *locked) takeAll(ctx context.Context, items []operation.Item) ([]Lock, error) {
	limited, cancel := context.WithTimeout(ctx, l.timeout)
	defer cancel()
	locks := make([]Lock, 0, len(items))
	for _, item := range items {
		lock, err := l.take(limited, func(ctx context.Context) (Lock, error) { return l.lockGoods(ctx, item.GoodsID) })
		if err != nil {
			l.giveBack(ctx, locks)
			return nil, err
		}
		locks = append(locks, lock)
	}
	return locks, nil
}

// fenceOf returns the fence of the locks of the items. Each goods is fenced by
// its own lock: tokens of two locks do not rise together.
func fenceOf(items []operation.Item, locks []Lock) stock.Fence {
	if len(locks) == 0 || locks[0].Token.IsZero() {
		return nil
	}
	return func(goodsID int64) stock.Token {
		for i, item := range items {
			if item.GoodsID == goodsID {
				return locks[i].Token
			}
		}
		return stock.Token{}
	}
}

// keeper takes locks and gives them back.
type keeper struct {
	timeout time.Duration
	log     *slog.Logger
	// wrap, if not nil, is put around each acquisition: see Config.
	wrap func(Acquire) Acquire
}

// releaseLimit bounds a release, which has time of its own: the caller's may be over.
const releaseLimit = 2 * time.Second

// take acquires one lock. The error is ErrUnavailable: nothing changed.
func (k keeper) take(ctx context.Context, acquire Acquire) (Lock, error) {
	if k.wrap != nil {
		acquire = k.wrap(acquire)
	}
	asked := time.Now()
	lock, err := acquire(ctx)
	if err != nil {
		lockFailures.Inc()
		return Lock{}, fmt.Errorf("%w: acquire lock: %w", stock.ErrUnavailable, err)
	}
	lockSeconds.Observe(time.Since(asked).Seconds())
	return lock, nil
}

// giveBack releases the locks, the last first. What was done under them stands
// whatever becomes of the release, so that its failure is logged and not returned.
func (k keeper) giveBack(ctx context.Context, locks []Lock) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseLimit)
	defer cancel()
	for i := len(locks) - 1; i >= 0; i-- {
		if err := locks[i].Release(ctx); err != nil {
			k.log.Warn("lock not released; it ends with its session", "error", err)
		}
	}
}

// whileAlive returns a context that ends with ctx or with the first of the
// locks that is lost: a transaction under it is then rolled back.
func whileAlive(ctx context.Context, locks ...Lock) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	var stops []func() bool
	for _, lock := range locks {
		if lock.Alive != nil {
			stops = append(stops, context.AfterFunc(lock.Alive, func() { cancel(errLockLost) }))
		}
	}
	return ctx, func() {
		for _, stop := range stops {
			stop()
		}
		cancel(nil)
	}
}

var errLockLost = errors.New("lock lost")
