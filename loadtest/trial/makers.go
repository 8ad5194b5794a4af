package trial

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"orderstock/loadtest/system"
)

// New makes the action an act of a trial in the lab, whose services run. Arm returns a *problem.Problem if the action
// does not fit the lab or the state of its target.
func New(l *system.System, a Action) *Act {
	made, err := (*Act)(nil), a.Known()
	if err == nil {
		made, err = kindOf(a.Action).in(l, a)
	}
	if err != nil {
		made = &Act{Do: func(context.Context) error { return err }}
	}
	made.Action = a
	return made
}

// find returns the process of that name, or all whose names begin as one that ends in Every.
func find[P system.Process](what string, all []P, name string) (found []P, err error) {
	names := make([]string, len(all))
	begin, every := strings.CutSuffix(name, Every)
	for i, p := range all {
		if names[i] = p.Name(); names[i] == name || every && strings.HasPrefix(names[i], begin) {
			found = append(found, p)
		}
	}
	if len(found) == 0 {
		return nil, invalid("there is no %s %q; there are %s", what, name, strings.Join(names, ", "))
	}
	return found, nil
}

// onReplica does something to replicas and, if undo is not nil, undoes it.
func onReplica(do, undo func(context.Context, system.Process) error) maker {
	return func(l *system.System, a Action) (*Act, error) {
		found, err := find("replica", l.Replicas(), a.Target)
		return simple(found, do, undo), err
	}
}

// onServer is onReplica for a server.
func onServer(do, undo func(context.Context, system.Process) error) maker {
	return func(l *system.System, a Action) (*Act, error) {
		found, err := find("server", l.ServerProcesses(), a.Target)
		return simple(found, do, undo), err
	}
}

func simple[P system.Process](all []P, do, undo func(context.Context, system.Process) error) *Act {
	each := func(do func(context.Context, system.Process) error) func(context.Context) error {
		if do == nil {
			return nil
		}
		return func(ctx context.Context) error {
			var errs []error
			for _, p := range all {
				errs = append(errs, do(ctx, p))
			}
			return errors.Join(errs...)
		}
	}
	act := &Act{Do: each(do), Undo: each(undo)}
	if undo != nil {
		act.On = func(context.Context) bool {
			return slices.ContainsFunc(all, func(p P) bool { return system.Away(p) })
		}
	}
	return act
}

func kill(_ context.Context, p system.Process) error {
	if !p.Running() {
		return conflict("%s is dead already", p.Name())
	}
	return p.Kill()
}

// restartWithin is how long a restarted replica may take to be ready. It never is while it is cut off from MySQL, and
// nothing else can be done until then.
const restartWithin = 15 * time.Second

func restart(ctx context.Context, p system.Process) error {
	ctx, cancel := context.WithTimeout(ctx, restartWithin)
	defer cancel()
	return p.Restart(ctx)
}

func killAndRestart(ctx context.Context, p system.Process) error {
	return errors.Join(p.Kill(), p.Restart(ctx))
}

func stopAndStart(ctx context.Context, p system.Process) error { return p.Restart(ctx) }

func pause(_ context.Context, p system.Process) error {
	if !p.Running() {
		return conflict("%s is dead", p.Name())
	}
	return p.Pause()
}

func resume(_ context.Context, p system.Process) error {
	if !system.Paused(p) {
		return conflict("%s is not paused", p.Name())
	}
	return p.Resume()
}

func flushRedis(l *system.System, _ Action) (*Act, error) {
	return &Act{Do: func(ctx context.Context) error {
		_, err := l.FlushRedis(ctx)
		return err
	}}, nil
}

func expireSessions(l *system.System, _ Action) (*Act, error) {
	var wires []*system.Wire
	for _, r := range l.Replicas() {
		wires = append(wires, r.Wires[system.ToZooKeeper]...)
	}
	act := toWires(wires, (*system.Wire).Cut)
	act.Count = l.ExpiredSessions
	return act, nil
}

