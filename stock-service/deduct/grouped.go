package deduct

import (
	"context"
	"errors"
	"slices"
	"time"

	"orderstock/pkg/batch"
	"orderstock/stock-service/stock"
)

// grouped lets one holder of the one lock of the stock serve everyone who
// waits in its process: while it takes the lock, and while the commit of the
// group before is on its way, the next group gathers. A lone operation waits
// for nobody.
//
// The lock stays with the process from group to group while company waits, for
// as long as a tenure lasts: to hand it to another process costs as much as
// half a group. Then the next process that waits has it.
type grouped struct {
	keeper
	*zkSession
	ledger Ledger
	path   string
	calls  *batch.Group[stock.Request, stock.Operation]

	// Only run and idle touch these, one at a time.
	kept  *Lock     // the lock between groups; nil where it is not held
	since time.Time // when it was taken
}

const (
	// maxGroup bounds the operations of one transaction, maxWaiting those that wait for one.
	maxGroup   = 256
	maxWaiting = 4096
	// groupLimit bounds the work for one group, lock and all.
	groupLimit = 5 * time.Second
	// tenure is how long the lock is kept, when company waits, before another process may have it.
	tenure = 50 * time.Millisecond
	// gatherPart is the part of a transaction's time that the next waits for those whom it answered: all
	// of it, as one waits for company that would else need a transaction of its own.
	gatherPart = 1
)

type groupCall = batch.Call[stock.Request, stock.Operation]

func newGrouped(cfg Config) (Strategy, error) {
	g := &grouped{
		keeper: keeper{cfg.LockTimeout, cfg.Log, cfg.WrapLock}, zkSession: openSession(cfg),
		ledger: cfg.Ledger, path: cfg.Root + "/stock/all",
	}
	g.calls = batch.New(g.run, batch.WithMaxSize(maxGroup), batch.WithMaxQueue(maxWaiting),
		batch.WithTimeout(groupLimit), batch.WithGather(gatherPart), batch.WithIdle(g.letGo))
	return g, nil
}

// Close implements Strategy.
func (g *grouped) Close() error {
	g.calls.Close()
	return g.zkSession.Close()
}

// Deduct implements stock.Deducter.
func (g *grouped) Deduct(ctx context.Context, r stock.Request) (stock.Operation, error) {
	op, err := g.calls.Do(ctx, r)
	return op, batch.Errors{Full: stock.ErrOverloaded, Undone: stock.ErrUnavailable, Unknown: stock.ErrUnknownOutcome}.Of(ctx, err)
}

// run serves one group: the lock first, then all who wait by then.
func (g *grouped) run(ctx context.Context, take func() []*groupCall) {
	if err := g.hold(ctx); err != nil {
		answerAll(take(), err)
		return
	}
	alive, cancel := whileAlive(ctx, *g.kept)
	defer cancel()
	calls := take()
	outcomes := g.carryOut(alive, calls, g.kept.Token)
	lost := alive.Err() != nil
	cancel() // before the release, which would be told as a loss
	// Another process is on its way to the lock while the callers here are answered.
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
	ctx, cancel := context.WithTimeout(ctx, g.timeout)
	defer cancel()
	lock, err := g.take(ctx, func(ctx context.Context) (Lock, error) { return g.acquire(ctx, g.path) })
	if err != nil {
		return err
	}
	g.kept, g.since = &lock, time.Now()
	return nil
}

// letGo gives the lock up.
func (g *grouped) letGo(ctx context.Context) {
	if g.kept != nil {
		g.giveBack(ctx, []Lock{*g.kept})
		g.kept = nil
	}
}

// carryOut carries the group out together, and one by one where that fails for
// a reason that may be one operation's alone.
func (g *grouped) carryOut(ctx context.Context, calls []*groupCall, token stock.Token) []stock.Outcome {
	groupSize.Observe(float64(len(calls)))
	if len(calls) <= 1 {
		return g.oneByOne(ctx, calls, token, nil)
	}
	requests := make([]stock.Request, len(calls))
	for i, call := range calls {
		requests[i] = call.In
	}
	began := time.Now()
	outcomes, err := g.ledger.DeductGroup(ctx, requests, token)
	groupSeconds.Observe(time.Since(began).Seconds())
	switch {
	case err == nil:
		return outcomes
	case errors.Is(err, stock.ErrStaleToken), errors.Is(err, stock.ErrUnavailable):
		return slices.Repeat([]stock.Outcome{{Err: err}}, len(calls))
	}
	groupsBroken.Inc()
	return g.oneByOne(ctx, calls, token, err)
}

// oneByOne carries each operation out by itself, in order, and answers it at
// once. Where the commit of a group was not answered, that is safe, too: an
// operation that landed is found under its flag. Once the database is out of
// reach the rest are not tried, and answered with what their group failed with
// as well: cause, which may say that they landed.
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

func answerAll(calls []*groupCall, err error) {
	for _, call := range calls {
		call.Resolve(stock.Operation{}, err)
	}
}
