package faults

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"orderstock/loadtest/lab"
	"orderstock/loadtest/trial"
)

// surrounding is a fault around the system.
type surrounding struct {
	trial.Simple
	wires bool // it adds toxics to wires
}

// around returns the fault that do brings about and undo heals after hold.
func around(hold time.Duration, do, undo func(context.Context) error) *surrounding {
	return &surrounding{Simple: trial.Simple{Do: do, Undo: undo, For: hold}}
}

// counted returns the fault with what counts its strikes.
func (s *surrounding) counted(count func(context.Context) (int, error)) *surrounding {
	s.Count = count
	return s
}

// ofWires marks a fault that adds toxics to wires.
func (s *surrounding) ofWires() *surrounding {
	s.wires = true
	return s
}

func newSurrounding(l *lab.Lab, name string, rng *rand.Rand) trial.Act {
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
		return around(1500*time.Millisecond, func(context.Context) error { return l.Redis.Kill() }, l.Redis.Restart)
	case MySQLKilled:
		return around(300*time.Millisecond,
			func(ctx context.Context) error { return errors.Join(l.MySQL.Kill(), l.MySQL.Restart(ctx)) }, nil)
	case ZooKeeperRestarted:
		return around(300*time.Millisecond,
			func(ctx context.Context) error { return errors.Join(l.ZooKeeper.Kill(), l.ZooKeeper.Restart(ctx)) }, nil)
	case SessionsExpired:
		each := func(do func(w *lab.Wire) error) error {
			var errs []error
			for _, r := range l.Replicas() {
				errs = append(errs, r.EachWire(lab.ToZooKeeper, do))
			}
			return errors.Join(errs...)
		}
		return around(300*time.Millisecond,
			func(context.Context) error { return each((*lab.Wire).Cut) },
			func(ctx context.Context) error { return each(func(w *lab.Wire) error { return w.Mend(ctx) }) },
		).counted(l.ExpiredSessions)
	case ReplicaKilled:
		victims := []*lab.Replica{l.Orders[rng.IntN(len(l.Orders))], l.Stocks[rng.IntN(len(l.Stocks))]}
		return around(time.Second,
			func(context.Context) error { return errors.Join(victims[0].Kill(), victims[1].Kill()) },
			func(ctx context.Context) error {
				return errors.Join(restart(ctx, victims[0]), restart(ctx, victims[1]))
			})
	case NetworkSlow:
		return around(1500*time.Millisecond, func(ctx context.Context) error {
			return betweenServices(ctx, func(_ int, w *lab.Wire) error { return w.Slow(stockTimeout * 2 / 5) })
		}, mendServices).ofWires()
	case CutOneWay:
		// One order service cannot send, the other cannot receive.
		return around(1500*time.Millisecond, func(ctx context.Context) error {
			return betweenServices(ctx, func(order int, w *lab.Wire) error {
				if order == 0 {
					return w.LoseRequests()
				}
				return w.LoseReplies()
			})
		}, mendServices).ofWires()
	case Duplicated:
		turn := func(on bool) func(context.Context) error {
			return func(context.Context) error {
				for _, d := range l.Duplicators {
					d.Switch(on)
				}
				return nil
			}
		}
		return around(1500*time.Millisecond, turn(true), turn(false)).counted(func(context.Context) (int, error) {
			sum := 0
			for _, d := range l.Duplicators {
				sum += d.Doubled()
			}
			return sum, nil
		})
	}
	return around(0, func(context.Context) error { return fmt.Errorf("no such fault: %q", name) }, nil)
}

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

// Arm implements trial.Act.
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

// Fired implements trial.Act.
func (f *flushing) Fired(context.Context) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.count, nil
}

// Hold implements trial.Act.
func (f *flushing) Hold() time.Duration { return time.Second }

// Heal implements trial.Act.
func (f *flushing) Heal(context.Context) error {
	if f.stop != nil {
		f.stop()
	}
	f.busy.Wait()
	return nil
}
