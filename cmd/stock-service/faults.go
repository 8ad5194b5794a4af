//go:build faults

package main

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strconv"
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
			failed := faultpoint.Values{Error: err.Error()}
			return deduct.Lock{}, errors.Join(err, faultpoint.At(ctx, faultpoint.GiveUp, faultpoint.After, failed))
		}
		heldLocks.Add(1)
		release, held := lock.Release, faultpoint.Values{Token: lock.Token.String()}
		lock.Release = func(ctx context.Context) error {
			heldLocks.Add(-1)
			failed := faultpoint.At(ctx, faultpoint.ReleaseLock, faultpoint.Before, held)
			return errors.Join(failed, release(ctx), faultpoint.At(ctx, faultpoint.ReleaseLock, faultpoint.After, held))
		}
		if err := faultpoint.At(ctx, faultpoint.AcquireLock, faultpoint.After, held); err != nil {
			return deduct.Lock{}, errors.Join(err, lock.Release(ctx))
		}
		return lock, nil
	}
}

// deducter returns the strategy, or the published lock with the faults that MUTANT switches on.
func (faultPorts) deducter(name string, cfg compared.Config) (deduct.Strategy, error) {
	cfg.Ledger = &recordedLedger{Ledger: cfg.Ledger}
	broken := published.FaultsOf(os.Getenv("MUTANT"))
	if len(broken) == 0 {
		strategy, err := compared.New(name, cfg)
		return recorded{strategy}, err
	}
	cfg.Config.Ledger = cfg.Ledger
	strategy, err := published.NewStrategy(cfg.Config, broken...)
	return recorded{strategy}, err
}

// recorded keeps the beginning and the end of each deduction as events, and says whose the steps between are.
type recorded struct{ deduct.Strategy }

func (s recorded) Deduct(ctx context.Context, r stock.Request) (operation.Operation, error) {
	ctx = faultpoint.Carry(ctx, r.Flag)
	faultpoint.Record(ctx, faultpoint.Deduct, faultpoint.Before, faultpoint.Values{Said: operation.EncodeItems(r.Items)})
	op, err := s.Strategy.Deduct(ctx, r)
	faultpoint.Record(ctx, faultpoint.Deduct, faultpoint.After, faultpoint.Values{
		Said: string(op.State), Error: faultpoint.Failed(err),
	})
	return op, err
}

// recordedLedger does the same for groups. A group has a name in place of a flag.
type recordedLedger struct {
	compared.Ledger
	groups atomic.Int64 // so far
}

func (l *recordedLedger) DeductGroup(
	ctx context.Context, requests []stock.Request, fence stock.Fence,
) ([]stock.Result, error) {
	ctx = faultpoint.Carry(ctx, faultpoint.Group(l.groups.Add(1)))
	size := faultpoint.Values{Said: strconv.Itoa(len(requests)), Token: fence.Highest(requests[0].Items).String()}
	faultpoint.Record(ctx, faultpoint.Deduct, faultpoint.Before, size)
	outcomes, err := l.Ledger.DeductGroup(ctx, requests, fence)
	faultpoint.Record(ctx, faultpoint.Deduct, faultpoint.After, faultpoint.Values{Error: faultpoint.Failed(err)})
	return outcomes, err
}

func (faultPorts) flags(f stock.Flags) stock.Flags { return faultyFlags{f} }

type faultyFlags struct{ stock.Flags }

// Take fails as it does without Redis: it returns false.
func (f faultyFlags) Take(ctx context.Context, flag string) bool {
	ctx = faultpoint.Carry(ctx, flag)
	if faultpoint.At(ctx, faultpoint.TakeFlag, faultpoint.Before) != nil {
		return false
	}
	first := f.Flags.Take(ctx, flag)
	said := faultpoint.Values{Said: strconv.FormatBool(first)}
	return faultpoint.At(ctx, faultpoint.TakeFlag, faultpoint.After, said) == nil && first
}

func (faultPorts) ledger(l stock.Ledger) stock.Ledger { return faultyLedger{l} }

type faultyLedger struct{ stock.Ledger }

// Find passes the points of the look-up that a deduction makes. The order service's confirmation uses the same method,
// and has its own points.
func (l faultyLedger) Find(ctx context.Context, flags ...string) (map[string]operation.Operation, error) {
	if !deducts(ctx) {
		return l.Ledger.Find(ctx, flags...)
	}
	ctx = faultpoint.Carry(ctx, flags[0])
	if err := faultpoint.At(ctx, faultpoint.LookupFlow, faultpoint.Before); err != nil {
		return nil, fmt.Errorf("%w: %w", operation.ErrUnavailable, err)
	}
	found, err := l.Ledger.Find(ctx, flags...)
	if err != nil {
		return nil, err
	}
	said := faultpoint.Values{Said: string(found[flags[0]].State)}
	if err := faultpoint.At(ctx, faultpoint.LookupFlow, faultpoint.After, said); err != nil {
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
