package trial

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"orderstock/loadtest/system"
)

// Shown describes an act of a Set to a page. Times are in milliseconds since the run began; 0 means not yet.
type Shown struct {
	ID       string `json:"id"`
	What     string `json:"what"`
	Where    string `json:"where"`          // a replica or a server; "" if it is not known or there is none
	Wire     string `json:"wire,omitempty"` // where the connection leads to that is struck
	Status   string `json:"status"`         // armed, fired or healed
	Fired    int    `json:"fired"`
	Counted  bool   `json:"counted"` // Fired is a count; otherwise it only shows whether it struck
	ArmedMS  int64  `json:"armed_ms"`
	FiredMS  int64  `json:"fired_ms,omitempty"`
	HealedMS int64  `json:"healed_ms,omitempty"`
}

func (s Shown) String() string { return strings.TrimSpace(s.What + " " + s.Where) }

// Armed is an act of a Set. It implements Act: Arm adds it to the set, Fired notes its strikes, and Heal does
// nothing if the set has healed it.
type Armed struct {
	set    *Set
	name   Action
	act    Act
	over   chan struct{} // closed when it is healed
	strike Shown         // guarded by set.mu
}

// Arm implements Act. It refuses a second act at a step of one replica, which keeps only one rule.
func (a *Armed) Arm(ctx context.Context) error {
	s := a.set
	s.acting.Lock()
	defer s.acting.Unlock()
	if other := s.atStepOf(a); other != "" {
		return conflict("a fault is armed already: %s; a replica keeps one, so heal first", other)
	}
	s.change(func(now int64) {
		a.strike.ID, a.strike.ArmedMS = strconv.Itoa(len(s.all)+1), now
		s.all = append(s.all, a)
	})
	if err := a.act.Arm(ctx); err != nil {
		s.change(func(int64) { s.all = slices.DeleteFunc(s.all, func(other *Armed) bool { return other == a }) })
		return err
	}
	text, counted, lasts := "", true, true // a cell
	if one, ok := a.act.(*Simple); ok {
		counted, lasts = one.Count != nil, one.Undo != nil
	}
	s.change(func(now int64) {
		if a.strike.Counted = counted; counted {
			text = "armed: "
		} else {
			a.fired(now, 1)
		}
		if !lasts {
			a.healed(now)
		}
		for _, other := range s.all {
			if a.ends(other) {
				other.healed(now)
			}
		}
	})
	s.Say("fault", "%s%s", text, a.name.Words())
	return nil
}

// ends reports whether it ends another act at the same process: a restart ends everything but the faults of
// connections, and a process that was resumed is no longer paused.
func (a *Armed) ends(other *Armed) bool {
	if a.name.Target == "" || other.name.Target != a.name.Target {
		return false
	}
	switch a.name.Action {
	case "restart", "restart-server":
		return other.name.Wire == ""
	case "resume":
		return other.name.Action == "pause" || other.name.Action == "arm-pause" && other.strike.Fired > 0
	}
	return false
}

// Fired implements Act.
func (a *Armed) Fired(ctx context.Context) (int, error) {
	n, err := a.act.Fired(ctx)
	if err != nil || n == 0 {
		return n, err
	}
	first := false
	a.set.change(func(now int64) { first = a.fired(now, n) })
	if first {
		a.set.Say("fault", "fired: %s %s", a.strike.What, a.strike.Where)
	}
	return n, nil
}

// fired notes that it has struck n times, and returns true if it had not before; set.mu is held.
func (a *Armed) fired(now int64, n int) (first bool) {
	k := &a.strike
	if first = k.Fired == 0; first {
		k.FiredMS = now
		if k.Status == "armed" {
			k.Status = "fired"
		}
		if k.Where == "" && a.name.atStep() { // it could strike any
			k.Where = away(a.set.Lab)
		}
	}
	k.Fired = max(k.Fired, n)
	return first
}

// away returns the first replica that is dead or paused, or "".
func away(l *system.System) string {
	for _, r := range l.Replicas() {
		if !r.Running() || system.Paused(r) {
			return r.Name()
		}
	}
	return ""
}

// Watch counts its strikes until it is healed or ctx ends.
func (a *Armed) Watch(ctx context.Context) {
	for a.strike.Counted {
		select {
		case <-ctx.Done():
			return
		case <-a.over:
			return
		case <-time.After(125 * time.Millisecond):
		}
		limited, cancel := context.WithTimeout(ctx, 2*time.Second)
		_, _ = a.Fired(limited) // the server that counts may be away
		cancel()
	}
}

// Words describes it for a log.
func (a *Armed) Words() string { return a.name.Words() }

// Over is closed when it is healed.
func (a *Armed) Over() <-chan struct{} { return a.over }

// Hold implements Act.
func (a *Armed) Hold() time.Duration { return a.act.Hold() }

// Heal implements Act.
func (a *Armed) Heal(ctx context.Context) error {
	return a.set.Alone(func() error { return a.heal(ctx) })
}

// heal is Heal for a caller that holds set.acting.
func (a *Armed) heal(ctx context.Context) error {
	select {
	case <-a.over:
		return nil
	default:
	}
	err := a.act.Heal(ctx)
	a.set.change(func(now int64) {
		if err != nil {
			err = fmt.Errorf("%s: %w", a.strike, err)
		} else {
			a.healed(now)
		}
	})
	return err
}

// healed notes that it is healed, unless that is known; set.mu is held.
func (a *Armed) healed(now int64) {
	if a.strike.Status != "healed" {
		a.strike.Status, a.strike.HealedMS = "healed", now
		close(a.over)
	}
}
