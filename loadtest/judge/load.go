package judge

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"orderstock/loadtest/judge/send"
	"orderstock/loadtest/judge/shop"
)

// bodyShown bounds the part of a body that is kept, in characters.
const bodyShown = 200

// shot is a request of an order that is sent over its own connection: the order, a step after it, or its cancel.
type shot struct {
	*prepared
	Call
	wire   *send.Wire
	follow bool
	held   send.Held
}

// orders returns the order's request as a shot.
func (o *prepared) orders(f *shop.File, kind Kind) *shot {
	return &shot{prepared: o, Call: Call{Kind: kind}, wire: o.Request, follow: f.Order.Follow}
}

// call sends the order's request and keeps the call.
func (p *phase) call(ctx context.Context, o *prepared, kind Kind) Call {
	return p.keep(p.send(ctx, o.orders(p.f, kind)))
}

// send sends a request and reads the answer. If it did not reach the service, it is not executed.
func (p *phase) send(ctx context.Context, s *shot) *shot {
	if p.hold(ctx, s) {
		if p.release(s) {
			p.answer(ctx, s)
		}
	}
	return s
}

// hold connects and sends all but the last byte of a request, and reports whether that has worked.
func (p *phase) hold(ctx context.Context, s *shot) bool {
	s.Sent = time.Since(p.start)
	var err error
	if s.held, err = p.sender.Hold(ctx, s.wire); err != nil {
		p.failed(s, err)
	}
	return err == nil
}

// release sends the last byte of a held request, and reports whether that has worked.
func (p *phase) release(s *shot) bool {
	err := s.held.Release(time.Duration(p.f.Timeout))
	if err != nil {
		s.held.Close()
		p.failed(s, err)
	}
	return err == nil
}

// answer reads the answer to a released request.
func (p *phase) answer(ctx context.Context, s *shot) {
	if s.Kind == Lost {
		if err := s.held.Lose(); err != nil {
			p.failed(s, err)
			return
		}
		s.Done, s.Means = time.Since(p.start), shop.Unknown
		return
	}
	a, err := s.held.Answer()
	if err == nil && s.follow {
		a, err = s.session.Follow(ctx, s.wire.URL, a)
	}
	if err != nil {
		p.failed(s, err)
		return
	}
	s.Done, s.Status, s.Body = time.Since(p.start), a.Status, cut(string(a.Body), bodyShown)
	s.Answer = a
	s.Reading = s.read(p.f, s.vars)
}

// read gives the call's answer its meaning.
func (c *Call) read(f *shop.File, vars shop.Vars) shop.Reading {
	switch {
	case c.Step > len(f.Then), c.Kind == Cancel && f.Cancel == nil: // the file has changed since
		return shop.Reading{Means: shop.Unknown}
	case c.Step > 0:
		reading := f.Then[c.Step-1].Read(c.Answer, vars)
		if c.Kind == Race && reading.Means == shop.Rejected {
			reading.Means = shop.Unknown
		}
		return reading
	case c.Kind == Cancel && len(f.Cancel.Answers) == 0 && send.Succeeded(&f.Cancel.Request, c.Answer):
		return shop.Reading{Means: shop.Cancelled}
	case c.Kind == Cancel:
		return f.Cancel.Read(c.Answer, vars)
	}
	return f.Read(c.Answer, vars)
}

func (p *phase) failed(s *shot, err error) {
	s.Done, s.Failure, s.Unsent = time.Since(p.start), err.Error(), errors.Is(err, send.ErrNotSent)
	s.Means = shop.Unknown
}

// keep keeps the call of a shot. The whole answer is kept only as evidence, or for the steps after the order.
func (p *phase) keep(s *shot) Call {
	c := s.Call
	if p.keeper == nil {
		c.Answer = nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.keeper != nil && c.Answer != nil {
		s.prepared.Vars = s.vars
	}
	if (c.Means == shop.Accepted || c.Means == shop.Pending) && s.placed == nil && c.Kind.orders() && p.goesOn() {
		s.placed = s.Answer
	}
	p.append(s.prepared, c)
	return c
}

// keepCall keeps a call that was no shot.
func (p *phase) keepCall(o *prepared, c Call) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.append(o, c)
}

func (p *phase) append(o *prepared, c Call) {
	if len(o.Calls) > 0 {
		p.ends[o.end()]--
	}
	o.Calls = append(o.Calls, c)
	p.ends[o.end()]++
}

// hopeless is the number of waves, or of orders one after another, without a known end after which there is no sense in
// more of them.
const hopeless = 3

