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

// grouped has one lock for the whole stock. Its holder serves all callers that
// wait in its process, whatever their products, in one transaction. The next
// group gathers while the lock is taken and while the previous group commits. A
// lone operation waits for nobody.
//
// The process keeps the lock from group to group while callers wait, for at most
// a tenure: to hand it to another process costs half as much as a group. Then the
// next process in ZooKeeper's queue gets it.
type grouped struct {
	locker
	*Session
	ledger  Ledger
	path    string
	metrics groupMetrics
	calls   *batch.Group[stock.Request, stock.Operation]

	// Only run and letGo use these, and no two of their calls overlap.
	kept  *Lock     // the lock between groups; nil if it is not held
	since time.Time // when it was taken
}

const (
	// maxGroup bounds the operations of one transaction.
	maxGroup = 256
	// maxWaiting bounds the operations that wait for a transaction.
	maxWaiting = 4096
	// groupLimit bounds the work for one group, with the wait for the lock.
	groupLimit = 5 * time.Second
	// tenure is how long the lock is kept while callers wait.
	tenure = 50 * time.Millisecond
	// gatherPart lets a group wait for callers for at most the time of the previous
	// transaction: so the wait costs at most what it can save.
	gatherPart = 1
)

type groupCall = batch.Call[stock.Request, stock.Operation]

func newGrouped(cfg Config) Strategy {
	g := &grouped{
		locker: newLocker(cfg), Session: OpenSession(cfg),
		ledger: cfg.Ledger, path: cfg.Root + "/stock/all", metrics: newGroupMetrics(cfg.Metrics),
	}
	g.calls = batch.New(g.run, batch.WithMaxSize(maxGroup), batch.WithMaxQueue(maxWaiting),
		batch.WithTimeout(groupLimit), batch.WithGather(gatherPart), batch.WithIdle(g.letGo))
	return g
}

// Close implements Strategy.
func (g *grouped) Close() error {
	g.calls.Close()
	return g.Session.Close()
}

// meanings are the domain's errors for calls that a group did not answer.
var meanings = batch.Errors{Full: stock.ErrOverloaded, Undone: stock.ErrUnavailable, Unknown: stock.ErrUnknownOutcome}

// Deduct implements stock.Deducter.
func (g *grouped) Deduct(ctx context.Context, r stock.Request) (stock.Operation, error) {
	op, err := g.calls.Do(ctx, r)
	return op, meanings.Of(ctx, err)
}

// run serves one group: it takes the lock first, then all calls that wait by then.
func (g *grouped) run(ctx context.Context, take func() []*groupCall) {
	asked := time.Now()
	err := g.hold(ctx)
	calls := take()
	// Whom the lock was waited for is only known now.
	ctx, end := tracing.Together(ctx, "group", asked, batch.Contexts(calls))
	defer func() { end(err) }()
	if err != nil {
		Lock{}.record(ctx, "acquire-lock", asked, err)
		for _, call := range calls {
			call.Resolve(stock.Operation{}, err)
		}
		return
	}
	g.kept.record(ctx, "acquire-lock", asked, nil)
	held, cancel := whileHeld(ctx, *g.kept)
	defer cancel()
	outcomes := g.carryOut(held, calls, g.kept.Token)
	if len(outcomes) > 0 { // what fails a group as a whole fails its first request, too
		err = outcomes[0].Err
	}
	lost := held.Err() != nil
	cancel() // before the release, which would look like a loss
	// The next process gets the lock while the callers here are answered.
	if g.calls.Waiting() == 0 || time.Since(g.since) >= tenure || lost {
		g.letGo(ctx)
	}
	for i, call := range calls {
		call.Resolve(outcomes[i].Operation, outcomes[i].Err)
	}
}

// hold takes the lock, unless it was kept and is not lost.
func (g *grouped) hold(ctx context.Context) error {
	if g.kept != nil && g.kept.Alive.Err() == nil {
		return nil
	}
	g.letGo(ctx)
	locks, err := g.takeAll(ctx, []Acquire{func(ctx context.Context) (Lock, error) { return g.Acquire(ctx, g.path) }})
	if err != nil {
		return err
	}
	g.kept, g.since = &locks[0], time.Now()
	return nil
}

// letGo releases the lock if it is held.
func (g *grouped) letGo(ctx context.Context) {
	if g.kept != nil {
		g.release(ctx, []Lock{*g.kept})
		g.kept = nil
	}
}

// carryOut carries the group out together. If that fails for a reason that may
// be one operation's alone, it carries the operations out one by one.
func (g *grouped) carryOut(ctx context.Context, calls []*groupCall, token stock.Token) []stock.Outcome {
	g.metrics.size.Observe(float64(len(calls)))
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
// the rest are not tried, and get the cause as well: it may say that their
// outcome is unknown.
func (g *grouped) oneByOne(ctx context.Context, calls []*groupCall, token stock.Token, cause error) []stock.Outcome {
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
		call.Resolve(outcomes[i].Operation, outcomes[i].Err)
	}
	return outcomes
}
