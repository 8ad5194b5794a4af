package deduct

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"orderstock/pkg/batch"
	"orderstock/pkg/observe"
	"orderstock/pkg/operation"
	"orderstock/stock-service/stock"
)

// grouped executes waiting operations together in one transaction, separately for each partition of the stock. A group
// of a partition has the products of that partition, and the partition's lock; transactions of different partitions run
// concurrently.
//
// Operations with products of several partitions form separate groups, which take the locks of all partitions that they
// touch.
type grouped struct {
	*Session
	partitions []*groups
	across     *groups
}

func newGrouped(cfg Config) Strategy {
	cfg.Partitions = cmp.Or(cfg.Partitions, operation.Partitions)
	g := &grouped{Session: OpenSession(cfg)}
	locker, metrics := newLocker(cfg), newGroupMetrics(cfg.Metrics)
	keepers := make([]*keeper, cfg.Partitions)
	for i := range keepers {
		keepers[i] = newKeeper(cfg, locker, g.Session, i)
		g.partitions = append(g.partitions, newGroups(cfg, metrics, keepers[i]))
		keepers[i].more = func() bool { return g.across.calls.Waiting() > 0 || g.partitions[i].calls.Waiting() > 0 }
	}
	g.across = newGroups(cfg, metrics, keepers...)
	return g
}

// Deduct implements stock.Deducter.
func (g *grouped) Deduct(ctx context.Context, r stock.Request) (operation.Operation, error) {
	if p, one := operation.PartitionOf(r.Items, len(g.partitions)); one {
		return g.partitions[p].Deduct(ctx, r)
	}
	return g.across.Deduct(ctx, r)
}

// Close implements Strategy.
func (g *grouped) Close() error {
	for _, p := range g.partitions {
		p.calls.Close()
	}
	g.across.calls.Close()
	for _, k := range g.across.keepers {
		k.close()
	}
	return g.Session.Close()
}

// groups executes operations one group after the other. The next group gathers while the lock is acquired and while the
// previous group commits. A lone operation waits for nobody.
type groups struct {
	ledger  Ledger
	metrics groupMetrics
	calls   *batch.Queue[stock.Request, operation.Operation]
	// keepers are the keepers of all locks that a group may need, by partition; none if the groups take no lock. All
	// groups of one partition have only its keeper.
	keepers []*keeper
	// partitions is the number of partitions of the stock.
	partitions int
}

const (
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
	g.calls = batch.New(g.run, batch.WithMaxSize(min(cmp.Or(cfg.MaxGroup, MaxGroup), MaxGroup)),
		batch.WithTimeout(groupLimit), batch.WithGather(gatherPart), batch.WithIdle(g.idle))
	return g
}

// meanings are the domain's errors for calls that a group did not answer.
var meanings = batch.Errors{
	Full: operation.ErrOverloaded, Undone: operation.ErrUnavailable, Unknown: operation.ErrUnknownOutcome,
}

// Deduct implements stock.Deducter.
func (g *groups) Deduct(ctx context.Context, r stock.Request) (operation.Operation, error) {
	g.metrics.waiting.Inc()
	defer g.metrics.waiting.Dec()
	op, err := g.calls.Do(ctx, r)
	return op, meanings.Of(ctx, err)
}

// idle releases the locks that no work waits for.
func (g *groups) idle(ctx context.Context) {
	for _, k := range slices.Backward(g.keepers) {
		if len(g.keepers) == 1 || !k.more() {
			k.idle(ctx)
		}
	}
}

