package deduct

import (
	"context"
	"errors"
	"slices"
	"time"

	"orderstock/pkg/batch"
	"orderstock/pkg/tracing"
	"orderstock/stock-service/stock"
)

// groups carries operations out one group after the other. The next group gathers
// while the lock is taken and while the previous group commits. A lone operation
// waits for nobody.
type groups struct {
	ledger  Ledger
	metrics groupMetrics
	calls   *batch.Group[stock.Request, stock.Operation]
	// lock is that of the partition; nil if the groups take none. Only run and its
	// idle function use it, and no two of their calls overlap.
	lock *keeper
}

const (
	// maxWaiting bounds the operations that wait for a transaction.
	maxWaiting = 4096
	// groupLimit bounds the work for one group, with the wait for the lock.
	groupLimit = 5 * time.Second
	// gatherPart lets a group wait for callers for at most the time that the previous
	// transaction took: so the wait costs at most what it can save.
	gatherPart = 1
)

type groupCall = batch.Call[stock.Request, stock.Operation]

// newGroups returns groups for cfg, whose metrics metrics are.
func newGroups(cfg Config, metrics groupMetrics, lock *keeper) *groups {
	g := &groups{ledger: cfg.Ledger, metrics: metrics, lock: lock}
	size := MaxGroup
	if cfg.MaxGroup > 0 {
		size = min(size, cfg.MaxGroup)
	}
	opts := []batch.Option{
		batch.WithMaxSize(size), batch.WithMaxQueue(maxWaiting),
		batch.WithTimeout(groupLimit), batch.WithGather(gatherPart),
	}
	if lock != nil {
		opts = append(opts, batch.WithIdle(lock.letGo))
	}
	g.calls = batch.New(g.run, opts...)
	return g
}

// meanings are the domain's errors for calls that a group did not answer.
var meanings = batch.Errors{Full: stock.ErrOverloaded, Undone: stock.ErrUnavailable, Unknown: stock.ErrUnknownOutcome}

func (g *groups) deduct(ctx context.Context, r stock.Request) (stock.Operation, error) {
	g.metrics.waiting.Inc()
	defer g.metrics.waiting.Dec()
	op, err := g.calls.Do(ctx, r)
	return op, meanings.Of(ctx, err)
}

// run serves one group: it asks for the lock first, then takes all calls that wait
// by then. Without the lock, the group has no token.
func (g *groups) run(ctx context.Context, take func() []*groupCall) {
	var lock Lock
	asked := time.Now()
	if g.lock != nil {
		lock = g.lock.hold(ctx)
	}
	calls := take()
	// Only now are the calls known that waited for the lock.
	ctx, end := tracing.Together(ctx, "group", asked, batch.Contexts(calls))
	var err error
	defer func() { end(err) }()
	if g.lock != nil {
		lock.record(ctx, "acquire-lock", asked, lock.notHad())
	}
	held, cancel := whileHeld(ctx, lock)
	defer cancel()
	began := time.Now()
	outcomes := g.carryOut(held, calls, lock.Token)
	if g.lock != nil {
		g.lock.took = time.Since(began)
	}
	if len(outcomes) > 0 { // what fails a group as a whole fails its first request, too
		err = outcomes[0].Err
	}
	lost := held.Err() != nil || slices.ContainsFunc(outcomes, isStale)
	cancel() // before the release, which would look like a loss
	// The next process gets the lock while the callers here are answered.
	if g.lock != nil && (g.calls.Waiting() == 0 || g.lock.usedUp() || lost) {
		g.lock.letGo(ctx)
	}
	for i, call := range calls {
		call.Resolve(outcomes[i].Operation, outcomes[i].Err)
	}
}

// isStale reports whether a later holder has written: only a new token helps.
func isStale(o stock.Outcome) bool { return errors.Is(o.Err, stock.ErrStaleToken) }

// carryOut carries the group out together. If that fails for a reason that may
// be one operation's alone, it carries the operations out one by one.
func (g *groups) carryOut(ctx context.Context, calls []*groupCall, token stock.Token) []stock.Outcome {
	g.metrics.size.Observe(float64(len(calls)))
	if token.IsZero() {
		g.metrics.unlocked.Inc()
	}
	if len(calls) <= 1 {
		return g.oneByOne(ctx, calls, token, nil)
	}
	requests := make([]stock.Request, len(calls))
	for i, call := range calls {
		requests[i] = call.In
	}
	began := time.Now()
	outcomes, err := g.ledger.DeductGroup(ctx, requests, token)
	g.metrics.seconds.Observe(time.Since(began).Seconds())
	switch {
	case err == nil:
		return outcomes
	case errors.Is(err, stock.ErrStaleToken), errors.Is(err, stock.ErrUnavailable):
		return slices.Repeat([]stock.Outcome{{Err: err}}, len(calls))
	}
	g.metrics.broken.Inc()
	return g.oneByOne(ctx, calls, token, err)
}

// oneByOne carries each operation out by itself, in order, and answers it at
// once. This is safe even if the group's commit was not answered: an operation
// that was committed is found under its flag. If the database is out of reach,
// the rest are not tried. What could not be carried out gets the cause as well: it
// may say that the outcome is unknown.
func (g *groups) oneByOne(ctx context.Context, calls []*groupCall, token stock.Token, cause error) []stock.Outcome {
	outcomes := make([]stock.Outcome, len(calls))
	for i, call := range calls {
		done, err := g.ledger.DeductGroup(ctx, []stock.Request{call.In}, token)
		if errors.Is(err, stock.ErrUnavailable) {
			for ; i < len(calls); i++ {
				outcomes[i] = stock.Outcome{Err: errors.Join(cause, err)}
			}
			break
		}
		outcomes[i] = stock.Outcome{Err: err}
		if err == nil {
			outcomes[i] = done[0]
		}
		if err := outcomes[i].Err; errors.Is(err, stock.ErrUnavailable) || errors.Is(err, stock.ErrStaleToken) {
			outcomes[i].Err = errors.Join(cause, err)
		}
		call.Resolve(outcomes[i].Operation, outcomes[i].Err)
	}
	return outcomes
}
