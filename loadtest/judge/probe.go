package judge

import (
	"context"
	"fmt"
	"time"

	"orderstock/loadtest/judge/shop"
)

// probe looks after the service once the orders are sent: if it has ended by itself, that is kept, and it is started
// again. Else it sends an order of each basket, one after another, for at most the time to settle, and ends at one that
// is not served. If the service fails at it, another one follows: a breaker may be open for a while.
func (p *phase) probe(ctx context.Context) error {
	if len(p.orders) == 0 {
		return nil
	}
	if err := p.bury(ctx); err != nil || len(p.deaths) > 0 {
		return err
	}
	deadline := time.Now().Add(time.Duration(p.f.Settle))
	for n, i := range p.draw.Perm(len(p.baskets)) {
		if n > 0 && !time.Now().Before(deadline) {
			break
		}
		if served, err := p.served(ctx, p.baskets[i:i+1], deadline); err != nil || !served {
			return err
		}
	}
	return nil
}

// served sends an order of one of the baskets, and others while the service fails at them, the last one after the
// deadline. It reports whether the last one was answered as one under answers.
func (p *phase) served(ctx context.Context, baskets [][]Item, deadline time.Time) (bool, error) {
	for pause := readEvery; ; pause *= 2 {
		drawn, err := p.more(1, baskets)
		if err != nil {
			return false, err
		}
		o, over := drawn[0], !time.Now().Before(deadline)
		o.Probe = true
		if err := p.buyer(ctx, o); err != nil {
			return false, err
		}
		if o.Request != nil {
			p.call(ctx, o, Probe)
			p.finish(ctx, o)
		}
		if o.end() != shop.Unknown || !o.unserved() || over {
			return o.end() != shop.Unknown, nil
		}
		select {
		case <-time.After(min(pause, time.Until(deadline))):
		case <-ctx.Done():
			return false, ctx.Err()
		}
	}
}

// bury keeps the death of a service that has ended by itself, and starts it again.
func (p *phase) bury(ctx context.Context) error {
	if p.service == nil {
		return nil
	}
	how, dead := p.service.died(ctx)
	if !dead {
		return nil
	}
	d := Death{
		Text:   fmt.Sprintf("the service ended by itself: %s, after %d orders were answered", how, p.answered()),
		Output: p.service.lastLines(ctx),
	}
	if err := p.service.start(ctx); err != nil {
		d.Text += fmt.Sprintf("; it could not be started again: %v", err)
	}
	p.deaths = append(p.deaths, d)
	return ctx.Err()
}

// answered counts the orders that have an answer.
func (p *phase) answered() (n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, o := range p.orders {
		if o.any(shop.Accepted) || o.any(shop.Rejected) || o.any(shop.Pending) {
			n++
		}
	}
	return n
}
