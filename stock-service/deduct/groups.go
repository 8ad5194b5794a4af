package deduct

import (
	"context"
	"errors"
	"slices"
	"time"

	"orderstock/pkg/batch"
	"orderstock/pkg/operation"
	"orderstock/pkg/tracing"
	"orderstock/stock-service/stock"
)

// groups executes operations one group after the other. The next group gathers while the lock is acquired and while the
// previous group commits. A lone operation waits for nobody.
type groups struct {
	ledger  Ledger
	metrics groupMetrics
	calls   *batch.Group[stock.Request, operation.Operation]
	// keepers are the keepers of all locks that a group may need, by partition; none if the groups take no lock. All
	// groups of one partition have only its keeper.
	keepers []*keeper
	// partitions is the number of partitions of the stock.
	partitions int
	// more reports whether work that may need the lock waits anywhere in the process.
	more func(*keeper) bool
}

const (
	// maxWaiting bounds the operations that wait for a transaction.
	maxWaiting = 4096
	// groupLimit bounds the work for one group, including the wait for the lock.
	groupLimit = 5 * time.Second
	// gatherPart lets a group wait for callers for at most the duration of the previous transaction, so that the wait
	// costs no more than it can save.
	gatherPart = 1
)

type groupCall = batch.Call[stock.Request, operation.Operation]

// newGroups returns groups that report to metrics.
func newGroups(cfg Config, metrics groupMetrics, keepers ...*keeper) *groups {
	g := &groups{ledger: cfg.Ledger, metrics: metrics, keepers: keepers, partitions: cfg.Partitions}
	g.more = func(*keeper) bool { return g.calls.Waiting() > 0 }
	size := MaxGroup
	if cfg.MaxGroup > 0 {
		size = min(size, cfg.MaxGroup)
	}
	opts := []batch.Option{
		batch.WithMaxSize(size), batch.WithMaxQueue(maxWaiting),
		batch.WithTimeout(groupLimit), batch.WithGather(gatherPart),
	}
	if len(keepers) > 0 {
		opts = append(opts, batch.WithIdle(g.idle))
	}
	g.calls = batch.New(g.run, opts...)
	return g
}

// meanings are the domain's errors for calls that a group did not answer.
var meanings = batch.Errors{
	Full: operation.ErrOverloaded, Undone: operation.ErrUnavailable, Unknown: operation.ErrUnknownOutcome,
}

func (g *groups) deduct(ctx context.Context, r stock.Request) (operation.Operation, error) {
	g.metrics.waiting.Inc()
	defer g.metrics.waiting.Dec()
	op, err := g.calls.Do(ctx, r)
	return op, meanings.Of(ctx, err)
}

// idle releases the locks that no work waits for.
func (g *groups) idle(ctx context.Context) {
	for _, k := range slices.Backward(g.keepers) {
		if len(g.keepers) == 1 || !g.more(k) {
			k.rest(ctx)
		}
	}
}

// run serves one group. Groups of one partition ask for its lock first, then take all calls that wait by then; over
// several partitions, the calls determine the locks. If the locks are not granted in time, the group has no token.
func (g *groups) run(ctx context.Context, take func() []*groupCall) {
	asked := time.Now()
	var locks holding
	if len(g.keepers) == 1 {
		locks = holdAll(ctx, g.keepers, g.more)
	}
	calls := take()
	// The calls that waited for the lock are known only now.
	ctx, end := tracing.Together(ctx, "group", asked, batch.Contexts(calls))
	var err error
	defer func() { end(err) }()
	switch len(g.keepers) {
	case 0:
	case 1:
		lock := locks.first()
		lock.record(ctx, "acquire-lock", asked, lock.errNotHeld())
	default:
		locks = holdAll(ctx, g.needed(calls), g.more)
	}
	held, cancel := whileHeld(ctx, locks.locks...)
	defer cancel()
	began := time.Now()
	outcomes := g.carryOut(held, calls, locks.fence(g.partitions))
	locks.took(time.Since(began))
	if len(outcomes) > 0 { // an error of the whole group is the first request's, too
		err = outcomes[0].Err
	}
	lost := held.Err() != nil || slices.ContainsFunc(outcomes, isStale)
	cancel() // before the release, which would look like a loss
	// The next process gets the locks while the callers here are answered.
	locks.leave(ctx, g.more, lost)
	for i, call := range calls {
		call.Resolve(outcomes[i].Operation, outcomes[i].Err)
	}
}

// needed returns the keepers of the products of the calls, by ascending partition.
func (g *groups) needed(calls []*groupCall) []*keeper {
	needs := make([]bool, len(g.keepers))
	for _, call := range calls {
		for _, item := range call.In.Items {
			needs[operation.Partition(item.GoodsID, g.partitions)] = true
		}
	}
	var keepers []*keeper
	for i, k := range g.keepers {
		if needs[i] {
			keepers = append(keepers, k)
		}
	}
	return keepers
}

// isStale reports whether a later holder has written: only a new token helps.
func isStale(o stock.Outcome) bool { return errors.Is(o.Err, operation.ErrStaleToken) }

// carryOut executes the group as a whole. If that fails for a reason that may concern one operation alone, it executes
// the operations one by one.
func (g *groups) carryOut(ctx context.Context, calls []*groupCall, fence stock.Fence) []stock.Outcome {
	g.metrics.size.Observe(float64(len(calls)))
	if fence == nil && len(g.keepers) > 0 {
		g.metrics.unlocked.Inc()
	}
	if len(calls) <= 1 {
		return g.oneByOne(ctx, calls, fence, nil)
	}
	requests := make([]stock.Request, len(calls))
	for i, call := range calls {
		requests[i] = call.In
	}
	began := time.Now()
	outcomes, err := g.ledger.DeductGroup(ctx, requests, fence)
	g.metrics.seconds.Observe(time.Since(began).Seconds())
	switch {
	case err == nil:
		return outcomes
	case errors.Is(err, operation.ErrStaleToken), errors.Is(err, operation.ErrUnavailable),
		errors.Is(err, operation.ErrLocked):
		return slices.Repeat([]stock.Outcome{{Err: err}}, len(calls))
	}
	g.metrics.broken.Inc()
	return g.oneByOne(ctx, calls, fence, err)
}

// oneByOne executes each operation separately, in order, and answers it at once. This is safe even if the group's
// commit was not answered: a committed operation is found under its flag. If the database is out of reach, the rest are
// not tried. Operations that fail get the cause as well, since it may say that the outcome is unknown.
func (g *groups) oneByOne(ctx context.Context, calls []*groupCall, fence stock.Fence, cause error) []stock.Outcome {
	outcomes := make([]stock.Outcome, len(calls))
	for i, call := range calls {
		done, err := g.ledger.DeductGroup(ctx, []stock.Request{call.In}, fence)
		if errors.Is(err, operation.ErrUnavailable) {
			for ; i < len(calls); i++ {
				outcomes[i] = stock.Outcome{Err: errors.Join(cause, err)}
			}
			break
		}
		outcomes[i] = stock.Outcome{Err: err}
		if err == nil {
			outcomes[i] = done[0]
		}
		if err := outcomes[i].Err; errors.Is(err, operation.ErrLocked) || errors.Is(err, operation.ErrStaleToken) {
			outcomes[i].Err = errors.Join(cause, err)
		}
		call.Resolve(outcomes[i].Operation, outcomes[i].Err)
	}
	return outcomes
}
