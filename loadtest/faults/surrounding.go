package faults

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"orderstock/loadtest/lab"
)

// surrounding is a fault around the system, made of functions that break it, mend it, and count the strikes. If count
// is nil, the fault has struck when strike returns.
type surrounding struct {
	wires  bool // adds toxics to wires
	strike func(ctx context.Context) error
	mend   func(ctx context.Context) error
	count  func(ctx context.Context) (int, error)
	hold   time.Duration

	struck, before int
}

func newSurrounding(l *lab.Lab, name string, rng *rand.Rand) Fault {
	nothing := func(context.Context) error { return nil }
	betweenServices := func(ctx context.Context, do func(order int, w *lab.Wire) error) error {
		var errs []error
		for i, r := range l.Orders {
			errs = append(errs, r.EachWire(lab.ToStock, func(w *lab.Wire) error { return do(i, w) }))
		}
		return errors.Join(errs...)
	}
	mendServices := func(ctx context.Context) error {
		return betweenServices(ctx, func(_ int, w *lab.Wire) error { return w.Mend(ctx) })
	}
	switch name {
	case RedisFlushed:
		return newFlushing(l)
	case RedisDown:
		return &surrounding{
			strike: func(context.Context) error { return l.Redis.Kill() },
			mend:   l.Redis.Restart, hold: 1500 * time.Millisecond,
		}
	case MySQLKilled:
		return &surrounding{
			strike: func(ctx context.Context) error { return errors.Join(l.MySQL.Kill(), l.MySQL.Restart(ctx)) },
			mend:   nothing, hold: 300 * time.Millisecond,
		}
	case ZooKeeperRestarted:
		return &surrounding{
			strike: func(ctx context.Context) error { return errors.Join(l.ZooKeeper.Kill(), l.ZooKeeper.Restart(ctx)) },
			mend:   nothing, hold: 300 * time.Millisecond,
		}
	case SessionsExpired:
		each := func(do func(w *lab.Wire) error) error {
			var errs []error
			for _, r := range l.Replicas() {
				errs = append(errs, r.EachWire(lab.ToZooKeeper, do))
			}
			return errors.Join(errs...)
		}
		return &surrounding{
			strike: func(context.Context) error { return each((*lab.Wire).Cut) },
			mend:   func(ctx context.Context) error { return each(func(w *lab.Wire) error { return w.Mend(ctx) }) },
			count:  l.ExpiredSessions, hold: 300 * time.Millisecond,
		}
	case ReplicaKilled:
		victims := []*lab.Replica{l.Orders[rng.IntN(len(l.Orders))], l.Stocks[rng.IntN(len(l.Stocks))]}
		return &surrounding{
			strike: func(context.Context) error { return errors.Join(victims[0].Kill(), victims[1].Kill()) },
			mend: func(ctx context.Context) error {
				return errors.Join(restart(ctx, victims[0]), restart(ctx, victims[1]))
			},
			hold: time.Second,
		}
	case NetworkSlow:
		return &surrounding{
			strike: func(ctx context.Context) error {
				return betweenServices(ctx, func(_ int, w *lab.Wire) error { return w.Slow(stockTimeout * 2 / 5) })
			},
			mend: mendServices, hold: 1500 * time.Millisecond, wires: true,
		}
	case CutOneWay:
		// One order service cannot send, the other cannot receive.
		return &surrounding{
			strike: func(ctx context.Context) error {
				return betweenServices(ctx, func(order int, w *lab.Wire) error {
					if order == 0 {
						return w.LoseRequests()
					}
					return w.LoseReplies()
				})
			},
			mend: mendServices, hold: 1500 * time.Millisecond, wires: true,
		}
	case Duplicated:
		turn := func(on bool) func(context.Context) error {
			return func(context.Context) error {
				for _, d := range l.Duplicators {
					d.Switch(on)
				}
				return nil
			}
		}
		return &surrounding{
			strike: turn(true), mend: turn(false), hold: 1500 * time.Millisecond,
			count: func(context.Context) (int, error) {
				sum := 0
				for _, d := range l.Duplicators {
					sum += d.Doubled()
				}
				return sum, nil
			},
		}
	}
	return &surrounding{
		strike: func(context.Context) error { return fmt.Errorf("no such fault: %q", name) },
		mend:   nothing,
	}
}

// Arm implements Fault.
func (s *surrounding) Arm(ctx context.Context) error {
	if err := s.countBefore(ctx); err != nil {
		return err
	}
	if err := s.strike(ctx); err != nil {
		return err
	}
	s.struck = 1
	return nil
}

// countBefore takes the initial count. The counting server may be restarting just then, by another fault.
func (s *surrounding) countBefore(ctx context.Context) (err error) {
	if s.count == nil {
		return nil
	}
	for range 50 {
		if s.before, err = s.count(ctx); err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(100 * time.Millisecond):
		}
	}
	return err
}

// Fired implements Fault.
func (s *surrounding) Fired(ctx context.Context) (int, error) {
	if s.count == nil {
		return s.struck, nil
	}
	n, err := s.count(ctx)
	if n < s.before {
		s.before = 0 // the counting server was restarted since
	}
	return n - s.before, err
}

// Hold implements Fault.
func (s *surrounding) Hold() time.Duration { return s.hold }

// Heal implements Fault.
func (s *surrounding) Heal(ctx context.Context) error { return s.mend(ctx) }

// flushing keeps emptying Redis until it is healed, since one flush might fall between two flags. It counts the flushes
// that deleted something.
type flushing struct {
	lab  *lab.Lab
	stop context.CancelFunc
	busy sync.WaitGroup

	mu    sync.Mutex
	count int
}

func newFlushing(l *lab.Lab) *flushing { return &flushing{lab: l} }

// Arm implements Fault.
func (f *flushing) Arm(ctx context.Context) error {
	ctx, f.stop = context.WithCancel(ctx)
	f.busy.Go(func() {
		for ctx.Err() == nil {
			if n, err := f.lab.FlushRedis(ctx); err == nil && n > 0 { // an error: Redis is down as well
				f.mu.Lock()
				f.count++
				f.mu.Unlock()
			}
			select {
			case <-ctx.Done():
			case <-time.After(5 * time.Millisecond):
			}
		}
	})
	return f.awaitFirst(ctx)
}

// awaitFirst waits briefly for a flush that deletes something.
func (f *flushing) awaitFirst(ctx context.Context) error {
	for range 100 {
		if n, err := f.Fired(ctx); err != nil || n > 0 {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(5 * time.Millisecond):
		}
	}
	return nil
}

// Fired implements Fault.
func (f *flushing) Fired(context.Context) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.count, nil
}

// Hold implements Fault.
func (f *flushing) Hold() time.Duration { return time.Second }

// Heal implements Fault.
func (f *flushing) Heal(context.Context) error {
	if f.stop != nil {
		f.stop()
	}
	f.busy.Wait()
	return nil
}
