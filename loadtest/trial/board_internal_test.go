package trial

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"orderstock/loadtest/history"
	"orderstock/loadtest/system/systemtest"
)

// idle is a board of a system whose servers only sleep, and that has no services. said gets the log.
func idle(t *testing.T) (b *Board, said *[]string) {
	t.Helper()
	said = &[]string{}
	return &Board{
		System: systemtest.Idle(t), SinceMS: func() int64 { return 1 },
		Watch: func(section string, value any) {
			if section == "log" || section == "error" {
				*said = append(*said, fmt.Sprint(section, ": ", value))
			}
		},
	}, said
}

// statuses returns the acts with their statuses.
func statuses(b *Board) (all []string) {
	for _, s := range b.Acts() {
		all = append(all, s.String()+" "+s.Status)
	}
	return all
}

// What was broken by hand is noted in the history of its run, and can be broken again by another, at the same times and
// for as long.
func TestBoardNamesWhatWasBrokenByHand(t *testing.T) {
	b, _ := idle(t)
	now := int64(0)
	b.SinceMS = func() int64 { return now }
	for _, a := range []Action{
		{Action: "kill-server", Target: "redis"},
		{Action: "restart-server", Target: "redis"},
		{Action: "pause-server", Target: "mysql"},
	} {
		now += 1000
		if err := b.Act(t.Context(), a); err != nil {
			t.Fatal(err)
		}
	}
	now += 2500
	if err := b.Heal(t.Context()); err != nil {
		t.Fatal(err)
	}
	r := &Run{
		Result: &Result{History: &history.History{Started: time.Now().Add(-time.Hour)}}, System: b.System, board: b,
	}
	r.noteActs()
	noted := []history.Act{
		{Cause: "kill-server at redis", From: time.Second, To: 2 * time.Second},
		{Cause: "restart-server at redis", From: 2 * time.Second, To: 2 * time.Second},
		{Cause: "pause-server at mysql", From: 3 * time.Second, To: 5500 * time.Millisecond},
	}
	if !slices.Equal(r.History.Acts, noted) {
		t.Errorf("the history has the acts %+v, want %+v", r.History.Acts, noted)
	}
	got := make([]string, 0, 3)
	for _, a := range b.ByHand() {
		got = append(got, a.String())
	}
	want := []string{"1s kill-server redis", "2s restart-server redis", "3s pause-server mysql for 2.5s"}
	if !slices.Equal(got, want) {
		t.Errorf("by hand were broken %q, want %q", got, want)
	}
}

// An act is healed once its process runs again, by whatever: a restart, Heal, or somebody else's signal.
func TestBoardReadsTheProcesses(t *testing.T) {
	b, said := idle(t)
	for _, a := range []Action{
		{Action: "kill-server", Target: "redis"},
		{Action: "pause-server", Target: "mysql"},
		{Action: "pause-server", Target: "zookeeper"},
		{Action: "restart-server", Target: "redis"},
	} {
		if err := b.Act(t.Context(), a); err != nil {
			t.Fatal(err)
		}
	}
	if err := b.System.ZooKeeper.Resume(); err != nil {
		t.Fatal(err)
	}
	b.Read(t.Context())
	want := []string{
		"kill-server redis healed", "pause-server mysql fired", "pause-server zookeeper healed",
		"restart-server redis healed",
	}
	if got := statuses(b); !slices.Equal(got, want) {
		t.Errorf("the acts are %q, want %q", got, want)
	}
	if !b.System.Redis.Running() || !b.System.MySQL.Paused() {
		t.Error("Redis is dead, or MySQL runs")
	}
	if err := b.Heal(t.Context()); err != nil || b.System.MySQL.Paused() || !b.over(b.Acts()[1].act) {
		t.Errorf("healed: %v, MySQL paused: %t, %q", err, b.System.MySQL.Paused(), statuses(b))
	}
	wantSaid := []string{
		"log: kill-server at redis", "log: pause-server at mysql", "log: pause-server at zookeeper",
		"log: restart-server at redis", "log: healed: everything is whole again",
	}
	if !slices.Equal(*said, wantSaid) {
		t.Errorf("the log is %q, want %q", *said, wantSaid)
	}
	stopped, stop := context.WithCancel(t.Context())
	stop()
	if err := b.Start(stopped, Services{}, true); !errors.Is(err, context.Canceled) || len(b.Acts()) > 0 {
		t.Errorf("%v, not forgotten: %q; want the begin of new services, which ends at once", err, statuses(b))
	}
}

