package judge

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"orderstock/loadtest/judge/books"
	"orderstock/loadtest/judge/shop"
	"orderstock/loadtest/verify"
)

// Try sends one order, its repeat, and orders until one of each basket is rejected, one after another. It prints how
// each answer was read and which rows changed, so that its user sees whether the file describes the shop. The result
// has the one phase "try".
func Try(ctx context.Context, cfg Config, w io.Writer) (*Result, error) {
	if cfg.Progress == nil {
		cfg.Progress = w
	}
	r, err := begin(ctx, cfg)
	defer r.end()
	result := r.result(verify.Unknown)
	if err != nil {
		result.Reasons = []string{err.Error()}
		return result, ctx.Err()
	}
	t := &trying{phase: newPhase(r, "try", len(Phases())), w: terminal{w}, refused: map[string]bool{}}
	p := Phase{Name: "try"}
	v, err := t.run(ctx)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil {
		v = &Verdict{Outcome: verify.Unknown, Orders: len(t.orders), Unknown: len(t.orders), Reasons: []string{err.Error()}}
	}
	p.Verdict = *v
	result.Outcome = v.Outcome
	result.add(p)
	return result, nil
}

// trying is a trial order in progress.
type trying struct {
	*phase
	w    io.Writer
	last *books.Books
	// limited: an order was rejected whose buyer may have no more.
	limited bool
	// refused are the baskets that were rejected for another reason.
	refused map[string]bool
}

func (t *trying) say(what, format string, args ...any) {
	text := fmt.Sprintf(words(t.f.Noun, format), args...)
	fmt.Fprintf(t.w, "%-7s %s\n", what, strings.ReplaceAll(text, "\n", "\n        "))
}

func (t *trying) run(ctx context.Context) (*Verdict, error) {
	if err := t.open(ctx, true); err != nil {
		return nil, err
	}
	if n := len(t.f.Reset); n > 0 {
		t.say("reset", "%d steps done", n)
	}
	t.last = t.before
	for _, product := range (&Evidence{Stock: t.stock}).products() {
		t.say("stock", "%s of product %s", t.stock[product], product)
	}
	if err := t.plan(); err != nil {
		return nil, err
	}
	planned := t.orders
	t.orders, t.start = nil, time.Now()
	for _, o := range planned {
		if t.refused[o.basket()] {
			continue
		}
		t.orders = append(t.orders, o)
		on, err := t.one(ctx, o, len(t.orders)-1)
		if err != nil || !on {
			if err != nil {
				return nil, err
			}
			break
		}
	}
	t.summary()
	v, err := t.verdict(ctx) // waits until the books are quiet
	if err == nil && t.evidence.After != nil {
		t.changes(t.evidence.After, "")
	}
	return v, err
}

// one sends an order, shows the first ones, and reports whether to go on.
func (t *trying) one(ctx context.Context, o *prepared, i int) (on bool, err error) {
	if err := t.buyer(ctx, o); err != nil {
		return false, err
	}
	if o.Request == nil {
		t.say("buyer", "number %d: a step failed: %s\nread as: %s", i+1, o.Calls[0].problem(), o.Calls[0].Reading)
		return false, nil
	}
	if i == 0 {
		head, _, _ := strings.Cut(o.Request.Text, " HTTP/1.1\r\n") // also of HTTP/2, which has no such line
		t.say("order", "%s  (%s)", head, words(t.f.Noun, o.basket()))
	}
	c := t.call(ctx, o, First)
	if i > 0 {
		t.finish(ctx, o)
	} else if err := t.first(ctx, o, c); err != nil {
		return false, err
	}
	if c.Means == shop.Rejected || o.end() == shop.Rejected && i > 0 {
		limited := t.phase.limited(o)
		if !limited {
			t.refused[o.basket()] = true
		}
		if limited && !t.limited || !limited && len(t.refused) <= rowsShown {
			t.say("order", "number %d  (%s)", i+1, words(t.f.Noun, o.basket()))
			t.show(o.Calls[len(o.Calls)-1])
		}
		if limited && !t.limited {
			t.say("", "the buyer may have no more: the next one orders")
		}
		t.limited = t.limited || limited
		return len(t.refused) < len(t.baskets), nil
	}
	n := len(t.orders)
	return n < hopeless || slices.ContainsFunc(t.orders[n-hopeless:], func(o *prepared) bool {
		return o.end() != shop.Unknown
	}), nil
}

