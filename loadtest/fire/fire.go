// Package fire sends orders to the services and records their answers.
//
//	h, err := fire.Run(ctx, fire.Config{Target: target, Orders: 2000})
//
// Latency counts from the intended send time, not from when a client was free to send, so a server that stalls is
// charged with the wait that it caused (Gil Tene's "coordinated omission").
package fire

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"orderstock/loadtest/history"
	"orderstock/pkg/command"
)

// ErrStopped is the cause of the end of a context that ends a run on purpose: the run is whole, and not interrupted.
var ErrStopped = errors.New("stopped on purpose")

// Interrupted reports whether ctx has ended for another cause than ErrStopped.
func Interrupted(ctx context.Context) bool {
	return ctx.Err() != nil && !errors.Is(context.Cause(ctx), ErrStopped)
}

// Run creates the products of a run, sends its orders and returns the history. It ends when all orders are answered or
// given up. If ctx ends first, Run sends no more orders, awaits the calls in flight and returns the history so far,
// without an error; the history is Interrupted unless the cause is ErrStopped. An error means that nothing was sent; it
// is ErrUnreachable if no replica of a service accepts connections.
func Run(ctx context.Context, cfg Config) (*history.History, error) {
	cfg = cfg.withDefaults()
	if err := errors.Join(cfg.addresses(), cfg.validate()); err != nil {
		return nil, command.Misuse(fmt.Errorf("fire: %w", err))
	}
	now := time.Now()
	h := &history.History{
		Run:  strconv.FormatInt(now.UnixMilli(), 36) + "x" + strconv.FormatUint(rand.Uint64N(1<<40), 36),
		Path: cfg.Path, Started: now.UTC(), Warmup: cfg.Warmup, Timeout: cfg.Timeout, Seed: cfg.Mix.Seed,
		CancelAfter: cfg.CancelAfter, PriceTTL: cfg.PriceTTL, StepLimit: cfg.StepLimit, Breakable: cfg.Breakable,
		Disturbed: cfg.Disturbed || 2*cfg.Concurrency > mostInFlight, Limited: cfg.Limited, Strategy: cfg.Strategy,
		Odd:     !cfg.Plain,
		Library: cfg.Path == history.PathOrder && cfg.Place != nil || cfg.Path == history.PathDeduct && cfg.Deduct != nil,
	}
	raiseOpenFiles(cfg)
	if err := makeGoods(ctx, cfg, h, now); err != nil {
		return nil, fmt.Errorf("fire: %w", err)
	}
	if err := fire(ctx, cfg, h); err != nil {
		return nil, fmt.Errorf("fire: %w", err)
	}
	return h, nil
}

// firing is a run in progress.
type firing struct {
	cfg   Config
	h     *history.History // calls and items are added when all clients have ended
	plan  *plan
	rows  []row // of the grammar
	start time.Time
	next  atomic.Int64
	over  atomic.Bool  // by Config.Enough
	left  atomic.Int64 // calls without an end that are repeated now
	ids   []identity   // see orderIDs
	// listing is locked while orders are listed after a cancellation.
	listing sync.Mutex
	// telling guards the parts of the history that answers add to.
	telling sync.Mutex
}

