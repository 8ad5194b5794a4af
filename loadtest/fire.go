package loadtest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// Fire makes the goods of a run, sends its orders and returns what was measured,
// with the history. It ends when all orders are answered or given up, or when
// ctx ends: then no more are sent, the calls in flight are awaited, and the
// report is of what was sent until then. An error means that nothing was fired,
// or that the history could not be written.
func Fire(ctx context.Context, cfg FireConfig) (*Report, error) {
	cfg = cfg.withDefaults()
	if err := cfg.validate(); err != nil {
		return nil, fmt.Errorf("fire: %w", err)
	}
	now := time.Now()
	h := &History{
		Run:  strconv.FormatInt(now.UnixMilli(), 36) + "x" + strconv.FormatUint(rand.Uint64N(1<<40), 36),
		Path: cfg.Path, Started: now.UTC(), Warmup: cfg.Warmup, Timeout: cfg.Timeout, Seed: cfg.Mix.Seed,
	}
	goods, err := makeGoods(ctx, cfg, h.Run, now)
	if err != nil {
		return nil, fmt.Errorf("fire: %w", err)
	}
	h.Goods = goods
	if err := fire(ctx, cfg, h); err != nil {
		return nil, fmt.Errorf("fire: %w", err)
	}
	if cfg.HistoryPath != "" {
		if err := h.save(cfg.HistoryPath); err != nil {
			return nil, fmt.Errorf("fire: %w", err)
		}
	}
	return newReport(h), nil
}

// firing is a run that is going on.
type firing struct {
	cfg   FireConfig
	plan  *plan
	pacer Pacer
	start time.Time
	next  atomic.Int64
	live  tally
}

func fire(ctx context.Context, cfg FireConfig, h *History) error {
	f := &firing{cfg: cfg, plan: newPlan(cfg.Mix, h.Goods), pacer: Rate(cfg.Rate), start: time.Now()}
	h.Started = f.start.UTC() // the calls' times count from here
	workers := make([]*worker, cfg.Concurrency)
	for i := range workers {
		main, err := newClient(&f.cfg, h, f.start, i)
		if err != nil {
			return err
		}
		twin, err := newClient(&f.cfg, h, f.start, i+1)
		if err != nil {
			return err
		}
		workers[i] = &worker{f: f, main: main, twin: twin}
	}
	shown := showProgress(ctx, cfg, &f.live, f.start)
	var running sync.WaitGroup
	for _, w := range workers {
		running.Go(func() { w.run(ctx) })
	}
	running.Wait()
	h.Elapsed = time.Since(f.start)
	shown()

	sent := 0
	for _, w := range workers {
		h.Calls = append(h.Calls, w.calls...)
		sent = max(sent, w.last+1)
		w.calls = nil
	}
	slices.SortFunc(h.Calls, func(a, b Call) int { return int(a.Sent - b.Sent) })
	for i := range h.Calls {
		if c := &h.Calls[i]; c.Kind == Place {
			h.Window = max(h.Window, c.Done)
		}
	}
	if cfg.Duration > 0 {
		h.Window = min(h.Window, cfg.Duration)
	}
	var items []Item
	for n := range sent {
		items, _ = f.plan.order(n, items[:0])
		h.items.append(items)
	}
	if len(h.Calls) == 0 {
		return errors.Join(errors.New("no order was sent"), ctx.Err())
	}
	return nil
}

// claim returns the next order to send and the time at which it is meant to
// be sent, or false when there is none.
func (f *firing) claim(ctx context.Context) (op int, intended time.Duration, ok bool) {
	if ctx.Err() != nil {
		return 0, 0, false
	}
	op = int(f.next.Add(1)) - 1
	intended, paced := f.pacer.At(op)
	if !paced {
		intended = time.Since(f.start)
	}
	if f.cfg.Orders > 0 && op >= f.cfg.Orders || f.cfg.Duration > 0 && intended >= f.cfg.Duration || op >= maxOrders {
		return 0, 0, false
	}
	if paced && !sleepUntil(ctx, f.start.Add(intended)) {
		return 0, 0, false
	}
	return op, intended, true
}
