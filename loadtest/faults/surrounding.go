package faults

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"orderstock/loadtest/act"
	"orderstock/loadtest/lab"
	"orderstock/loadtest/trial"
)

// surrounding is a fault around the system: one or several acts, which are armed and healed one after the other.
type surrounding struct {
	trial.Simple
	acts []*act.Act
}

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
		{Action: "slow", Target: "order-1", Wire: lab.ToStock}, {Action: "slow", Target: "order-2", Wire: lab.ToStock},
	}},
	CutOneWay: {1500 * time.Millisecond, []act.Action{ // one order service cannot send, the other cannot receive
		{Action: "lose-requests", Target: "order-1", Wire: lab.ToStock},
		{Action: "lose-replies", Target: "order-2", Wire: lab.ToStock},
	}},
	Duplicated: {1500 * time.Millisecond, []act.Action{{Action: "duplicate"}}},
}

// newSurrounding returns the fault around the system of that name.
func newSurrounding(l *lab.Lab, name string, rng *rand.Rand) trial.Act {
	if name == RedisFlushed {
		return &flushing{lab: l}
	}
	s := &surrounding{}
	for _, a := range around[name].acts {
		if name == ReplicaKilled {
			a.Target = fmt.Sprintf(a.Target, 1+rng.IntN(2))
		}
		s.acts = append(s.acts, act.New(l, a, 0))
	}
	each := func(do func(*act.Act, context.Context) error) func(context.Context) error {
		return func(ctx context.Context) (err error) {
			for _, a := range s.acts {
				err = errors.Join(err, do(a, ctx))
			}
			return err
		}
	}
	s.Do, s.Undo, s.For = each((*act.Act).Arm), each((*act.Act).Heal), around[name].hold
	return s
}

// Fired implements trial.Act. Several acts are one strike.
func (s *surrounding) Fired(ctx context.Context) (fired int, err error) {
	for _, a := range s.acts {
		n, err := a.Fired(ctx)
		if err != nil || len(s.acts) == 1 {
			return n, err
		}
		fired = max(fired, min(n, 1))
	}
	return fired, nil
}

// flushing keeps emptying Redis until it is healed, since one flush might fall between two flags. It counts the flushes
// that deleted something.
type flushing struct {
	lab   *lab.Lab
	stop  context.CancelFunc
	busy  sync.WaitGroup
	count atomic.Int32
}

// Arm implements trial.Act. It waits briefly for a flush that deletes something.
func (f *flushing) Arm(ctx context.Context) error {
	flushing, stop := context.WithCancel(ctx)
	f.stop = stop
	f.busy.Go(func() {
		for flushing.Err() == nil {
			if n, err := f.lab.FlushRedis(flushing); err == nil && n > 0 { // an error: Redis is down as well
				f.count.Add(1)
			}
			_ = trial.Sleep(flushing, 5*time.Millisecond)
		}
	})
	for range 100 {
		if f.count.Load() > 0 {
			break
		}
		if err := trial.Sleep(ctx, 5*time.Millisecond); err != nil {
			return err
		}
	}
	return nil
}

// Fired implements trial.Act.
func (f *flushing) Fired(context.Context) (int, error) { return int(f.count.Load()), nil }

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
