package coordination

import (
	"context"
	"errors"
	"time"

	"orderstock/pkg/retry"
)

// keep leases a number, and moves its mark on, until ctx ends. It leases again when the lease is lost.
func (i *IDs) keep(ctx context.Context, in registry) {
	i.registry = in
	every := min(i.reserve/3, 3*time.Second)
	for {
		wait := every
		if !i.renew(ctx) {
			wait /= 10
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait):
		case <-i.wake:
		}
	}
}

// renew moves the mark on by one reserve, or leases again if there is no lease or the clock was set. It reports whether
// there is a lease with a new mark.
func (i *IDs) renew(ctx context.Context) bool {
	i.mu.Lock()
	if i.lease != nil && i.lease.drift(i.now) != 0 {
		i.lease = nil
	}
	l := i.lease
	i.mu.Unlock()
	if l == nil {
		return i.leaseAgain(ctx)
	}
	try, cancel := context.WithTimeout(ctx, min(i.reserve, 10*time.Second))
	defer cancel()
	mark := l.clock() + i.reserve.Milliseconds()
	version, err := i.registry.move(try, l, mark)
	if errors.Is(err, errLost) {
		// Until another number is leased, ids continue under this one: up to its old mark they are nobody else's.
		return i.leaseAgain(ctx)
	}
	if err != nil {
		return false
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	l.mark, l.version = mark, version
	return true
}

// leaseAgain takes a number. It tries until ctx ends, and reports whether it has one.
func (i *IDs) leaseAgain(ctx context.Context) bool {
	err := retry.Run(ctx, shortPauses, func() error {
		l, err := i.registry.take(ctx, i.numbers, i.reserve, i.now)
		i.mu.Lock()
		defer i.mu.Unlock()
		i.failed = err
		if err == nil {
			i.lease = l
			i.log.Info("ids leased", "node", l.number)
		}
		return err
	})
	return err == nil
}
