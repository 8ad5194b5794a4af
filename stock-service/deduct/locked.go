package deduct

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"orderstock/pkg/faultpoint"
	stock "orderstock/stock-service"
)

// held is a lock while it is held.
type held struct {
	// token fences what is written under the lock; zero where the lock has none.
	token stock.Token
	// alive ends when the lock is lost or released; nil where the lock cannot tell.
	alive context.Context
	// release gives the lock up.
	release func(context.Context) error
}

// locked deducts under the lock of each goods. No transaction begins before
// the locks are held, and none is released before the commit has returned.
type locked struct {
	keeper
	ledger Ledger
	// lockGoods takes the lock of one goods within ctx.
	lockGoods func(ctx context.Context, goodsID int64) (held, error)
}

// Deduct implements stock.Deducter.
func (l *locked) Deduct(ctx context.Context, r stock.Request) (stock.Operation, error) {
	if faultpoint.Mutant("read-before-lock") {
		return l.deductStale(ctx, r)
	}
	locks, err := l.takeAll(ctx, r.Items)
	if err != nil {
		return stock.Operation{}, err
	}
	fence := fenceOf(r.Items, locks)
	if faultpoint.Mutant("release-early") {
		l.giveBack(ctx, locks)
		locks = nil
	}
	defer l.giveBack(ctx, locks)
	ctx, cancel := whileAlive(ctx, locks...)
	defer cancel()
	if faultpoint.Mutant("read-modify-write") {
		return l.ledger.DeductUnsafe(ctx, r, fence)
	}
	return l.ledger.Deduct(ctx, r, fence)
}

// deductStale is a broken variant: it reads the levels before it takes the locks.
func (l *locked) deductStale(ctx context.Context, r stock.Request) (stock.Operation, error) {
	var locks []held
	defer func() { l.giveBack(ctx, locks) }()
	return l.ledger.DeductStale(ctx, r, func() (fence stock.Fence, err error) {
		locks, err = l.takeAll(ctx, r.Items)
		return fenceOf(r.Items, locks), err
	})
}

// takeAll takes the locks of the items in their order, which is the same for
// everyone, so that nobody waits in a circle. All or none; one time limit for all.
func (l *locked) takeAll(ctx context.Context, items []stock.Item) ([]held, error) {
	limited, cancel := context.WithTimeout(ctx, l.timeout)
	defer cancel()
	locks := make([]held, 0, len(items))
	for _, item := range items {
		lock, err := l.take(limited, func(ctx context.Context) (held, error) { return l.lockGoods(ctx, item.GoodsID) })
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
func fenceOf(items []stock.Item, locks []held) stock.Fence {
	if len(locks) == 0 || locks[0].token.IsZero() {
		return nil
	}
	return func(goodsID int64) stock.Token {
		for i, item := range items {
			if item.GoodsID == goodsID {
				return locks[i].token
			}
		}
		return stock.Token{}
	}
}

// keeper takes locks and gives them back.
type keeper struct {
	timeout time.Duration
	log     *slog.Logger
}

// releaseLimit bounds a release, which has time of its own: the caller's may be over.
const releaseLimit = 2 * time.Second

// take acquires one lock. The error is ErrUnavailable: nothing changed.
func (k keeper) take(ctx context.Context, acquire func(context.Context) (held, error)) (held, error) {
	if err := faultpoint.At(ctx, faultpoint.AcquireLock, faultpoint.Before); err != nil {
		return held{}, fmt.Errorf("%w: acquire lock: %w", stock.ErrUnavailable, err)
	}
	asked := time.Now()
	lock, err := acquire(ctx)
	if err != nil {
		lockFailures.Inc()
		return held{}, fmt.Errorf("%w: acquire lock: %w", stock.ErrUnavailable, err)
	}
	lockSeconds.Observe(time.Since(asked).Seconds())
	if err := faultpoint.At(ctx, faultpoint.AcquireLock, faultpoint.After); err != nil {
		k.giveBack(ctx, []held{lock})
		return held{}, fmt.Errorf("%w: acquire lock: %w", stock.ErrUnavailable, err)
	}
	return lock, nil
}

// giveBack releases the locks, the last first. What was done under them stands
// whatever becomes of the release, so that its failure is logged and not returned.
func (k keeper) giveBack(ctx context.Context, locks []held) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseLimit)
	defer cancel()
	for i := len(locks) - 1; i >= 0; i-- {
		if err := releaseOne(ctx, locks[i]); err != nil {
			k.log.Warn("lock not released; it ends with its session", "error", err)
		}
	}
}

// releaseOne releases the lock. A fault before it stands for a first try that
// failed, after which the release is tried again.
func releaseOne(ctx context.Context, lock held) error {
	failed := faultpoint.At(ctx, faultpoint.ReleaseLock, faultpoint.Before)
	if err := lock.release(ctx); err != nil {
		return errors.Join(failed, err)
	}
	return errors.Join(failed, faultpoint.At(ctx, faultpoint.ReleaseLock, faultpoint.After))
}

// whileAlive returns a context that ends with ctx or with the first of the
// locks that is lost: a transaction under it is then rolled back.
func whileAlive(ctx context.Context, locks ...held) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	var stops []func() bool
	for _, lock := range locks {
		if lock.alive != nil && !faultpoint.Mutant("loss-untold") {
			stops = append(stops, context.AfterFunc(lock.alive, func() { cancel(errLockLost) }))
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
