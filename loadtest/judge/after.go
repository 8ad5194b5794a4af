package judge

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"orderstock/loadtest/judge/send"
	"orderstock/loadtest/judge/shop"
)

// buy sends the order's request, and does the steps after it.
func (p *phase) buy(ctx context.Context, o *prepared) {
	if o.Request != nil {
		p.call(ctx, o, First)
		p.finish(ctx, o)
	}
}

// goesOn reports whether there are steps after an order.
func (p *phase) goesOn() bool { return len(p.f.Then) > 0 || p.f.Cancel != nil }

// finish does the steps after the order, once for each of the orders that is accepted or pending: step by step, and
// each one for all of them at the same moment.
func (p *phase) finish(ctx context.Context, orders ...*prepared) {
	live := p.live(orders...)
	if len(live) > 0 && len(p.f.Then) > 0 && p.before != nil && p.before.HasState {
		p.placed.Do(func() { p.between, _ = p.reader.Read(ctx, p.vars) }) // without it, less is known
	}
	p.steps(ctx, live, 1)
}

// steps does the steps after the orders, from the one with that number, which counts from 1.
func (p *phase) steps(ctx context.Context, live []*prepared, from int) {
	for number := from; number <= len(p.f.Then); number++ {
		live = p.after(ctx, live, number)
	}
}

// live returns the orders that are accepted or pending, and whose steps after them were not begun. They are begun then.
func (p *phase) live(orders ...*prepared) (live []*prepared) {
	for _, o := range orders {
		if o.placed == nil || o.finished || o.end() == shop.Rejected {
			continue
		}
		o.finished = true
		if p.captures(o); o.Halted == "" {
			live = append(live, o)
		}
	}
	return live
}

// captures gives the steps after an order its id and the parts of its answer.
func (p *phase) captures(o *prepared) {
	a := o.placed
	o.session.Remember(o.Request.URL, a)
	captured, err := capture(&p.f.Order.Request, a, o.vars)
	if err != nil {
		o.Halted = err.Error()
		return
	}
	o.vars = o.vars.With(captured)
	if id := p.f.Placed(p.f.Read(a, o.vars), a, o.vars); id != nil {
		o.vars = o.vars.With(shop.Vars{shop.OrderID: id})
	}
}

// after does a step after the orders, and returns the ones that go on.
func (p *phase) after(ctx context.Context, orders []*prepared, number int) (live []*prepared) {
	step := &p.f.Then[number-1]
	var shots []*shot
	var others sync.WaitGroup
	for _, o := range orders {
		if step.Target() == "" {
			others.Go(func() {
				captured, failed := p.step(ctx, o.session, step, o.vars)
				if failed != nil {
					o.Halted = failed.problem()
				}
				o.vars = o.vars.With(captured)
			})
			continue
		}
		s, err := p.shot(o, step, Then)
		if err != nil {
			o.Halted = err.Error()
			continue
		}
		s.Step = number
		if step.Poll {
			others.Go(func() { p.poll(ctx, s) })
			continue
		}
		shots = append(shots, s)
	}
	others.Wait()
	for try := 1; len(shots) > 0; try++ {
		p.awaitService()
		p.atOnce(ctx, shots...)
		for _, s := range shots {
			p.done(s, step)
		}
		shots = filter(shots, func(s *shot) bool { return s.Unsent })
		if try == tries || ctx.Err() != nil {
			break
		}
		for i, s := range shots {
			s.Halted = ""
			shots[i] = &shot{prepared: s.prepared, Call: Call{Kind: Then, Step: number}, wire: s.wire, follow: s.follow}
		}
	}
	return filter(orders, func(o *prepared) bool { return o.Halted == "" && o.end() != shop.Rejected })
}

// shot renders a step for an order.
func (p *phase) shot(o *prepared, step *shop.Step, kind Kind) (*shot, error) {
	rendered, err := step.Render(p.f.Target, o.vars)
	if err != nil {
		return nil, err
	}
	wire, err := o.session.Wire(rendered)
	return &shot{prepared: o, Call: Call{Kind: kind}, wire: wire, follow: step.Follow}, err
}

// poll sends a request until its answer means accepted or rejected, or it was sent after the time to settle, and keeps
// the last call.
func (p *phase) poll(ctx context.Context, first *shot) {
	step := &p.f.Then[first.Step-1]
	deadline := time.Now().Add(time.Duration(p.f.Settle))
	for pause := pollEvery; ; pause = min(2*pause, readEvery) {
		p.awaitService()
		over := !time.Now().Before(deadline)
		s := *first
		p.send(ctx, &s)
		ended := s.Means == shop.Accepted || s.Means == shop.Rejected
		if ended || over {
			p.keep(&s)
			if p.done(&s, step); !ended && s.Halted == "" {
				s.Halted = fmt.Sprintf("%s has no end after %s: %d %s", s.line(), time.Duration(p.f.Settle), s.Status, s.Body)
			}
			return
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return
		}
	}
}