// toWires does something to wires until they are mended.
func toWires(wires []*system.Wire, do func(*system.Wire) error) *Act {
	each := func(do func(*system.Wire) error) error {
		var errs []error
		for _, w := range wires {
			errs = append(errs, do(w))
		}
		return errors.Join(errs...)
	}
	return &Act{
		Do:   func(context.Context) error { return each(do) },
		Undo: func(ctx context.Context) error { return each(func(w *system.Wire) error { return w.Mend(ctx) }) },
		On:   func(context.Context) bool { return slices.ContainsFunc(wires, (*system.Wire).Broken) },
		Count: func(context.Context) (n int, _ error) {
			for _, w := range wires {
				n += w.Struck()
			}
			return n, nil
		},
	}
}

func duplicate(l *system.System, _ Action) (*Act, error) {
	turn := func(on bool) func(context.Context) error {
		return func(context.Context) error {
			for _, d := range l.Duplicators {
				d.Switch(on)
			}
			return nil
		}
	}
	return &Act{
		Do: turn(true), Undo: turn(false),
		On: func(context.Context) bool { return slices.ContainsFunc(l.Duplicators, (*system.Duplicator).On) },
		Count: func(context.Context) (n int, _ error) {
			for _, d := range l.Duplicators {
				n += d.Doubled()
			}
			return n, nil
		},
	}, nil
}

func slow(w *system.Wire) error { return w.Slow(200 * time.Millisecond) }

// onWire does something to a replica's connections to a server.
func onWire(do func(*system.Wire) error) maker {
	return func(l *system.System, a Action) (*Act, error) {
		found, err := find("replica", l.Replicas(), a.Target)
		if err != nil {
			return nil, err
		}
		wires := found[0].Wires[a.Wire]
		if len(wires) == 0 {
			return nil, invalid("%s has no connection to %q", a.Target, a.Wire)
		}
		return toWires(wires, do), nil
	}
}

// keepFlushing keeps emptying Redis until it is healed, since one flush might fall between two flags. It counts the
// flushes that deleted something, and waits briefly for the first.
func keepFlushing(l *system.System, _ Action) (*Act, error) {
	var (
		count atomic.Int32
		on    atomic.Bool
		stop  = func() {}
	)
	return &Act{
		Do: func(ctx context.Context) error {
			on.Store(true)
			stop = repeatedly(ctx, 5*time.Millisecond, func(ctx context.Context) {
				if n, err := l.FlushRedis(ctx); err == nil && n > 0 { // an error: Redis is down as well
					count.Add(1)
				}
			})
			var err error
			for i := 0; i < 100 && count.Load() == 0 && err == nil; i++ {
				err = Sleep(ctx, 5*time.Millisecond)
			}
			return err
		},
		Undo: func(context.Context) error {
			stop()
			on.Store(false)
			return nil
		},
		On:    func(context.Context) bool { return on.Load() },
		Count: func(context.Context) (int, error) { return int(count.Load()), nil },
	}, nil
}

// misleadLeader drops the replies of the stock services to the order service that reconciles, so that it leaves its
// orders unfinished.
func misleadLeader(l *system.System, a Action) (*Act, error) {
	cut := &Act{} // until the leader is known
	return &Act{
		Do: func(ctx context.Context) error {
			leader, err := leaderOf(l)
			if err != nil {
				return err
			}
			a.Target, a.Wire = leader, system.ToStock
			if cut, err = onWire((*system.Wire).LoseReplies)(l, a); err != nil {
				return err
			}
			return cut.Arm(ctx)
		},
		Undo:  func(ctx context.Context) error { return cut.Heal(ctx) },
		On:    func(ctx context.Context) bool { return cut.On != nil && cut.On(ctx) },
		Count: func(ctx context.Context) (int, error) { return cut.strikes(ctx) },
	}, nil
}

// leaderOf returns the name of the order service that was the last to lead, by the services' logs.
func leaderOf(l *system.System) (leader string, err error) {
	since := ""
	for _, r := range l.Orders {
		log, err := os.ReadFile(r.LogPath())
		if err != nil {
			return "", fmt.Errorf("find the leader: %w", err)
		}
		for line := range bytes.Lines(log) {
			var entry struct{ Time, Msg string }
			if json.Unmarshal(line, &entry) == nil && entry.Msg == "leading" && entry.Time > since {
				leader, since = r.Name(), entry.Time
			}
		}
	}
	if leader == "" {
		return "", errors.New("find the leader: no order service leads")
	}
	return leader, nil
}
