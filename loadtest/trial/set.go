package trial

import (
	"context"
	"errors"
	"slices"
	"sync"

	"orderstock/loadtest/system"
)

// Set has the acts of a lab since its services were started. It is safe for concurrent use: one act is armed or healed
// at a time. Lab and the functions are set before its first use; the functions do not call the set.
type Set struct {
	Lab *system.System
	// SinceMS returns the milliseconds since the run began.
	SinceMS func() int64
	// Show is called with all strikes when one changes, and Say with a line for a log of events.
	Show func([]Shown)
	Say  func(kind, format string, args ...any)

	acting sync.Mutex // held while an act is armed or healed
	mu     sync.Mutex // guards what follows
	all    []*Armed
}

// Add returns an act as one of the set, to be armed. name describes it.
func (s *Set) Add(name Action, a Act) *Armed {
	shown := name
	if !name.atStep() {
		shown.Step = ""
	}
	return &Armed{
		set: s, name: name, act: a, over: make(chan struct{}),
		strike: Shown{What: shown.What(), Where: name.Target, Wire: name.Wire, Status: "armed"},
	}
}

// Heal ends every lasting act, and restarts dead processes. What cannot be healed is tried again the next time.
func (s *Set) Heal(ctx context.Context) error {
	s.acting.Lock()
	defer s.acting.Unlock()
	var all []*Armed
	s.change(func(int64) { all = slices.Clone(s.all) })
	// A replica is ready only once it reaches the servers.
	slices.SortStableFunc(all, func(a, b *Armed) int { return a.name.place() - b.name.place() })
	errs := []error{s.Lab.RepairServers(ctx)}
	for _, a := range all {
		errs = append(errs, a.heal(ctx))
	}
	err := errors.Join(append(errs, s.Lab.RepairReplicas(ctx))...) // a cell may have killed any
	if err != nil {
		s.Say("error", "not healed: %v", err)
	} else if len(all) > 0 {
		s.Say("fault", "healed: everything is whole again")
	}
	return err
}

// place is the place of an action in the order of healing: servers, connections, replicas.
func (a Action) place() int {
	k := kindOf(a.Action)
	switch {
	case k == nil || k.Target == OnReplica || k.Target == AtStep:
		return 2
	case k.Target == OnServer:
		return 0
	}
	return 1
}

// Alone calls do while no act is armed or healed.
func (s *Set) Alone(do func() error) error {
	s.acting.Lock()
	defer s.acting.Unlock()
	return do()
}

// Forget ends all acts without healing them, for a lab whose services are replaced.
func (s *Set) Forget() {
	s.change(func(now int64) {
		for _, a := range s.all {
			a.healed(now)
		}
		s.all = nil
	})
}

// Strikes returns all strikes.
func (s *Set) Strikes() []Shown {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.strikes()
}

// strikes is Strikes for a caller that holds mu.
func (s *Set) strikes() []Shown {
	all := make([]Shown, len(s.all))
	for i, a := range s.all {
		all[i] = a.strike
	}
	return all
}

// atStepOf describes an act that is armed at a step of the same replica, or of any, and is not healed.
func (s *Set) atStepOf(a *Armed) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, other := range s.all {
		if a.name.atStep() && other.name.atStep() && other.strike.Status != "healed" &&
			(other.strike.Where == a.name.Target || other.strike.Where == "") {
			return other.strike.What
		}
	}
	return ""
}

// change calls do, which may change strikes, and shows them.
func (s *Set) change(do func(now int64)) {
	now := s.SinceMS()
	s.mu.Lock()
	defer s.mu.Unlock()
	do(now)
	s.Show(s.strikes())
}