// An act that counts is armed until it strikes, and its count goes on.
func TestBoardCounts(t *testing.T) {
	b, said := idle(t)
	count := 0
	act := &Act{
		Action: Action{Action: "slow", Target: "stock-1", Wire: "mysql"},
		Do:     noError, Count: func(context.Context) (int, error) { return count, nil },
		On: func(context.Context) bool { return count < 5 },
	}
	if err := act.Arm(t.Context()); err != nil {
		t.Fatal(err)
	}
	b.add(t.Context(), act, 1, false)
	for _, c := range []struct {
		count  int
		status string
	}{{0, "armed"}, {2, "fired"}, {4, "fired"}, {5, "healed"}} {
		count = c.count
		b.Read(t.Context())
		if s := b.Acts()[0]; s.Status != c.status || s.Fired != c.count {
			t.Errorf("after %d strikes: %+v, want %s", c.count, s, c.status)
		}
	}
	want := []string{
		"log: armed: slow the connection to mysql at stock-1", "log: fired: slow the connection to mysql stock-1",
	}
	if !slices.Equal(*said, want) {
		t.Errorf("the log is %q, want %q", *said, want)
	}
}

// An action that does not fit says why, and leaves nothing behind.
func TestRefusedActions(t *testing.T) {
	b, _ := idle(t)
	if err := b.System.Redis.Kill(); err != nil {
		t.Fatal(err)
	}
	for want, a := range map[string]Action{
		"there is no action":                   {Action: "melt"},
		`there is no replica "stock-1"`:        {Action: "kill", Target: "stock-1"},
		"there are mysql, redis, zookeeper":    {Action: "pause-server", Target: "postgres"},
		"redis is dead already":                {Action: "kill-server", Target: "redis"},
		"redis is dead":                        {Action: "pause-server", Target: "redis"},
		`there is no replica "order-9"; there`: {Action: "cut", Target: "order-9", Wire: "mysql"},
	} {
		if err := b.Act(t.Context(), a); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", a, err, want)
		}
	}
	if got := statuses(b); len(got) > 0 {
		t.Errorf("left behind: %q", got)
	}
}

// What does not come back stays broken, is named, and is tried again.
func TestWhatIsNotHealedIsTriedAgain(t *testing.T) {
	b, said := idle(t)
	stuck := errors.New("the wire is stuck")
	act := &Act{
		Action: Action{Action: "cut", Target: "stock-1"},
		Do:     noError, Undo: func(context.Context) error { return stuck },
		On: func(context.Context) bool { return stuck != nil },
	}
	b.add(t.Context(), act, 1, true)
	err := b.Heal(t.Context())
	if err == nil || !strings.Contains(err.Error(), "cut stock-1: the wire is stuck") || b.over(act) {
		t.Errorf("heal returns %v, and the act is %q", err, statuses(b))
	}
	stuck = nil
	if err := b.Heal(t.Context()); err != nil || !b.over(act) {
		t.Errorf("the second time: %v, %q", err, statuses(b))
	}
	want := []string{
		"log: cut at stock-1", "error: not healed: cut stock-1: the wire is stuck",
		"log: healed: everything is whole again",
	}
	if !slices.Equal(*said, want) {
		t.Errorf("the log is %q, want %q", *said, want)
	}
}

func noError(context.Context) error { return nil }
