package fire

import (
	"cmp"
	"context"
	"slices"
	"time"

	"orderstock/loadtest/history"
)

// worker is one client of the run: it sends an order, waits for the answer and sends the next. It has a second
// connection for concurrent calls.
type worker struct {
	f          *firing
	main, twin *client
	calls      []history.Call
	last       int
	items      []history.Item
	later      []laterCall
	eldest     *laterCall // the repeat of the first order that is repeated: the key must not be forgotten
	asides     []history.Aside
	known      known             // the last order that ended
	first      known             // the first one
	turns      []int             // the rows of the grammar that are to be drawn
	open       map[unended]int64 // calls to repeat after the traffic, with the orders' ids
}

// unended names calls of one order that have no end yet: to place it, to cancel it, or to read it.
type unended struct {
	op   int32
	asks history.Kind // as Kind.Asks returns it
}

// laterCall is a call to make once the worker has sent some more orders.
type laterCall struct {
	op     int
	cancel bool
	twice  bool
	order  int64
	// Again: the order is cancelled, and this is to cancel it again. Read: this is to read it, and Restock, to stock more.
	again, read, restock bool
	few                  bool // as in its order's intent

	due int // in orders of this worker
}

// laterOrders is the least number of orders of a worker that it draws a delay from, if the run has that many.
const laterOrders = 5

// insistEvery is the pause before a client that insists repeats an order.
const insistEvery = 100 * time.Millisecond

// close closes the connections, and frees all that the worker has.
func (w *worker) close() {
	w.main.close()
	w.twin.close()
	*w = worker{}
}

func (w *worker) run(ctx context.Context) {
	w.last, w.open = -1, map[unended]int64{}
	for sent := 0; ; sent++ {
		op, intended, ok := w.f.claim(ctx)
		if !ok {
			break
		}
		w.last = op
		w.order(ctx, op, intended, sent)
		for len(w.later) > 0 && w.later[0].due <= sent {
			l := w.later[0]
			w.later = w.later[1:]
			w.late(ctx, l, sent)
		}
	}
	if w.eldest != nil {
		w.later = append(w.later, *w.eldest)
	}
	for len(w.later) > 0 && ctx.Err() == nil {
		l := w.later[0]
		w.later = w.later[1:]
		w.late(ctx, l, w.last)
	}
}

// schedule makes a call later, by a delay that is a share of the orders that the worker has still to send.
func (w *worker) schedule(l laterCall, delay float64, sent int) {
	rest := sent // of a run without a number of orders: as many as it has sent
	if asked := w.f.cfg.asked(); asked > 0 {
		rest = (asked - w.last) / w.f.cfg.Concurrency
	}
	if l.few {
		rest = min(rest, drawOften/w.f.cfg.Concurrency)
	}
	l.due = sent + 1 + int(delay*float64(max(rest, laterOrders)))
	at := len(w.later)
	for at > 0 && w.later[at-1].due > l.due {
		at--
	}
	w.later = slices.Insert(w.later, at, l)
}

// order sends order op, with its repeats and cancellations.
func (w *worker) order(ctx context.Context, op int, intended time.Duration, sent int) {
	var do intent
	w.items, do = w.f.plan.order(op, w.items[:0])
	form, again := w.f.h.FormOf(op), laterCall{op: op, few: do.few}
	keyless := form == history.Keyless // a repeat would be another order
	var twin <-chan history.Call
	if do.repeat = do.repeat && !keyless; do.repeat {
		twin = w.together(ctx, op, history.Twin, 0, intended)
	}
	first := w.call(ctx, op, history.Place, 0, intended)
	if do.repeat {
		w.keep(0, <-twin)
	}
	switch {
	case do.repeat && w.eldest == nil && w.f.h.Odd:
		w.eldest = &again
	case do.repeat, form > history.Keyless: // or a relative of another key
		w.schedule(again, do.delay, sent)
	}
	if w.f.cfg.Insist > 0 && !keyless {
		first = w.insist(ctx, first)
	}
	if first.Failure == history.Refused || first.Failure == history.Unsent {
		sleepUntil(ctx, time.Now().Add(50*time.Millisecond)) // nothing listens: do not use up all orders at once
	}
	w.look(ctx, first, do, sent)
	if !do.cancel || w.f.cfg.Path == history.PathOrder && first.Order == 0 {
		return
	}
	l := laterCall{op: op, cancel: true, twice: do.cancelTwice, order: first.Order, few: do.few}
	if do.cancelLater {
		w.schedule(l, do.delay, sent)
	} else {
		w.late(ctx, l, sent)
	}
}

// insist repeats the order of a call until it is answered, or Config.Insist is over, and returns the last call.
func (w *worker) insist(ctx context.Context, c history.Call) history.Call {
	ctx, limit := context.WithoutCancel(ctx), time.Now().Add(w.f.cfg.Insist)
	unanswered := func() bool { return c.Unserved() || c.Failure == history.TimedOut }
	for unanswered() && time.Now().Before(limit) {
		sleepUntil(ctx, time.Now().Add(min(max(insistEvery, w.main.after), time.Until(limit))))
		c = w.call(ctx, int(c.Op), history.Again, 0, w.f.now())
	}
	if c.Kind == history.Again && c.Ended() {
		delete(w.open, unended{c.Op, history.Place})
	}
	return c
}

func (w *worker) late(ctx context.Context, l laterCall, sent int) {
	intended := w.f.now()
	switch {
	case l.restock:
		w.stockTheRest(ctx)
	case l.read:
		w.read(ctx, l.op, history.ReadOrder, l.order)
		w.read(ctx, l.op, history.ReadLedger, l.order)
	case !l.cancel:
		w.call(ctx, l.op, history.Again, 0, intended)
	default:
		var other <-chan history.Call
		if l.twice {
			other = w.together(ctx, l.op, history.Cancel, l.order, intended)
		} else if w.f.h.Odd && l.op%2 == 0 && !l.few && w.f.h.FormOf(l.op) != history.Keyless {
			other = w.together(ctx, l.op, history.Again, 0, intended)
		}
		w.call(ctx, l.op, history.Cancel, l.order, intended)
		if other != nil {
			w.keep(l.order, <-other)
		}
		w.lookAgain(ctx, l, sent)
	}
}

// together makes a call on the second connection, in a goroutine that ends with the call.
func (w *worker) together(ctx context.Context, op int, kind history.Kind, order int64, intended time.Duration,
) <-chan history.Call {
	made := make(chan history.Call, 1)
	go func() { made <- w.twin.call(ctx, op, kind, order, intended) }()
	return made
}

// call makes a call on the main connection, and keeps it.
func (w *worker) call(ctx context.Context, op int, kind history.Kind, order int64, intended time.Duration,
) history.Call {
	c := w.main.call(ctx, op, kind, order, intended)
	w.keep(order, c)
	return c
}

// keep keeps a call of the order with that id, or the one in the answer. A call that did not leave the client has
// nothing that could end.
func (w *worker) keep(order int64, c history.Call) {
	w.calls = append(w.calls, c)
	if c.Ended() || c.Failure == history.Unsent {
		return
	}
	w.open[unended{c.Op, c.Kind.Asks()}] = cmp.Or(order, c.Order)
}