// first shows the answer to the first order, the steps after it and its repeat, each with its changes in the books.
func (t *trying) first(ctx context.Context, o *prepared, c Call) error {
	t.show(c)
	live := t.live(o)
	if err := t.settled(ctx, "the order", len(live) == 0); err != nil {
		return err
	}
	for number := 1; len(live) > 0 && number <= len(t.f.Then); number++ {
		n := len(o.Calls)
		live = t.after(ctx, live, number)
		t.say("step", "%d after the order", number)
		for _, c := range o.Calls[n:] {
			t.show(c)
		}
		if o.Halted != "" {
			t.say("", "%s", o.Halted)
		}
		last := len(live) == 0 || number == len(t.f.Then)
		if err := t.settled(ctx, fmt.Sprintf("step %d", number), last); err != nil {
			return err
		}
	}
	if t.f.Order.Repeats != "key" {
		return nil
	}
	t.say("repeat", "the same bytes")
	t.show(t.call(ctx, o, Repeat))
	return t.settled(ctx, "the repeat", true)
}

func (t *trying) show(c Call) {
	switch {
	case c.Failure != "":
		t.say("", "→ %s", c.Failure)
	case c.Kind == Then && c.Means == shop.Unknown: // it need not say anything about the order
		t.say("", "→ %d %s", c.Status, c.Body)
	default:
		t.say("", "→ %d %s\nread as: %s", c.Status, c.Body, c.Reading)
	}
}

// quiet is how long the books may stay as they were before nothing is expected to change.
const quiet = time.Second

// settled shows the changes in the books by a call once they are quiet, and after the last call new orders in them are
// sold or void, or the time to settle is over.
func (t *trying) settled(ctx context.Context, by string, last bool) error {
	if t.f.Books == nil {
		return nil
	}
	start, was := time.Now(), t.last
	for {
		waited := time.Since(start) // until this read, which may be a slow one
		now, err := t.reader.Read(ctx, t.vars)
		if err != nil {
			return err
		}
		changed := !now.Equal(t.last)
		if now.Equal(was) && (changed && (!last || !t.opened(now)) || !changed && waited >= quiet) ||
			waited >= time.Duration(t.f.Settle) {
			t.changes(now, by)
			return nil
		}
		was = now
		select {
		case <-time.After(readEvery):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// opened reports whether the books have new rows of orders that are neither sold nor void.
func (t *trying) opened(now *books.Books) bool {
	e := Evidence{After: now, Sold: t.f.Books.Sold, Void: t.f.Books.Void}
	return slices.ContainsFunc(added(t.last.Orders, now.Orders), func(r books.Row) bool {
		return e.class(r.State) == open
	})
}

// added returns the rows that are new.
func added(was, now []books.Row) []books.Row {
	known := map[books.Row]bool{}
	for _, row := range was {
		known[row] = true
	}
	return slices.DeleteFunc(slices.Clone(now), func(row books.Row) bool { return known[row] })
}

// changes shows the changes in the books, and the call that made them; "" for several calls.
func (t *trying) changes(now *books.Books, by string) {
	changed := false
	if by != "" {
		by = ", by " + by
	}
	was, is := t.last.Stock(), now.Stock()
	for _, product := range (&Evidence{Stock: t.stock}).products() {
		if was[product] != is[product] {
			changed = true
			t.say("", "books: product %s: %s → %s%s", product, was[product], is[product], by)
		}
	}
	for _, part := range []struct {
		name     string
		was, now []books.Row
	}{{"", t.last.Orders, now.Orders}, {"deduction of ", t.last.Deductions, now.Deductions}} {
		added := added(part.was, part.now)
		for i, row := range added {
			if i == rowsShown {
				t.say("", "books: … and %d more rows", len(added)-i)
				break
			}
			t.say("", "books: new row: %s%s", part.name, words(t.f.Noun, row.String()))
		}
		changed = changed || len(added) > 0
	}
	if !changed {
		t.say("", "books: nothing has changed")
	}
	t.last = now
}

// rowsShown bounds the rows that are shown at a time.
const rowsShown = 3

// summary says what became of all orders.
func (t *trying) summary() {
	ends := map[shop.Means]int{}
	for _, o := range t.orders {
		ends[o.end()]++
	}
	t.say("then", "%d orders: accepted %d, rejected %d, pending %d, unknown %d", len(t.orders),
		ends[shop.Accepted], ends[shop.Rejected], ends[shop.Pending], ends[shop.Unknown])
}
