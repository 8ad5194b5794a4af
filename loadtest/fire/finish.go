package fire

import (
	"context"
	"sync/atomic"
	"time"

	"orderstock/loadtest/history"
)

const (
	// mostPatience bounds the repeats of a run. A rate limit may make them slow.
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

// tooLong reports whether calls end too slowly to say whether the others would, if they were repeated on.
func (f *finishing) tooLong() bool { return time.Since(f.start) > mostPatience }

func (f *finishing) anEnd() { f.ended.Store(int64(time.Since(f.start))) }

// waits notes the wait that an answer asks for, and returns how long to wait before the call is repeated. It returns
// false if the run cannot wait for so long, which excuses this call alone.
func (f *finishing) waits(after time.Duration) (pause time.Duration, ok bool) {
	if after > history.MostWait {
		return 0, false
	}
	for {
		asked := f.asked.Load()
		if int64(after) <= asked || f.asked.CompareAndSwap(asked, int64(after)) {
			return max(finishEvery, after), true
		}
	}
}

// finish repeats each call of the worker that has no end until it has one, in turns, or until ctx ends. Each waits for
// as long as its own answer asked.
func (w *worker) finish(ctx context.Context, f *finishing) {
	due := map[unended]time.Time{}
	for len(w.open) > 0 {
		next := time.Now().Add(finishEvery)
		for which, order := range w.open {
			if f.over() || ctx.Err() != nil {
				return
			}
			if time.Now().Before(due[which]) {
				continue
			}
			c := w.again(context.WithoutCancel(ctx), which, order)
			pause, ok := f.waits(w.main.after)
			if c.Ended() {
				f.anEnd()
			}
			if c.Ended() || !ok {
				delete(w.open, which)
				w.f.left.Add(-1)
				continue
			}
			due[which] = time.Now().Add(pause)
		}
		sleepUntil(ctx, next)
	}
}

// again makes one more call, and keeps it.
func (w *worker) again(ctx context.Context, which unended, order int64) (c history.Call) {
	kind := which.asks
	keyless := kind == history.Place && w.f.h.FormOf(int(which.op)) == history.Keyless
	switch {
	case keyless && order == 0:
		return history.Call{} // nobody can ask for it; it is no answer to a call
	case keyless:
		kind = history.ReadOrder
	case kind == history.Place:
		kind = history.Again
	}
	c = w.main.call(ctx, int(which.op), kind, order, w.f.now())
	w.calls = append(w.calls, c)
	if keyless && c.Status == history.Pending {
		c.Kind = history.Again
	}
	return c
}