// pollEvery is the first pause between two polls.
const pollEvery = 10 * time.Millisecond

// line is the head of a shot's request.
func (s *shot) line() string { return fmt.Sprintf("step %d of then", s.Step) }

// done captures from the answer to a step, or notes why the step could not be done.
func (p *phase) done(s *shot, step *shop.Step) {
	if s.Answer == nil {
		s.Halted = s.line() + ": " + s.Failure
		return
	}
	s.session.Remember(s.wire.URL, s.Answer)
	captured, err := capture(&step.Request, s.Answer, s.vars)
	switch {
	case s.Means != shop.Unknown: // it is one under its answers
	case err != nil:
		s.Halted = s.line() + ": " + err.Error()
	case !send.Succeeded(&step.Request, s.Answer):
		s.Halted = fmt.Sprintf("%s was answered %d %s", s.line(), s.Status, s.Body)
	}
	s.vars = s.vars.With(captured)
}

// awaitService waits while the service is killed and started.
func (p *phase) awaitService() {
	p.down.RLock()
	p.down.RUnlock() //nolint:staticcheck // it waits until the service serves
}

// cancelAgain is the time after which an order is cancelled a second time.
const cancelAgain = time.Second

// payment returns the number of the step of then that changes the order first, or 0.
func payment(f *shop.File) int {
	return 1 + slices.IndexFunc(f.Then, func(s shop.Step) bool { return s.Target() != "" && s.Get == "" })
}

// payAndCancel does the step with that number and cancels the order at the same moment. Unless the order is cancelled,
// the other steps follow.
func (p *phase) payAndCancel(ctx context.Context, o *prepared, number int) {
	step := &p.f.Then[number-1]
	pay, err := p.shot(o, step, Race)
	cancel, failed := p.shot(o, p.f.Cancel, Cancel)
	if err := errors.Join(err, failed); err != nil {
		o.Halted = err.Error()
		return
	}
	pay.Step = number
	p.atOnce(ctx, pay, cancel)
	p.done(pay, step)
	if _, _, maybe := o.cancelled(); maybe {
		return
	}
	if step.Poll && o.end() != shop.Accepted {
		o.Halted, number = "", number-1
	}
	if o.Halted == "" {
		p.steps(ctx, []*prepared{o}, number+1)
	}
}

// cancelled sells the stock, and cancels about half of the accepted orders, while others buy: once, twice at the same
// moment, or again after a second. Every fourth order is paid and cancelled at the same moment. Then, with a limit,
// some who cancelled order again, and it buys until the shop is sold out again.
func (p *phase) cancelled(ctx context.Context) error {
	clients, pay := max(1, p.Clients/2), 0
	if p.f.Cancel.Target() != "" { // only requests are sent at the same moment
		pay = payment(p.f)
	}
	unpaid := map[*prepared]bool{}
	for i, o := range p.orders {
		unpaid[o] = pay > 0 && i%4 == 0
	}
	if err := p.each(ctx, clients, p.orders, func(ctx context.Context, o *prepared) {
		if p.call(ctx, o, First); !unpaid[o] {
			p.finish(ctx, o)
			return
		}
		live := p.live(o)
		for number := 1; number < pay; number++ {
			live = p.after(ctx, live, number)
		}
	}); err != nil {
		return err
	}
	waiting := filter(p.orders, func(o *prepared) bool {
		return unpaid[o] && o.finished && o.Halted == "" && o.end() != shop.Rejected
	})
	draw := p.random(2)
	accepted := filter(p.orders, func(o *prepared) bool {
		return !unpaid[o] && o.end() == shop.Accepted && o.Halted == ""
	})
	chosen, ways := accepted[:(len(accepted)+1)/2], map[*prepared]int{}
	for _, o := range chosen {
		ways[o] = draw.IntN(3)
	}
	others, err := p.more(len(chosen)+len(waiting), p.baskets)
	if err == nil {
		err = p.buyers(ctx, others)
	}
	if err != nil {
		return err
	}
	group, both := errgroup.WithContext(ctx)
	group.Go(func() error { return p.each(both, clients, others, p.buy) })
	group.Go(func() error {
		return p.each(both, clients, chosen, func(ctx context.Context, o *prepared) { p.cancel(ctx, o, 1+ways[o]%2) })
	})
	group.Go(func() error {
		return p.each(both, clients, waiting, func(ctx context.Context, o *prepared) { p.payAndCancel(ctx, o, pay) })
	})
	if err := group.Wait(); err != nil {
		return err
	}
	select {
	case <-time.After(cancelAgain):
	case <-ctx.Done():
		return ctx.Err()
	}
	again := slices.DeleteFunc(slices.Clone(chosen), func(o *prepared) bool { return ways[o] < 2 })
	if err := p.each(ctx, clients, again, func(ctx context.Context, o *prepared) { p.cancel(ctx, o, 1) }); err != nil {
		return err
	}
	if err := p.buyAgain(ctx, chosen); err != nil {
		return err
	}
	return p.sellOut(ctx, time.Duration(p.f.Settle))
}

