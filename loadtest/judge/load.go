package judge

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"orderstock/loadtest/judge/send"
	"orderstock/loadtest/judge/shop"
)

// bodyShown bounds the part of a body that is kept, in characters.
const bodyShown = 200

// call sends the order's request and keeps the call.
func (p *phase) call(ctx context.Context, o *prepared, kind Kind) Call {
	c := Call{Kind: kind, Sent: time.Since(p.start)}
	held, err := p.sender.Hold(ctx, o.wire)
	if err == nil {
		return p.release(ctx, o, held, c)
	}
	return p.keep(o, p.failed(c, err))
}

// release sends the last byte of a held request, reads the answer and keeps the call.
func (p *phase) release(ctx context.Context, o *prepared, held *send.Held, c Call) Call {
	if err := held.Release(time.Duration(p.f.Timeout)); err != nil {
		held.Close()
		return p.keep(o, p.failed(c, err))
	}
	return p.answer(ctx, o, held, c)
}

// answer reads the answer to a released request and keeps the call.
func (p *phase) answer(ctx context.Context, o *prepared, held *send.Held, c Call) Call {
	if c.Kind == Lost {
		if err := held.Lose(); err != nil {
			return p.keep(o, p.failed(c, err))
		}
		c.Done, c.Means = time.Since(p.start), shop.Unknown
		return p.keep(o, c)
	}
	a, err := held.Answer()
	if err == nil && p.f.Order.Follow {
		a, err = o.session.Follow(ctx, o.wire.URL, a)
	}
	if err != nil {
		return p.keep(o, p.failed(c, err))
	}
	c.Done, c.Status, c.Body = time.Since(p.start), a.Status, cut(string(a.Body), bodyShown)
	c.Reading = p.f.Read(a, o.vars)
	if p.keeper != nil {
		c.Answer, o.Vars = a, o.vars
	}
	return p.keep(o, c)
}

func (p *phase) failed(c Call, err error) Call {
	c.Done, c.Failure, c.Unsent = time.Since(p.start), err.Error(), errors.Is(err, send.ErrNotSent)
	c.Means = shop.Unknown
	return c
}

func (p *phase) keep(o *prepared, c Call) Call {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(o.Calls) > 0 {
		p.ends[o.end()]--
	}
	o.Calls = append(o.Calls, c)
	p.ends[o.end()]++
	return c
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
		var kinds []Kind
		var orders []*prepared
		for _, o := range wave {
			if o.wire != nil {
				orders, kinds = append(orders, o), append(kinds, First)
			}
		}
		p.atOnce(ctx, orders, kinds)
		p.ended.Add(int64(len(wave)))
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	return nil
}

// atOnce holds a call for each order, which may be there twice, releases all at once and reads the answers.
func (p *phase) atOnce(ctx context.Context, orders []*prepared, kinds []Kind) {
	held := make([]*send.Held, len(orders))
	var holding, reading sync.WaitGroup
	for i, o := range orders {
		holding.Go(func() {
			var err error
			if held[i], err = p.sender.Hold(ctx, o.wire); err != nil {
				p.keep(o, p.failed(Call{Kind: kinds[i], Sent: time.Since(p.start)}, err))
			}
		})
	}
	holding.Wait()
	sent := make([]Call, len(orders))
	for i, o := range orders {
		if held[i] == nil {
			continue
		}
		sent[i] = Call{Kind: kinds[i], Sent: time.Since(p.start)}
		if err := held[i].Release(time.Duration(p.f.Timeout)); err != nil {
			p.keep(o, p.failed(sent[i], err))
			held[i].Close()
			held[i] = nil
		}
	}
	for i, o := range orders {
		if held[i] != nil {
			reading.Go(func() { p.answer(ctx, o, held[i], sent[i]) })
		}
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
			p.atOnce(ctx, []*prepared{o, o}, []Kind{First, Click})
		case way < 6:
			p.call(ctx, o, Lost)
			p.call(ctx, o, Repeat)
		case way < 8:
			p.call(ctx, o, First)
			p.call(ctx, o, Repeat)
		default:
			p.call(ctx, o, First)
		}
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
	return p.each(ctx, max(1, p.Clients/2), orders, func(ctx context.Context, o *prepared) { p.call(ctx, o, Late) })
}

// makeUp sends orders in the place of the ones that a kill took from a shop without keys, until one is rejected, more
// is accepted than there is, or some in a row have no known end.
func (p *phase) makeUp(ctx context.Context) error {
	accepted, silent := map[string]shop.Pieces{}, 0
	over := func(o *prepared) bool {
		if silent++; o.end() != shop.Unknown {
			silent = 0
		}
		for _, it := range o.Basket {
			if o.end() == shop.Accepted {
				accepted[it.Product] += it.Pieces
			}
			if accepted[it.Product] > p.stock[it.Product] {
				return true
			}
		}
		return o.end() == shop.Rejected
	}
	done := slices.ContainsFunc(p.orders, over)
	for silent = 0; !done && silent < hopeless && len(p.orders) < 2*p.planned; {
		orders, err := p.more(1)
		if err == nil {
			err = p.buyers(ctx, orders)
		}
		if err != nil {
			return err
		}
		if orders[0].wire != nil {
			p.call(ctx, orders[0], First)
		}
		done = over(orders[0])
	}
	return ctx.Err()
}

// tries bounds the calls of an order that did not reach the service.
const tries = 3

// killed kills the service twice in the middle, when a third and two thirds of the calls have been sent. At most a
// quarter of the orders are under way at a time, so that each kill finds orders which were acknowledged before. Orders
// without an answer are repeated once it serves again, if a repeat is the same order or the call did not reach the
// service; a shop without keys gets others in their place.
func (p *phase) killed(ctx context.Context) error {
	var (
		gate    sync.RWMutex // held while the service is down
		claimed atomic.Int64
		at      = make(chan struct{}, 2)
		ended   = make(chan struct{})
		killing = make(chan error, 1)
	)
	go func() { killing <- p.killer(ctx, &gate, at, ended) }()
	third := int64(max(1, len(p.orders)/3))
	clients := min(p.Clients, max(1, len(p.orders)/4))
	err := p.each(ctx, clients, p.orders, func(ctx context.Context, o *prepared) {
		for range tries {
			gate.RLock()
			gate.RUnlock() //nolint:staticcheck // it waits until the service serves
			if n := claimed.Add(1); n == third || n == 2*third {
				at <- struct{}{}
			}
			kind := First
			if len(o.Calls) > 0 {
				kind = Repeat
			}
			c := p.call(ctx, o, kind)
			if c.Failure == "" || !c.Unsent && p.f.Order.Repeats != "key" {
				return
			}
		}
	})
	close(ended)
	if failed := <-killing; failed != nil || err != nil {
		return errors.Join(failed, err)
	}
	if p.f.Order.Repeats != "key" {
		return p.makeUp(ctx)
	}
	return p.again(ctx, p.orders)
}

// killer kills the service and starts it again each time that at says so, until the load has ended.
func (p *phase) killer(ctx context.Context, gate *sync.RWMutex, at, ended <-chan struct{}) error {
	for {
		select {
		case <-ended:
			return nil
		case <-at:
		}
		err := func() error {
			gate.Lock()
			defer gate.Unlock()
			if err := p.bury(ctx); err != nil {
				return err
			}
			return errors.Join(p.service.kill(ctx), p.service.start(ctx))
		}()
		if err != nil {
			return err
		}
		p.kills++
	}
}
