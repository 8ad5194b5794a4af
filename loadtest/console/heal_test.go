//go:build browser

package console_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"orderstock/loadtest/console"
	"orderstock/loadtest/fire"
	"orderstock/loadtest/system"
	"orderstock/loadtest/tables"
	"orderstock/loadtest/trial"
	"orderstock/loadtest/verify"
)

// until returns the state once it is as wanted.
func (s *stage) until(t *testing.T, wanted func(shown) bool) (now shown) {
	t.Helper()
	console.Await(t, func() bool { now = s.state(t); return wanted(now) }, func() string {
		return fmt.Sprintf("the state is not as wanted: %+v", now)
	})
	return now
}

func (s *stage) act(t *testing.T, a trial.Action) {
	t.Helper()
	if _, err := s.console.Act(t.Context(), a); err != nil {
		t.Fatal(err)
	}
}

// statuses returns the states of the faults, each with its name.
func (s shown) statuses() (all []string) {
	for _, f := range s.Faults {
		all = append(all, strings.TrimSpace(f.What+" "+f.Where)+": "+f.Status)
	}
	return all
}

// TestRestartAndResumeHeal: nothing is left to heal, or looks broken, once the process is back.
func TestRestartAndResumeHeal(t *testing.T) {
	s := theStage(t)
	goods := s.stocked(t)
	s.act(t, trial.Action{Action: "kill", Target: "order-1"})
	one := console.HandOrder{Items: []console.HandItem{{GoodsID: goods[0], Num: 1}}, Key: "one"}
	var placed *console.Placed
	var err error
	console.Await(t, func() bool { // an order may end later
		placed, err = s.console.PlaceByHand(t.Context(), one)
		return err == nil && placed.Status == http.StatusCreated
	}, func() string {
		return fmt.Sprintf("with one order service dead, an order by hand is answered %+v, %v", placed, err)
	})
	s.act(t, trial.Action{Action: "restart", Target: "order-1"})
	s.act(t, trial.Action{Action: "pause", Target: "stock-1"})
	s.act(t, trial.Action{Action: "slow", Target: "stock-1", Wire: "mysql"})
	s.act(t, trial.Action{Action: "resume", Target: "stock-1"})
	// A fault of a connection is armed until data passes.
	s.until(t, func(now shown) bool {
		for _, id := range goods { // some of them prefer stock-1
			if _, err := s.console.PlaceByHand(t.Context(), console.HandOrder{
				Items: []console.HandItem{{GoodsID: id, Num: 1}},
			}); err != nil {
				t.Fatal(err)
			}
		}
		return now.Faults[3].Fired > 0
	})
	if now := s.state(t); now.Faults[2].Counted || !now.Faults[3].Counted {
		t.Errorf("counted are the pause: %t, and the slow connection: %t; want the second alone",
			now.Faults[2].Counted, now.Faults[3].Counted)
	}
	armed := trial.Action{Action: "arm-error", Target: "stock-2", When: "before", Step: "commit"}
	s.act(t, armed)
	armed.Step = "take-flag"
	if _, err := s.console.Act(t.Context(), armed); err == nil || !strings.Contains(err.Error(), "heal first") {
		t.Errorf("a second step is armed: %v", err)
	}
	s.act(t, trial.Action{Action: "restart", Target: "stock-2"})
	s.act(t, trial.Action{Action: "kill-server", Target: "redis"})
	s.act(t, trial.Action{Action: "restart-server", Target: "redis"})
	want := []string{
		"kill order-1: healed", "restart order-1: healed", "pause stock-1: healed",
		"slow the connection to mysql stock-1: fired", // it has not ended with the pause
		"resume stock-1: healed", "arm-error before commit stock-2: healed", "restart stock-2: healed",
		"kill-server redis: healed", "restart-server redis: healed",
	}
	now := s.state(t)
	if got := now.statuses(); !slices.Equal(got, want) {
		t.Errorf("the faults are\n%q, want\n%q", got, want)
	}
	if wire := now.Faults[3].Wire; wire != system.ToMySQL {
		t.Errorf("the page marks the connection to %q, want that to MySQL", wire)
	}
	if _, err := s.console.Heal(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestPlayAfterAServerDied: the servers are brought back for the next run. Its phases come one after the other.
func TestPlayAfterAServerDied(t *testing.T) {
	s := theStage(t)
	s.stocked(t)
	for _, server := range []string{"mysql", "redis"} {
		s.act(t, trial.Action{Action: "kill-server", Target: server})
	}
	s.act(t, trial.Action{Action: "pause-server", Target: "zookeeper"})
	events := bufio.NewScanner(send(t, s.server, http.MethodGet, s.url+"/api/events", nil).Body)
	events.Buffer(nil, 64<<20)
	if v := s.play(t, "A", tables.Fixed); v.Outcome != verify.Pass {
		t.Errorf("with its servers back: %s", v)
	}
	var phases []string
	for events.Scan() {
		var told shown
		data, ok := strings.CutPrefix(events.Text(), "data: ")
		if !ok || !strings.Contains(data, `"phase"`) {
			continue
		}
		if err := json.Unmarshal([]byte(data), &told); err != nil {
			t.Fatal(err)
		}
		if phases = append(phases, told.Phase); len(phases) > 1 && told.Phase == "idle" {
			break
		}
	}
	if want := []string{"idle", "starting", "firing", "settling", "judging", "idle"}; !slices.Equal(phases, want) {
		t.Errorf("the phases are %q, want %q", phases, want)
	}
	now := s.state(t)
	if len(now.Faults) != 0 {
		t.Errorf("the run has the faults %q, want none", now.statuses())
	}
	s.act(t, trial.Action{Action: "kill", Target: "stock-1"})
	if _, err := s.console.Heal(t.Context()); err != nil {
		t.Errorf("heal: %v", err)
	}
}

// TestHealEndsAPlayedFault: one can act while a played fault lasts, and heal it before its time.
func TestHealEndsAPlayedFault(t *testing.T) {
	s := theStage(t)
	if _, err := s.console.Play("O", "mended", 0); err == nil || !strings.Contains(err.Error(), "broken, fixed or here") {
		t.Errorf("a variant that does not exist: %v", err)
	}
	if _, err := s.console.Play("O", tables.Fixed, 0); err != nil {
		t.Fatal(err)
	}
	s.until(t, func(now shown) bool { return len(now.Faults) == 1 && now.Faults[0].Status == "fired" })
	s.act(t, trial.Action{Action: "pause", Target: "order-2"})
	if got := s.state(t); got.Faults[0].Status != "fired" {
		t.Errorf("the action waited until the fault was healed: %q", got.statuses())
	}
	if _, err := s.console.Heal(t.Context()); err != nil {
		t.Fatal(err)
	}
	now := s.state(t)
	for _, f := range now.Faults {
		if f.Status != "healed" {
			t.Errorf("after healing: %q", now.statuses())
		}
	}
	if v, err := s.verdict(t); err != nil || v.Outcome != verify.Pass {
		t.Errorf("%v, %v", v, err)
	}
}

// TestGroupsWithoutTheirLockAreCounted: while the holder is paused, the other stock service goes on without the lock,
// and the page says how often.
func TestGroupsWithoutTheirLockAreCounted(t *testing.T) {
	s := theStage(t)
	b := open(t, s.entry())
	pause := func(replica string, after int) trial.Action {
		return trial.Action{Action: "arm-pause", Target: replica, When: "before", Step: "commit", AfterMS: after}
	}
	// The service that does the work is paused with the lock in hand: the first one, if that is it.
	s.fire(t, tables.Custom{
		Load: fire.Config{
			Orders: 900, Rate: 300, Concurrency: 200, Timeout: 5 * time.Second, Mix: fire.Mix{Goods: 3, Stock: 5000},
		},
		Faults: []trial.Action{pause("stock-1", 300), pause("stock-2", 1500)},
	})
	s.until(t, func(now shown) bool { return now.Lock.Unlocked > 0 })
	b.await(`document.querySelector("#lock .unlocked")?.innerText.includes("went on without it")`)
	b.picture("unlocked", 1440, 1000, false)
	if v, err := s.verdict(t); err != nil || v.Outcome != verify.Pass {
		t.Errorf("the verdict is %v, %v", v, err)
	}
	b.clean()
}
