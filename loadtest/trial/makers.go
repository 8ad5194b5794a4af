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

// New makes the action an act of a trial in the lab, whose services run. Arm returns an *httpapi.Problem if the action
// does not fit the lab or the state of its target.
func New(l *system.System, a Action) *Act {
	made := &Act{Do: func(context.Context) error { return a.Known() }}
	if k := kindOf(a.Action); k != nil {
		made = k.in(l, a)
	}
	made.Action = a
	return made
}

// deed is one way to break things: processes or connections. The functions but who and do may be nil.
type deed[T any] struct {
	// who finds the things, as the act is armed. None is an error.
	who func(ctx context.Context, l *system.System, a Action) ([]T, error)
	// do breaks them, and undo heals them. The act has struck once await returns.
	do, undo, await func(ctx context.Context, l *system.System, all []T) error
	// lasts reports whether one of them is still broken. Default: none outlasts do.
	lasts func(T) bool
	// struck counts how often one of them has been struck so far.
	struck func(T) int
}

// act makes it an act.
func (d deed[T]) act(l *system.System, a Action) *Act {
	var found []T
	made := &Act{
		find: func(ctx context.Context) error {
			all, err := d.who(ctx, l, a)
			if err != nil {
				return err
			}
			if found = all; len(found) == 0 {
				return conflict("%s: there is nothing to do it to", a.Words())
			}
			return nil
		},
		Do: func(ctx context.Context) error {
			err := d.do(ctx, l, found)
			if d.await != nil {
				err = errors.Join(err, d.await(ctx, l, found))
			}
			return err
		},
	}
	if d.undo != nil {
		made.Undo = func(ctx context.Context) error {
			if len(found) == 0 {
				return nil
			}
			return d.undo(ctx, l, found)
		}
	}
	if d.lasts != nil {
		made.On = func(context.Context) bool { return slices.ContainsFunc(found, d.lasts) }
	}
	if d.struck != nil {
		made.Count = func(context.Context) (n int, _ error) {
			for _, one := range found {
				n += d.struck(one)
			}
			return n, nil
		}
	}
	return made
}

// each does something to one thing after the other. All of them get it, also if it fails with some.
func each[T any](do func(context.Context, T) error) func(context.Context, *system.System, []T) error {
	return func(ctx context.Context, _ *system.System, all []T) error {
		var errs []error
		for _, one := range all {
			errs = append(errs, do(ctx, one))
		}
		return errors.Join(errs...)
	}
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
	all := func(l *system.System) []system.Process { return processes(l.Replicas()...) }
	return onProcess("replica", all, do, undo)
}

// onServer is onReplica for a server.
func onServer(do, undo func(context.Context, system.Process) error) maker {
	return onProcess("server", (*system.System).ServerProcesses, do, undo)
}

func onProcess(
	what string, all func(*system.System) []system.Process, do, undo func(context.Context, system.Process) error,
) maker {
	d := deed[system.Process]{
		who: func(_ context.Context, l *system.System, a Action) ([]system.Process, error) {
			return find(what, all(l), a.Target)
		},
		do: each(do),
	}
	if undo != nil {
		d.undo, d.lasts = each(undo), system.Away
	}
	return d.act
}

func kill(_ context.Context, p system.Process) error {
	if !p.Running() {
		return conflict("%s is dead already", p.Name())
	}
	return p.Kill()
}

// restartWithin is how long a restarted process may take to be ready. A replica never is while it is cut off from
// MySQL, and nothing else can be done until then.
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
	if !p.Paused() {
		return conflict("%s is not paused", p.Name())
	}
	return p.Resume()
}

func flushRedis(l *system.System, _ Action) *Act {
	return &Act{Do: func(ctx context.Context) error {
		_, err := l.FlushRedis(ctx)
		return err
	}}
}

// onWires does something to connections until they are mended.
func onWires(
	who func(context.Context, *system.System, Action) ([]*system.Wire, error), do func(*system.Wire) error,
) maker {
	return deed[*system.Wire]{
		who: who, do: each(func(_ context.Context, w *system.Wire) error { return do(w) }),
		undo:  each(func(ctx context.Context, w *system.Wire) error { return w.Mend(ctx) }),
		lasts: (*system.Wire).Broken, struck: (*system.Wire).Struck,
	}.act
}

// onWire does something to a replica's connections to a server.
func onWire(do func(*system.Wire) error) maker {
	return onWires(func(_ context.Context, l *system.System, a Action) ([]*system.Wire, error) {
		found, err := find("replica", l.Replicas(), a.Target)
		if err != nil {
			return nil, err
		}
		var wires []*system.Wire
		for _, replica := range found {
			of := replica.Wires[a.Wire]
			if len(of) == 0 {
				return nil, invalid("%s has no connection to %q", replica.Name(), a.Wire)
			}
			wires = append(wires, of...)
		}
		return wires, nil
	}, do)
}

func slow(w *system.Wire) error { return w.Slow(200 * time.Millisecond) }

// expireSessions counts expired sessions instead of lost data.
func expireSessions(l *system.System, a Action) *Act {
	act := onWires(func(context.Context, *system.System, Action) (wires []*system.Wire, _ error) {
		for _, r := range l.Replicas() {
			wires = append(wires, r.Wires[system.ToZooKeeper]...)
		}
		return wires, nil
	}, (*system.Wire).Cut)(l, a)
	act.Count = l.ExpiredSessions
	return act
}

// misleadLeader drops the replies of the stock services to the order service that reconciles, so that it leaves its
// orders unfinished.
var misleadLeader = onWires(func(_ context.Context, l *system.System, _ Action) ([]*system.Wire, error) {
	leader, err := leaderOf(l)
	if err != nil {
		return nil, err
	}
	return leader.Wires[system.ToStock], nil
}, (*system.Wire).LoseReplies)

// leaderOf returns the order service that was the last to lead, by the services' logs.
func leaderOf(l *system.System) (leader *system.Service, err error) {
	since := ""
	for _, r := range l.Orders {
		log, err := os.ReadFile(r.LogPath())
		if err != nil {
			return nil, fmt.Errorf("find the leader: %w", err)
		}
		for line := range bytes.Lines(log) {
			var entry struct{ Time, Msg string }
			if json.Unmarshal(line, &entry) == nil && entry.Msg == "leading" && entry.Time > since {
				leader, since = r, entry.Time
			}
		}
	}
	if leader == nil {
		return nil, errors.New("find the leader: no order service leads")
	}
	return leader, nil
}

// duplicate delivers each request twice.
var duplicate = deed[*system.Duplicator]{
	who: func(_ context.Context, l *system.System, _ Action) ([]*system.Duplicator, error) {
		return l.Duplicators, nil
	},
	do:    each(switched(true)),
	undo:  each(switched(false)),
	lasts: (*system.Duplicator).On, struck: (*system.Duplicator).Doubled,
}.act

func switched(on bool) func(context.Context, *system.Duplicator) error {
	return func(_ context.Context, d *system.Duplicator) error {
		d.Switch(on)
		return nil
	}
}

// keepFlushing keeps emptying Redis until it is healed, since one flush might fall between two flags. It counts the
// flushes that deleted something, and waits briefly for the first.
func keepFlushing(l *system.System, _ Action) *Act {
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
	}
}
