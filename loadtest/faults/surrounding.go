package faults

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"orderstock/loadtest/act"
	"orderstock/loadtest/system"
	"orderstock/loadtest/trial"
)

// around lists the acts of the faults around the system, and how long each fault lasts.
var around = map[string]struct {
	hold time.Duration
	acts []act.Action
}{
	RedisDown:          {1500 * time.Millisecond, []act.Action{{Action: "kill-server", Target: "redis"}}},
	MySQLKilled:        {300 * time.Millisecond, []act.Action{{Action: "restart-server", Target: "mysql"}}},
	ZooKeeperRestarted: {300 * time.Millisecond, []act.Action{{Action: "restart-server", Target: "zookeeper"}}},
	SessionsExpired:    {300 * time.Millisecond, []act.Action{{Action: "expire-sessions"}}},
	ReplicaKilled: {time.Second, []act.Action{
		{Action: "kill", Target: "order-%d"}, {Action: "kill", Target: "stock-%d"}, // any
	}},
	NetworkSlow: {1500 * time.Millisecond, []act.Action{
		{Action: "slow", Target: "order-1", Wire: system.ToStock}, {Action: "slow", Target: "order-2", Wire: system.ToStock},
	}},
	CutOneWay: {1500 * time.Millisecond, []act.Action{ // one order service cannot send, the other cannot receive
		{Action: "lose-requests", Target: "order-1", Wire: system.ToStock},
		{Action: "lose-replies", Target: "order-2", Wire: system.ToStock},
	}},
	Duplicated: {1500 * time.Millisecond, []act.Action{{Action: "duplicate"}}},
}

// together is one or two faults around the system, each of one or several acts. The acts of first are armed first, one
// by one, and the others all at once, since some take as long as a server's restart.
type together struct {
	faults      [][]*trial.Simple
	first, rest []*trial.Simple
}

// add adds the fault around the system of that name. Flushes go first: they delete flags of orders that the other
// faults hold up. Faults of wires go first too, one by one: adding a toxic to a connection while another fault closes
// it can block forever.
func (t *together) add(l *system.System, name string, rng *rand.Rand) {
	var acts []*trial.Simple
	if name == RedisFlushed {
		acts = append(acts, flushing(l))
		t.first = append(t.first, acts...)
	}
	for _, a := range around[name].acts {
		if name == ReplicaKilled {
			a.Target = fmt.Sprintf(a.Target, 1+rng.IntN(2))
		}
		made := act.New(l, a)
		if made.For = around[name].hold; a.Wire != "" {
			t.first = append(t.first, made)
		} else {
			t.rest = append(t.rest, made)
		}
		acts = append(acts, made)
	}
	t.faults = append(t.faults, acts)
}

// Arm implements trial.Act.
func (t *together) Arm(ctx context.Context) error {
	for _, f := range t.first {
		if err := f.Arm(ctx); err != nil {
			return err
		}
	}
	return atOnce(t.rest, func(f *trial.Simple) error { return f.Arm(ctx) })
}

// Fired implements trial.Act. It is 0 until each fault has struck, and then the smallest of their counts. A fault has
// struck as often as its act that struck most: a replica that is killed does not use its wire.
func (t *together) Fired(ctx context.Context) (least int, err error) {
	for i, acts := range t.faults {
		most := 0
		for _, a := range acts {
			n, err := a.Fired(ctx)
			if err != nil {
				return 0, err
			}
			most = max(most, n)
		}
		if i == 0 || most < least {
			least = most
		}
	}
	return least, nil
}

// Hold implements trial.Act.
func (t *together) Hold() (longest time.Duration) {
	for _, f := range slices.Concat(t.faults...) {
		longest = max(longest, f.For)
	}
	return longest
}

// Heal implements trial.Act. It heals all at once, since a replica becomes ready only once its servers are back.
func (t *together) Heal(ctx context.Context) error {
	return atOnce(slices.Concat(t.faults...), func(f *trial.Simple) error { return f.Heal(ctx) })
}

func atOnce[T any](all []T, do func(T) error) error {
	errs := make([]error, len(all))
	var doing sync.WaitGroup
	for i, one := range all {
		doing.Go(func() { errs[i] = do(one) })
	}
	doing.Wait()
	return errors.Join(errs...)
}

// flushing keeps emptying Redis until it is healed, since one flush might fall between two flags. It counts the flushes
// that deleted something, and waits briefly for the first.
func flushing(l *system.System) *trial.Simple {
	var (
		count atomic.Int32
		busy  sync.WaitGroup
		stop  = func() {}
	)
	return &trial.Simple{
		For: time.Second,
		Do: func(ctx context.Context) error {
			flushing, cancel := context.WithCancel(ctx)
			stop = func() {
				cancel()
				busy.Wait()
			}
			busy.Go(func() {
				for flushing.Err() == nil {
					if n, err := l.FlushRedis(flushing); err == nil && n > 0 { // an error: Redis is down as well
						count.Add(1)
					}
					_ = trial.Sleep(flushing, 5*time.Millisecond)
				}
			})
			var err error
			for i := 0; i < 100 && count.Load() == 0 && err == nil; i++ {
				err = trial.Sleep(ctx, 5*time.Millisecond)
			}
			return err
		},
		Undo: func(context.Context) error {
			stop()
			return nil
		},
		Count: func(context.Context) (int, error) { return int(count.Load()), nil },
	}
}
