package trial_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"orderstock/loadtest/system"
	"orderstock/loadtest/system/systemtest"
	"orderstock/loadtest/trial"
)

// idle is a set of a lab whose servers only sleep, and that has no services. said gets the log.
func idle(t *testing.T) (s *trial.Set, said *[]string) {
	t.Helper()
	said = &[]string{}
	return &trial.Set{
		Lab: systemtest.Idle(t), SinceMS: func() int64 { return 1 }, Show: func([]trial.Shown) {},
		Say: func(kind, format string, args ...any) {
			*said = append(*said, kind+": "+fmt.Sprintf(format, args...))
		},
	}, said
}

func arm(t *testing.T, s *trial.Set, a trial.Action) error {
	t.Helper()
	return s.Add(a, trial.New(s.Lab, a)).Arm(t.Context())
}

// statuses returns the strikes with their statuses.
func statuses(s *trial.Set) (all []string) {
	for _, k := range s.Strikes() {
		all = append(all, k.String()+" "+k.Status)
	}
	return all
}

// A restart ends the faults of its process, and Heal the rest.
func TestRestartEndsFaultsOfItsProcess(t *testing.T) {
	s, said := idle(t)
	for _, a := range []trial.Action{
		{Action: "kill-server", Target: "redis"},
		{Action: "pause-server", Target: "mysql"},
		{Action: "restart-server", Target: "redis"},
	} {
		if err := arm(t, s, a); err != nil {
			t.Fatal(err)
		}
	}
	want := []string{"kill-server redis healed", "pause-server mysql fired", "restart-server redis healed"}
	if got := statuses(s); !slices.Equal(got, want) {
		t.Errorf("the strikes are %q, want %q", got, want)
	}
	if !s.Lab.Redis.Running() || !system.Paused(s.Lab.MySQL) {
		t.Error("Redis is dead, or MySQL runs")
	}
	if err := s.Heal(t.Context()); err != nil || system.Paused(s.Lab.MySQL) {
		t.Errorf("healed: %v, MySQL paused: %t", err, system.Paused(s.Lab.MySQL))
	}
	wantSaid := []string{
		"fault: kill-server at redis", "fault: pause-server at mysql", "fault: restart-server at redis",
		"fault: healed: everything is whole again",
	}
	if !slices.Equal(*said, wantSaid) {
		t.Errorf("the log is %q, want %q", *said, wantSaid)
	}
	if s.Forget(); len(s.Strikes()) > 0 {
		t.Errorf("not forgotten: %q", statuses(s))
	}
}

// An action that does not fit says why, and leaves nothing behind.
func TestRefusedActions(t *testing.T) {
	s, _ := idle(t)
	if err := s.Lab.Redis.Kill(); err != nil {
		t.Fatal(err)
	}
	for want, a := range map[string]trial.Action{
		"there is no action":                   {Action: "melt"},
		`there is no replica "stock-1"`:        {Action: "kill", Target: "stock-1"},
		"there are mysql, redis, zookeeper":    {Action: "pause-server", Target: "postgres"},
		"redis is dead already":                {Action: "kill-server", Target: "redis"},
		"redis is dead":                        {Action: "pause-server", Target: "redis"},
		`there is no replica "order-9"; there`: {Action: "cut", Target: "order-9", Wire: "mysql"},
	} {
		if err := arm(t, s, a); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", a, err, want)
		}
	}
	if got := statuses(s); len(got) > 0 {
		t.Errorf("left behind: %q", got)
	}
}

// A replica keeps one rule: a second step is refused until the first is healed.
func TestOneStepOfEachReplica(t *testing.T) {
	s, _ := idle(t)
	first := trial.Action{Action: "arm-kill", Target: "stock-1", Step: "commit", When: "before"}
	one := s.Add(first, &trial.Simple{Do: noError, Undo: noError})
	if err := one.Arm(t.Context()); err != nil {
		t.Fatal(err)
	}
	second := first
	second.Step = "take-flag"
	err := arm(t, s, second)
	if err == nil || !strings.Contains(err.Error(), "armed already: arm-kill before commit; a replica keeps one") {
		t.Errorf("a second step is armed: %v", err)
	}
	if err := one.Heal(t.Context()); err != nil {
		t.Fatal(err)
	}
	select {
	case <-one.Over():
	default:
		t.Error("it is not over")
	}
	if err := s.Add(second, &trial.Simple{Do: noError}).Arm(t.Context()); err != nil {
		t.Errorf("after the heal: %v", err)
	}
}

func noError(context.Context) error { return nil }
