//go:build faults

package main

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"net/http"
	"os"
	"sync/atomic"

	"orderstock/loadtest/faultpoint"
	"orderstock/loadtest/tables/published"
	"orderstock/pkg/operation"
	"orderstock/stock-service/deduct"
	"orderstock/stock-service/deduct/compared"
	"orderstock/stock-service/stock"
)

// faults puts the points of the protocol's steps between the service and its ports.
var faults faultPorts

type faultPorts struct{}

// connector passes a point around each statement that changes stock and around each commit.
func (faultPorts) connector(c driver.Connector) driver.Connector {
	return faultpoint.Connector(c, map[string]faultpoint.Step{
		"UPDATE stock SET num":     faultpoint.UpdateStock,
		"UPDATE stock FORCE INDEX": faultpoint.UpdateStock,
		"INSERT INTO stock_flow ":  faultpoint.InsertFlow,
	})
}

// heldLocks counts the locks that the process holds.
var heldLocks atomic.Int64

// lock passes points around the acquisition and the release of each lock, some of whose waiters are impatient. An error
// before a release stands for a failed first try: the second releases the lock.
func (faultPorts) lock(acquire deduct.Acquire) deduct.Acquire {
	return func(ctx context.Context) (deduct.Lock, error) {
		if err := faultpoint.At(ctx, faultpoint.AcquireLock, faultpoint.Before); err != nil {
			return deduct.Lock{}, err
		}
		if heldLocks.Load() > 0 {
			if err := faultpoint.At(ctx, faultpoint.NextLock, faultpoint.Before); err != nil {
				return deduct.Lock{}, err
			}
		}
		waiting, cancel := faultpoint.Impatient(ctx)
		lock, err := acquire(waiting)
		cancel()
		if err != nil {
			return deduct.Lock{}, errors.Join(err, faultpoint.At(ctx, faultpoint.GiveUp, faultpoint.After))
		}
		heldLocks.Add(1)
		release := lock.Release
		lock.Release = func(ctx context.Context) error {
			heldLocks.Add(-1)
			failed := faultpoint.At(ctx, faultpoint.ReleaseLock, faultpoint.Before)
			return errors.Join(failed, release(ctx), faultpoint.At(ctx, faultpoint.ReleaseLock, faultpoint.After))
		}
		if err := faultpoint.At(ctx, faultpoint.AcquireLock, faultpoint.After); err != nil {
			return deduct.Lock{}, errors.Join(err, lock.Release(ctx))
		}
		return lock, nil
	}
}

// deducter returns the strategy, or the published lock with the faults that MUTANT switches on.
func (faultPorts) deducter(name string, cfg compared.Config) (deduct.Strategy, error) {
	broken := published.FaultsOf(os.Getenv("MUTANT"))
	if len(broken) == 0 {
		return compared.New(name, cfg)
	}
	cfg.Config.Ledger = cfg.Ledger
	return published.NewStrategy(cfg.Config, broken...)
}

func (faultPorts) flags(f stock.Flags) stock.Flags { return faultyFlags{f} }

type faultyFlags struct{ stock.Flags }

// Take fails as it does without Redis: it returns false.
func (f faultyFlags) Take(ctx context.Context, flag string) bool {
	if faultpoint.At(ctx, faultpoint.TakeFlag, faultpoint.Before) != nil {
		return false
	}
	first := f.Flags.Take(ctx, flag)
	return faultpoint.At(ctx, faultpoint.TakeFlag, faultpoint.After) == nil && first
}

func (faultPorts) ledger(l stock.Ledger) stock.Ledger { return faultyLedger{l} }

type faultyLedger struct{ stock.Ledger }

// Find passes the points of the look-up that a deduction makes. The order service's confirmation uses the same method,
// and has its own points.
func (l faultyLedger) Find(ctx context.Context, flags ...string) (map[string]operation.Operation, error) {
	if !deducts(ctx) {
		return l.Ledger.Find(ctx, flags...)
	}
	if err := faultpoint.At(ctx, faultpoint.LookupFlow, faultpoint.Before); err != nil {
		return nil, fmt.Errorf("%w: %w", operation.ErrUnavailable, err)
	}
	found, err := l.Ledger.Find(ctx, flags...)
	if err != nil {
		return nil, err
	}
	if err := faultpoint.At(ctx, faultpoint.LookupFlow, faultpoint.After); err != nil {
		return nil, fmt.Errorf("%w: %w", operation.ErrUnavailable, err)
	}
	return found, nil
}

type deductingKey struct{}

func deducts(ctx context.Context) bool { return ctx.Value(deductingKey{}) != nil }

// handler passes points around the replies to deductions and serves the control of all points.
func (faultPorts) handler(h http.Handler) http.Handler {
	marked := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if isDeduction(r) {
			r = r.WithContext(context.WithValue(r.Context(), deductingKey{}, true))
		}
		h.ServeHTTP(w, r)
	})
	return faultpoint.Control(faultpoint.Replies(marked, isDeduction))
}

func isDeduction(r *http.Request) bool {
	return r.Method == http.MethodPut || r.Method == http.MethodPost && r.URL.Path == "/v1/operations"
}
