package act

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"orderstock/loadtest/faults/faultpoint"
	"orderstock/loadtest/system"
	"orderstock/loadtest/trial"
)

// New makes the action an act of a trial in the lab, whose services run. Arm returns a *problem.Problem if the action
// does not fit the lab or the state of its target.
func New(l *system.System, a Action) *trial.Simple {
	made, err := (*trial.Simple)(nil), a.Known()
	if err == nil {
		made, err = kindOf(a.Action).in(l, a)
	}
	if err != nil {
		return &trial.Simple{Do: func(context.Context) error { return err }}
	}
	return made
}

// find returns the process of that name.
func find[P system.Process](what string, all []P, name string) (p P, err error) {
	names := make([]string, len(all))
	for i, p := range all {
		if names[i] = p.Name(); names[i] == name {
			return p, nil
		}
	}
	return p, invalid("there is no %s %q; there are %s", what, name, strings.Join(names, ", "))
}

// onReplica does something to a replica and, if undo is not nil, undoes it.
func onReplica(do, undo func(context.Context, system.Process) error) maker {
	return func(l *system.System, a Action) (*trial.Simple, error) {
		r, err := find("replica", l.Replicas(), a.Target)
		return simple(r, do, undo), err
	}
}

// onServer is onReplica for a server.
func onServer(do, undo func(context.Context, system.Process) error) maker {
	return func(l *system.System, a Action) (*trial.Simple, error) {
		p, err := find("server", l.ServerProcesses(), a.Target)
		return simple(p, do, undo), err
	}
}

func simple(p system.Process, do, undo func(context.Context, system.Process) error) *trial.Simple {
	s := &trial.Simple{Do: func(ctx context.Context) error { return do(ctx, p) }}
	if undo != nil {
		s.Undo = func(ctx context.Context) error { return undo(ctx, p) }
	}
	return s
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

func flushRedis(l *system.System, _ Action) (*trial.Simple, error) {
	return &trial.Simple{Do: func(ctx context.Context) error {
		_, err := l.FlushRedis(ctx)
		return err
	}}, nil
}

func expireSessions(l *system.System, _ Action) (*trial.Simple, error) {
	each := func(do func(*system.Wire) error) error {
		var errs []error
		for _, r := range l.Replicas() {
			errs = append(errs, r.EachWire(system.ToZooKeeper, do))
		}
		return errors.Join(errs...)
	}
	return &trial.Simple{
		Do:    func(context.Context) error { return each((*system.Wire).Cut) },
		Undo:  func(ctx context.Context) error { return each(mend(ctx)) },
		Count: l.ExpiredSessions,
	}, nil
}

func duplicate(l *system.System, _ Action) (*trial.Simple, error) {
	turn := func(on bool) func(context.Context) error {
		return func(context.Context) error {
			for _, d := range l.Duplicators {
				d.Switch(on)
			}
			return nil
		}
	}
	return &trial.Simple{Do: turn(true), Undo: turn(false), Count: func(context.Context) (n int, _ error) {
		for _, d := range l.Duplicators {
			n += d.Doubled()
		}
		return n, nil
	}}, nil
}

func slow(w *system.Wire) error { return w.Slow(200 * time.Millisecond) }

func mend(ctx context.Context) func(*system.Wire) error {
	return func(w *system.Wire) error { return w.Mend(ctx) }
}

// onWire does something to a replica's connections to a server.
func onWire(do func(*system.Wire) error) maker {
	return func(l *system.System, a Action) (*trial.Simple, error) {
		r, err := find("replica", l.Replicas(), a.Target)
		if err != nil {
			return nil, err
		}
		if len(r.Wires[a.Wire]) == 0 {
			return nil, invalid("%s has no connection to %q", a.Target, a.Wire)
		}
		return &trial.Simple{
			Do:   func(context.Context) error { return r.EachWire(a.Wire, do) },
			Undo: func(ctx context.Context) error { return r.EachWire(a.Wire, mend(ctx)) },
			Count: func(context.Context) (n int, _ error) {
				for _, w := range r.Wires[a.Wire] {
					n += w.Struck()
				}
				return n, nil
			},
		}, nil
	}
}

// armed strikes at a step in a replica.
func armed(l *system.System, a Action) (*trial.Simple, error) {
	r, err := find("replica", l.Replicas(), a.Target)
	if err != nil {
		return nil, err
	}
	rule := Rule(a.Action, faultpoint.When(a.When), faultpoint.Step(a.Step))
	if !slices.Contains(faultpoint.Steps, rule.Step) {
		return nil, invalid("there is no step %q", a.Step)
	}
	if !slices.Contains(Whens, rule.When) {
		return nil, invalid("when %q: want before or after", a.When)
	}
	return &trial.Simple{
		Do:    func(ctx context.Context) error { return r.Arm(ctx, rule) },
		Undo:  func(ctx context.Context) error { return system.Repair(ctx, r) },
		Count: func(context.Context) (int, error) { return l.Fired(rule) },
	}, nil
}