func fire(ctx context.Context, cfg Config, h *history.History) error {
	f := &firing{cfg: cfg, h: h, plan: newPlan(cfg, h), rows: shuffled(cfg), start: time.Now()}
	h.Started = f.start.UTC() // the origin of the calls' times
	workers := make([]*worker, cfg.Concurrency)
	for i := range workers {
		workers[i] = &worker{f: f, main: newClient(f, i), twin: newClient(f, i+1)}
	}
	if cfg.Begun != nil {
		cfg.Begun(h)
	}
	stop := f.watch(ctx)
	defer func() { h.Away = stop() }()
	shown := f.showProgress(ctx)
	var running sync.WaitGroup
	for _, w := range workers {
		running.Go(func() { w.run(ctx) })
	}
	running.Wait()
	h.Elapsed = time.Since(f.start)
	asked := ctx
	whole := ctx.Err() == nil
	complete := whole
	if cfg.Healed != nil { // ctx may have ended the traffic
		ctx, complete = context.WithoutCancel(ctx), cfg.Healed()
	}
	if complete {
		f.finish(ctx, workers)
	}
	shown()

	sent, calls := 0, 0
	for _, w := range workers {
		calls += len(w.calls)
	}
	h.Calls = make([]history.Call, 0, calls)
	for _, w := range workers {
		h.Calls = append(h.Calls, w.calls...)
		h.Asides = append(h.Asides, w.asides...)
		sent = max(sent, w.last+1)
		w.close()
	}
	if h.Asked = sent; whole && !f.over.Load() {
		h.Asked = max(sent, cfg.asked())
	}
	if len(h.Calls) == 0 {
		return errors.Join(errors.New("no order was sent"), ctx.Err())
	}
	runtime.GC() // the clients' own lists are garbage now: else the heap may grow to twice the size of both
	slices.SortFunc(h.Calls, func(a, b history.Call) int { return int(a.Sent - b.Sent) })
	for i := range h.Calls {
		if c := &h.Calls[i]; c.Kind == history.Place {
			h.Window = max(h.Window, c.Done)
		}
	}
	if cfg.Duration > 0 {
		h.Window = min(h.Window, cfg.Duration)
	}
	var items []history.Item
	for n := range sent {
		items, _ = f.plan.order(n, items[:0])
		h.AddOrder(items)
	}
	if complete && h.Odd {
		last := f.finishing()
		f.readAtLast(ctx, last)
		f.judgeable(ctx, last)
	}
	f.readLists()
	slices.SortFunc(h.Asides, func(a, b history.Aside) int { return int(a.Sent - b.Sent) })
	for _, r := range f.rows {
		if h.Odd && !slices.ContainsFunc(h.Asides, func(a history.Aside) bool { return a.Row == r.name }) {
			h.NotAsked = append(h.NotAsked, r.name)
		}
	}
	h.Interrupted = Interrupted(asked)
	return nil
}

// finish repeats the calls without an end, until ctx ends, unless only a function can place the orders.
func (f *firing) finish(ctx context.Context, workers []*worker) {
	if f.cfg.Path == history.PathOrder && len(f.cfg.OrderURLs) == 0 {
		return
	}
	last := f.finishing()
	for _, w := range workers {
		f.left.Add(int64(len(w.open)))
	}
	var running sync.WaitGroup
	for _, w := range workers {
		running.Go(func() { w.finish(ctx, last) })
	}
	running.Wait()
	f.h.Patience = f.cfg.Patience
	f.judgeable(ctx, last)
}

func (f *firing) finishing() *finishing {
	return &finishing{patience: f.cfg.Patience, start: time.Now()}
}

// judgeable says in the history whether each call was repeated for long enough to be owed an end.
func (f *firing) judgeable(ctx context.Context, last *finishing) {
	if last.tooLong() || ctx.Err() != nil {
		f.h.Patience = 0
	}
}

// claim returns the next order to send and its intended send time, from the start of the run. It returns false if there
// is none.
func (f *firing) claim(ctx context.Context) (op int, intended time.Duration, ok bool) {
	if f.cfg.Enough != nil && f.cfg.Enough() {
		f.over.Store(true)
	}
	if ctx.Err() != nil || f.over.Load() {
		return 0, 0, false
	}
	op = int(f.next.Add(1)) - 1
	intended = f.now()
	if f.cfg.Rate > 0 {
		intended = time.Duration(float64(op)/f.cfg.Rate*1e6) * time.Microsecond
	}
	if f.cfg.Orders > 0 && op >= f.cfg.Orders || f.cfg.Duration > 0 && intended >= f.cfg.Duration ||
		op >= history.MaxOrders {
		return 0, 0, false
	}
	return op, intended, sleepUntil(ctx, f.start.Add(intended))
}

// now returns the time since the start of the run, in whole microseconds, as the history's file keeps it.
func (f *firing) now() time.Duration { return time.Since(f.start).Truncate(time.Microsecond) }

// sleepUntil waits until the given time and reports whether ctx was still alive then.
func sleepUntil(ctx context.Context, at time.Time) bool {
	wait := time.Until(at)
	if wait <= 0 {
		return ctx.Err() == nil
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