// together sends the orders in waves: of each, all but the last bytes are sent, then the last bytes at once. With fewer
// clients than asked for, it ends if the first waves are not served.
func (p *phase) together(ctx context.Context) error {
	waves := 0
	for rest := p.orders; len(rest) > 0; waves++ {
		if p.name != Together && waves == hopeless && p.answered() == 0 {
			return nil
		}
		wave := rest[:min(p.Clients, len(rest))]
		rest = rest[len(wave):]
		var shots []*shot
		var orders []*prepared
		for _, o := range wave {
			if o.Request != nil {
				orders, shots = append(orders, o), append(shots, o.orders(p.f, First))
			}
		}
		p.atOnce(ctx, shots...)
		p.finish(ctx, orders...)
		p.ended.Add(int64(len(wave)))
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	return nil
}

// atOnce holds the requests, releases all at once, reads the answers and keeps the calls.
func (p *phase) atOnce(ctx context.Context, shots ...*shot) {
	var holding, reading sync.WaitGroup
	held := make([]bool, len(shots))
	for i, s := range shots {
		holding.Go(func() { held[i] = p.hold(ctx, s) })
	}
	holding.Wait()
	for i, s := range shots {
		if held[i] {
			s.Sent = time.Since(p.start)
			held[i] = p.release(s)
		}
	}
	for i, s := range shots {
		if !held[i] {
			p.keep(s)
			continue
		}
		reading.Go(func() {
			p.answer(ctx, s)
			p.keep(s)
		})
	}
	reading.Wait()
}

// repeated sends some orders as double clicks, loses the answers to some and repeats them, and repeats some later.
func (p *phase) repeated(ctx context.Context) error {
	draw := p.random(1)
	ways, late := map[*prepared]int{}, map[*prepared]bool{}
	for _, o := range p.orders {
		ways[o], late[o] = draw.IntN(10), draw.IntN(2) == 0
	}
	err := p.each(ctx, max(1, p.Clients/2), p.orders, func(ctx context.Context, o *prepared) {
		switch way := ways[o]; {
		case way < 3:
			p.atOnce(ctx, o.orders(p.f, First), o.orders(p.f, Click))
		case way < 6:
			p.call(ctx, o, Lost)
			p.call(ctx, o, Repeat)
		case way < 8:
			p.call(ctx, o, First)
			p.call(ctx, o, Repeat)
		default:
			p.call(ctx, o, First)
		}
		p.finish(ctx, o)
	})
	if err != nil {
		return err
	}
	var again []*prepared
	for _, o := range p.orders {
		if late[o] || o.end() == shop.Unknown {
			again = append(again, o)
		}
	}
	return p.again(ctx, again)
}

// again repeats orders at the end of a phase, when the stock is sold. The others have ended with it.
func (p *phase) again(ctx context.Context, orders []*prepared) error {
	p.ended.Add(int64(len(p.orders) - len(orders)))
	return p.each(ctx, max(1, p.Clients/2), orders, func(ctx context.Context, o *prepared) {
		p.call(ctx, o, Late)
		p.finish(ctx, o)
	})
}

// tries bounds the calls of an order that did not reach the service.
const tries = 3

// killed kills the service twice in the middle, when a third and two thirds of the calls have been sent. At most a
// quarter of the orders are under way at a time, so that each kill finds orders which were acknowledged before. Orders
// without an answer are repeated once it serves again, if a repeat is the same order or the call did not reach the
// service; a shop without keys gets others in their place.
func (p *phase) killed(ctx context.Context) error {
	var (
		claimed atomic.Int64
		at      = make(chan struct{}, 2)
		ended   = make(chan struct{})
		killing = make(chan error, 1)
	)
	go func() { killing <- p.killer(ctx, at, ended) }()
	third := int64(max(1, len(p.orders)/3))
	clients := min(p.Clients, max(1, len(p.orders)/4))
	err := p.each(ctx, clients, p.orders, func(ctx context.Context, o *prepared) {
		for range tries {
			p.awaitService()
			if n := claimed.Add(1); n == third || n == 2*third {
				at <- struct{}{}
			}
			kind := First
			if len(o.Calls) > 0 {
				kind = Repeat
			}
			c := p.call(ctx, o, kind)
			if c.Failure == "" || !c.Unsent && p.f.Order.Repeats != "key" {
				p.finish(ctx, o)
				return
			}
		}
	})
	close(ended)
	if failed := <-killing; failed != nil || err != nil {
		return errors.Join(failed, err)
	}
	if p.f.Order.Repeats != "key" {
		return p.sellOut(ctx, 0)
	}
	return p.again(ctx, p.orders)
}

// killer kills the service and starts it again each time that at says so, until the load has ended.
func (p *phase) killer(ctx context.Context, at, ended <-chan struct{}) error {
	for {
		select {
		case <-ended:
			return nil
		case <-at:
		}
		err := func() error {
			open, failed := p.service.reach(ctx) // while calls are sent, so that the kill finds some under way
			p.down.Lock()
			defer p.down.Unlock()
			from := time.Since(p.start)
			defer func() { p.kills = append(p.kills, Span{from, time.Since(p.start)}) }()
			if failed != nil {
				if err := p.bury(ctx); err != nil {
					return err
				}
				if open, failed = p.service.reach(ctx); failed != nil {
					return failed
				}
			}
			return errors.Join(p.service.kill(ctx, open), p.service.start(ctx))
		}()
		if err != nil {
			return err
		}
	}
}