// buyAgain orders more than the limit for some of the buyers whose orders were cancelled, if there is a limit. It goes
// from one to the next, since the first orders of many would leave nothing for the second ones.
func (p *phase) buyAgain(ctx context.Context, cancelled []*prepared) error {
	if p.f.Limit == nil {
		return nil
	}
	var orders []*prepared
	last, done := p.lastBuyer, map[int]bool{}
	for _, o := range cancelled {
		if _, sure, _ := o.cancelled(); !sure || done[o.Buyer] || len(orders) > p.planned/2 {
			continue
		}
		done[o.Buyer], p.lastBuyer = true, o.Buyer-1
		more, err := p.more(p.group, p.baskets)
		if err != nil {
			return err
		}
		orders = append(orders, more...)
	}
	p.lastBuyer = last
	if err := p.buyers(ctx, orders); err != nil {
		return err
	}
	return p.each(ctx, p.group, orders, p.buy)
}

// cancel sends the request that cancels an order, so often at the same moment.
func (p *phase) cancel(ctx context.Context, o *prepared, times int) {
	if p.f.Cancel.Target() == "" {
		c := Call{Kind: Cancel, Sent: time.Since(p.start), Reading: shop.Reading{Means: shop.Cancelled}}
		if _, failed := p.step(ctx, o.session, p.f.Cancel, o.vars); failed != nil {
			c.Failure, c.Means = failed.problem(), shop.Unknown
		}
		c.Done = time.Since(p.start)
		p.keepCall(o, c)
		return
	}
	shots := make([]*shot, times)
	for i := range shots {
		var err error
		if shots[i], err = p.shot(o, p.f.Cancel, Cancel); err != nil {
			p.keepCall(o, Call{Kind: Cancel, Failure: err.Error(), Unsent: true, Reading: shop.Reading{Means: shop.Unknown}})
			return
		}
	}
	p.atOnce(ctx, shots...)
}

// sellOut sends orders one after another, each from a new buyer, until of each basket one is rejected, more is accepted
// than there is, or some in a row have no known end. While returned pieces may still come back, for so long, a
// rejection counts only where there are too few pieces.
func (p *phase) sellOut(ctx context.Context, returning time.Duration) error {
	deadline := time.Now().Add(returning)
	held := map[string]shop.Pieces{}
	hold := func(o *prepared) (short, over bool) {
		for _, it := range o.Basket {
			if o.holds() == shop.Accepted {
				held[it.Product] += it.Pieces
			}
			short = short || held[it.Product]+it.Pieces > p.stock[it.Product]
			over = over || held[it.Product] > p.stock[it.Product]
		}
		return short, over
	}
	over := false
	for _, o := range p.orders {
		_, more := hold(o)
		over = over || more
	}
	pause, open, last := pollEvery, slices.Clone(p.baskets), returning == 0
	for silent := 0; !over && len(open) > 0 && silent < hopeless && len(p.orders) < 3*p.planned+hopeless; {
		i := p.draw.IntN(len(open))
		orders, err := p.more(1, open[i:i+1])
		if err == nil {
			err = p.buyers(ctx, orders)
		}
		if err != nil {
			return err
		}
		o := orders[0]
		p.buy(ctx, o)
		var short bool
		if short, over = hold(o); o.end() == shop.Unknown {
			silent++
			continue
		}
		switch silent = 0; {
		case o.end() != shop.Rejected:
			continue
		case short || last:
			open = slices.Delete(open, i, i+1)
			continue
		}
		last = !time.Now().Before(deadline)
		pause = min(2*pause, max(pollEvery, time.Until(deadline)))
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return ctx.Err()
}
