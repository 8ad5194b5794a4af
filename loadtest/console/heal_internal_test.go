package console

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"orderstock/loadtest/act"
	"orderstock/loadtest/catalogue"
	"orderstock/loadtest/system/systemtest"
	"orderstock/loadtest/trial"
)

// TestHealOrder: a replica is ready only once it reaches the servers, so the connections come before it. What does not
// come back stays broken, is named, and is tried again.
func TestHealOrder(t *testing.T) {
	c := testConsole(t)
	c.own(systemtest.Idle(t))
	c.view = &view{}
	var (
		order []string
		stuck error
	)
	strike := func(what string, fails bool) {
		one := &trial.Simple{
			Do: func(context.Context) error { return nil },
			Undo: func(context.Context) error {
				order = append(order, what)
				if fails {
					return stuck
				}
				return nil
			},
		}
		if err := c.acts.Add(act.Action{Action: what, Target: "stock-1"}, one).Arm(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	for _, what := range []string{"kill", "cut", "pause", "kill-server", "duplicate"} {
		strike(what, what == "cut")
	}
	stuck = errors.New("the wire is stuck")
	if _, err := c.Heal(t.Context()); err == nil || !strings.Contains(err.Error(), "cut stock-1: the wire is stuck") {
		t.Errorf("heal returns %v, want what did not come back", err)
	}
	if want := []string{"kill-server", "cut", "duplicate", "kill", "pause"}; !slices.Equal(order, want) {
		t.Errorf("healed in the order %q, want %q", order, want)
	}
	for _, s := range c.acts.Strikes() {
		if healed := s.Status == "healed"; healed != (s.What != "cut") {
			t.Errorf("%s is %s", s.What, s.Status)
		}
	}
	if state := string(c.hub.snapshot()); strings.Contains(state, "everything is whole") {
		t.Errorf("all is said to be whole: %s", state)
	}
	c.shows(t, "not healed: cut stock-1: the wire is stuck")
	order, stuck = nil, nil
	_, err := c.Heal(t.Context())
	if cut := c.acts.Strikes()[1]; err != nil || cut.Status != "healed" || !slices.Equal(order, []string{"cut"}) {
		t.Errorf("the second time: %v, %+v, healed %q", err, cut, order)
	}
	c.shows(t, "everything is whole again")
}

// TestStopWhileServicesStart leaves no services, and says so.
func TestStopWhileServicesStart(t *testing.T) {
	c := testConsole(t)
	c.own(systemtest.Idle(t))
	c.view = &view{orders: ordersDB(t), stock: ordersDB(t)}
	c.hub.set(secReplicas, []Member{{Name: "stock-1", Kind: "stock", State: stateReady}})
	ctx, stop := context.WithCancel(t.Context())
	stop()
	p := &plan{title: "free play", tries: 1}
	if v, err := c.execute(ctx, p, p.newRun(1)); err == nil {
		t.Errorf("a run without services has the verdict %v", v)
	}
	c.shows(t, `{"name":"stock-1","kind":"stock","state":"dead"`, `"sentence":"stopped before an order was sent"`)
	state := string(c.hub.snapshot())
	if strings.Contains(state, `"state":"ready"`) || strings.Contains(state, "UNKNOWN") {
		t.Errorf("a service is ready, or the judge is blamed: %s", state)
	}
	for what, do := range map[string]func() error{
		"act":  func() error { _, err := c.Act(t.Context(), act.Action{Action: "kill", Target: "stock-1"}); return err },
		"heal": func() error { _, err := c.Heal(t.Context()); return err },
		"send": func() error {
			_, err := c.PlaceByHand(t.Context(), HandOrder{Items: []HandItem{{GoodsID: "1", Num: 1}}})
			return err
		},
		"life": func() error { _, err := c.Life(t.Context(), "1"); return err },
	} {
		if err := do(); err == nil || !strings.Contains(err.Error(), "no services run") {
			t.Errorf("%s: %v, want that no services run", what, err)
		}
	}
}

// TestOwnRunIsNotTakenForAnothers: it may begin while another process's is noticed.
func TestOwnRunIsNotTakenForAnothers(t *testing.T) {
	c := testConsole(t)
	m := newMeter(c.hub)
	c.sale, c.stop = &sale{meter: m}, func() {}
	c.hub.set(secPhase, phaseFiring)
	c.watchOther(time.Now())
	c.otherStopped(1)
	if c.sale.meter != m {
		t.Error("the run is taken for another process's")
	}
	c.shows(t, `"phase":"firing"`)
}

// TestRatesOutliveTheConsole: the rates of kept runs are shown with the next.
func TestRatesOutliveTheConsole(t *testing.T) {
	dir := t.TempDir()
	r, err := openRuns(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range []RunRow{
		{ID: "20260101-000000.000-1", Fault: "G", Variant: "broken", OrdersPerS: 10},
		{ID: "20260101-000001.000-1", Fault: "G", Variant: "broken", OrdersPerS: 11},
		{ID: "20260101-000002.000-1", Fault: "A", Variant: "broken", OrdersPerS: 12},
	} {
		if err := r.save(&Record{Row: row}); err != nil {
			t.Fatal(err)
		}
	}
	if r, err = openRuns(dir); err != nil {
		t.Fatal(err)
	}
	f, err := catalogue.Find("G")
	if err != nil {
		t.Fatal(err)
	}
	got := r.compare(&plan{fault: &f, variant: catalogue.Fixed}, 30)
	if got.Broken != 11 || got.Fixed != 30 {
		t.Errorf("the rates are %+v, want 11 and 30", got)
	}
}

// TestPlannedFaultThatDidNotComeUp leaves a line in the log.
func TestPlannedFaultThatDidNotComeUp(t *testing.T) {
	c := testConsole(t)
	kill := c.acts.Add(act.Action{Action: "kill", Target: "stock-1"}, &trial.Simple{})
	c.sayStrike(lasting{kill}, trial.Strike{Err: trial.ErrOver})
	c.shows(t, "not brought about, as the run was over before: kill at stock-1")
}
