package fire

import (
	"context"
	"sync/atomic"
	"time"

	"orderstock/loadtest/history"
)

const (
	// mostPatience bounds the repeats of a run, and the wait that an answer may ask for. A rate limit may make them slow.
	mostPatience = 5 * time.Minute
	// finishEvery is the pause before a call without an end is repeated, unless its answer names another.
	finishEvery = 200 * time.Millisecond
)

// finishing is the end of a run, when each call without an end is repeated, or the last reads are made.
type finishing struct {
	patience time.Duration
	start    time.Time
	ended    atomic.Int64 // when the last of them ended, since start
	asked    atomic.Int64 // the longest wait that an answer asked for
}

// over reports whether nothing has ended for the whole patience and the longest wait, or all of it took too long.
func (f *finishing) over() bool {
	since := time.Since(f.start)
	return since-time.Duration(f.ended.Load()) > f.patience+time.Duration(f.asked.Load()) || f.tooLong()
}

// tooLong reports whether nobody can say whether the calls would end, if they were repeated on.
func (f *finishing) tooLong() bool {
	return max(time.Since(f.start), time.Duration(f.asked.Load())) > mostPatience
}

func (f *finishing) anEnd() { f.ended.Store(int64(time.Since(f.start))) }

// pause waits before a call is repeated, for as long as its answer asked for, if that is not too long.
func (f *finishing) pause(after time.Duration) {
	for {
		asked := f.asked.Load()
		if int64(after) <= asked || f.asked.CompareAndSwap(asked, int64(after)) {
			break
		}
	}
	if !f.tooLong() {
		time.Sleep(max(finishEvery, after))
	}
}

// finish repeats each call of the worker that has no end until it has one, in turns, or until ctx ends.
func (w *worker) finish(ctx context.Context, f *finishing) {
	for len(w.open) > 0 {
		for which, order := range w.open {
			if f.over() || ctx.Err() != nil {
				return
			}
			c := w.again(context.WithoutCancel(ctx), which, order)
			if c.Ended() {
				delete(w.open, which)
				w.f.left.Add(-1)
				f.anEnd()
				continue
			}
			f.pause(w.main.after)
		}
	}
}

// again makes one more call, and keeps it.
func (w *worker) again(ctx context.Context, which unended, order int64) (c history.Call) {
	op := int(which.op)
	switch {
	case which.kind == history.Again && w.f.h.FormOf(op) == history.Keyless:
		if order == 0 {
			return history.Call{} // nobody can ask for it; it is no answer to a call
		}
		c = w.main.read(ctx, op, history.ReadOrder, order)
		w.calls = append(w.calls, c)
		if c.Status == history.Pending {
			c.Kind = history.Again
		}
		return c
	case which.kind == history.Again:
		w.items, _ = w.f.plan.order(op, w.items[:0])
		c = w.main.place(ctx, op, history.Again, w.items, time.Since(w.f.start))
	case which.kind == history.Cancel:
		c = w.main.cancel(ctx, op, order, time.Since(w.f.start))
	default:
		c = w.main.read(ctx, op, which.kind, order)
	}
	w.calls = append(w.calls, c)
	return c
}
