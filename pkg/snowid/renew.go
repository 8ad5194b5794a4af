package snowid

import (
	"context"
	"errors"
	"time"

	"orderstock/pkg/retry"
)

// keep moves the mark on until ctx ends, and leases again when the lease is lost.
func (g *Generator) keep(ctx context.Context) {
	defer close(g.done)
	every := min(g.opts.reserve/3, 3*time.Second)
	wait := time.NewTimer(every)
	defer wait.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-wait.C:
		case <-g.wake:
		}
		if g.renew(ctx) {
			wait.Reset(every)
		} else {
			wait.Reset(every / 10)
		}
	}
}

// renew moves the mark on by one reserve, or leases again if there is no lease or
// the clock was set. It reports whether there is a lease with a new mark.
func (g *Generator) renew(ctx context.Context) bool {
	g.mu.Lock()
	if g.lease != nil && g.lease.drift(g.opts.now) != 0 {
		g.lease = nil
	}
	l := g.lease
	g.mu.Unlock()
	if l == nil {
		return g.leaseAgain(ctx) == nil
	}
	try, cancel := context.WithTimeout(ctx, min(g.opts.reserve, 10*time.Second))
	defer cancel()
	mark := l.clock() + g.opts.reserve.Milliseconds()
	version, err := g.registry.move(try, l, mark)
	if errors.Is(err, errLost) {
		// Until another number is leased, ids continue under this one: up to its mark they are nobody else's.
		return g.leaseAgain(ctx) == nil
	}
	if err != nil {
		return false
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	l.mark, l.version = mark, version
	return true
}

// untilLeased is the retry policy of a lease.
var untilLeased = retry.Policy{First: 50 * time.Millisecond, Max: 2 * time.Second}

// leaseAgain takes a number. It tries until ctx ends.
func (g *Generator) leaseAgain(ctx context.Context) error {
	var last error // the last that is not just the end of ctx
	l, err := retry.Do(ctx, untilLeased, func() (*lease, error) {
		l, err := g.registry.take(ctx, g.opts)
		if last == nil || ctx.Err() == nil {
			last = err
		}
		return l, err
	})
	if err != nil {
		return last
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.lease = l
	return nil
}