// run serves one group. Groups of one partition ask for its lock first, then take all calls that wait by then; over
// several partitions, the calls determine the locks. If the locks are not granted in time, the group has no token.
func (g *groups) run(ctx context.Context, take func() []*groupCall) {
	asked := time.Now()
	var locks holding
	if len(g.keepers) == 1 {
		locks = acquireAll(ctx, g.keepers)
	}
	calls := take()
	// The calls that waited for the lock are known only now.
	ctx, step := observe.Together(ctx, "group", asked, batch.Contexts(calls))
	var err error
	defer func() { step.End(err) }()
	switch len(g.keepers) {
	case 0:
	case 1:
		lock := locks.first()
		lock.trace(ctx, "acquire-lock", asked, lock.errNotHeld())
	default:
		locks = acquireAll(ctx, g.needed(calls))
	}
	held, cancel := whileHeld(ctx, locks.all()...)
	defer cancel()
	began := time.Now()
	results := g.execute(held, calls, locks.fence(g.partitions))
	locks.took(time.Since(began))
	if len(results) > 0 { // an error of the whole group is the first request's, too
		err = results[0].Err
	}
	lost := held.Err() != nil || slices.ContainsFunc(results, isStale)
	cancel() // before the release, which would look like a loss
	// The next process gets the locks while the callers here are answered.
	locks.done(ctx, lost)
	for i, call := range calls {
		call.Resolve(results[i].Operation, results[i].Err)
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
func isStale(r stock.Result) bool { return errors.Is(r.Err, operation.ErrStaleToken) }

// execute executes the group as a whole. If that fails for a reason that may concern one operation alone, it executes
// the operations one by one.
func (g *groups) execute(ctx context.Context, calls []*groupCall, fence stock.Fence) []stock.Result {
	if len(calls) == 0 { // all have left
		return nil
	}
	g.metrics.size.Observe(float64(len(calls)))
	if fence == nil && len(g.keepers) > 0 {
		g.metrics.unlocked.Inc()
	}
	if len(calls) == 1 {
		return g.oneByOne(ctx, calls, fence, nil)
	}
	requests := make([]stock.Request, len(calls))
	for i, call := range calls {
		requests[i] = call.In
	}
	began := time.Now()
	results, err := g.ledger.DeductGroup(ctx, requests, fence)
	g.metrics.seconds.Observe(time.Since(began).Seconds())
	switch {
	case err == nil:
		return results
	case errors.Is(err, operation.ErrStaleToken), errors.Is(err, operation.ErrUnavailable),
		errors.Is(err, operation.ErrLocked):
		return slices.Repeat([]stock.Result{{Err: err}}, len(calls))
	}
	return g.oneByOne(ctx, calls, fence, err)
}

// oneByOne executes each operation separately, in order, and answers it at once. This is safe even if the group's
// commit was not answered: a committed operation is found under its flag. If the database is out of reach, the rest are
// not tried. Operations that fail get the cause as well, since it may say that the outcome is unknown.
func (g *groups) oneByOne(ctx context.Context, calls []*groupCall, fence stock.Fence, cause error) []stock.Result {
	results := make([]stock.Result, len(calls))
	for i, call := range calls {
		done, err := g.ledger.DeductGroup(ctx, []stock.Request{call.In}, fence)
		if errors.Is(err, operation.ErrUnavailable) {
			for ; i < len(calls); i++ {
				results[i] = stock.Result{Err: errors.Join(cause, err)}
			}
			break
		}
		results[i] = stock.Result{Err: err}
		if err == nil {
			results[i] = done[0]
		}
		if err := results[i].Err; errors.Is(err, operation.ErrLocked) || errors.Is(err, operation.ErrStaleToken) {
			results[i].Err = errors.Join(cause, err)
		}
		call.Resolve(results[i].Operation, results[i].Err)
	}
	return results
}

// holding is the keepers whose locks one group holds, by ascending partition; empty if it runs without.
type holding []*keeper

// acquireAll takes the locks of the keepers, in their order. Every group of every process takes its locks by ascending
// partition, so no two groups wait for each other. Before it waits for a lock, it releases the locks above that the
// process keeps: the holder that it waits for may need one of them. If one lock is not granted within the patience, the
// group runs without any.
func acquireAll(ctx context.Context, keepers []*keeper) holding {
	for i, k := range keepers {
		asked := time.Now()
		lock := k.acquire(ctx, func() {
			for _, above := range slices.Backward(keepers[i+1:]) {
				above.idle(ctx)
			}
		})
		lock.trace(ctx, "acquire-lock", asked, lock.errNotHeld())
		if lock.Release == nil {
			holding(keepers[:i]).done(ctx, false)
			return nil
		}
	}
	return keepers
}

// all returns the locks, by ascending partition.
func (h holding) all() []Lock {
	locks := make([]Lock, len(h))
	for i, k := range h {
		locks[i] = k.tenancy.lock
	}
	return locks
}

// first returns the first lock, or the zero Lock.
func (h holding) first() Lock {
	if len(h) == 0 {
		return Lock{}
	}
	return h[0].tenancy.lock
}

// fence returns the fence of the locks: for a product, the token of its partition, and no token if its partition's lock
// is not among them. It is nil if no lock is held.
func (h holding) fence(partitions int) stock.Fence {
	if len(h) == 0 {
		return nil
	}
	tokens := make(map[int]operation.Token, len(h))
	for _, k := range h {
		tokens[k.partition] = k.tenancy.lock.Token
	}
	return func(goodsID int64) operation.Token { return tokens[operation.Partition(goodsID, partitions)] }
}

// took records the duration of a transaction under the locks.
func (h holding) took(d time.Duration) {
	for _, k := range h {
		k.took = d
	}
}

// done ends the group's use of the locks: see keeper.done. After the loss of one, or a stale token, all are useless.
func (h holding) done(ctx context.Context, useless bool) {
	for _, k := range slices.Backward(h) {
		k.done(ctx, k.more(), useless)
	}
}

// groupedRows forms groups of all waiting operations, regardless of their products, and takes no lock: the condition of
// the update and the database's row locks isolate the groups of several processes, and no token fences them.
type groupedRows struct{ *groups }

func newGroupedRows(cfg Config) Strategy {
	return groupedRows{newGroups(cfg, newGroupMetrics(cfg.Metrics))}
}

// Ready implements Strategy.
func (groupedRows) Ready(context.Context) error { return nil }

// Close implements Strategy.
func (g groupedRows) Close() error {
	g.calls.Close()
	return nil
}

type groupMetrics struct {
	waiting       prometheus.Gauge
	size, seconds prometheus.Histogram
	unlocked      prometheus.Counter
}

// newGroupMetrics registers the metrics at r, if r is not nil.
func newGroupMetrics(r prometheus.Registerer) groupMetrics {
	with := promauto.With(r)
	return groupMetrics{
		waiting: with.NewGauge(prometheus.GaugeOpts{
			Name: "stock_group_waiting", Help: "Operations of this process that wait for their group, or for its transaction.",
		}),
		size: with.NewHistogram(prometheus.HistogramOpts{
			Name: "stock_group_size", Help: "Operations in one transaction.",
			Buckets: prometheus.ExponentialBuckets(1, 2, 9), NativeHistogramBucketFactor: 1.1,
		}),
		seconds: with.NewHistogram(prometheus.HistogramOpts{
			Name: "stock_group_seconds", Help: "Time of one group's transaction.",
			Buckets: prometheus.ExponentialBuckets(0.0005, 2, 12), NativeHistogramBucketFactor: 1.1,
		}),
		unlocked: with.NewCounter(prometheus.CounterOpts{
			Name: "stock_groups_unlocked_total",
			Help: "Groups executed without their locks, because one was not granted in time.",
		}),
	}
}
