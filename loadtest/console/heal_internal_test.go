package console

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"orderstock/loadtest/catalogue"
	"orderstock/loadtest/system/systemtest"
	"orderstock/loadtest/trial"
)

// testLab returns a console of a lab whose servers only sleep.
func testLab(t *testing.T) *Console {
	t.Helper()
	c := testConsole(t)
	c.lab, c.player.Start = systemtest.Idle(t), c.startServices
	return c
}

// TestHealOrder: a replica is ready only once it reaches the servers, so the connections come before it. What does not
// come back stays broken, is named, and is tried again.
func TestHealOrder(t *testing.T) {
	c := testLab(t)
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
		if err := c.player.Acts.Add(trial.Action{Action: what, Target: "stock-1"}, one).Arm(t.Context()); err != nil {
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
	for _, s := range c.player.Acts.Strikes() {
		if healed := s.Status == "healed"; healed != (s.What != "cut") {
			t.Errorf("%s is %s", s.What, s.Status)
		}
	}
	if state := string(c.feed.snapshot()); strings.Contains(state, "everything is whole") {
		t.Errorf("all is said to be whole: %s", state)
	}
	c.shows(t, "not healed: cut stock-1: the wire is stuck")
	order, stuck = nil, nil
	_, err := c.Heal(t.Context())
	if cut := c.player.Acts.Strikes()[1]; err != nil || cut.Status != "healed" || !slices.Equal(order, []string{"cut"}) {
		t.Errorf("the second time: %v, %+v, healed %q", err, cut, order)
	}
	c.shows(t, "everything is whole again")
}

// TestStopWhileServicesStart leaves no services, and says so.
func TestStopWhileServicesStart(t *testing.T) {
	c := testLab(t)
	c.view = &view{orders: ordersDB(t), stock: ordersDB(t)}
	c.feed.set("replicas", []Member{{Name: "stock-1", Kind: "stock", State: stateReady}})
	ctx, stop := context.WithCancel(t.Context())
	stop()
	p := catalogue.Own{}.Plan("loadtest", true)
	if r, err := c.player.Play(ctx, p, p.Try(1)); err == nil {
		t.Errorf("a run without services has the record %+v", r)
	}
	c.shows(t, `{"name":"stock-1","kind":"stock","state":"dead"`, `"sentence":"stopped before an order was sent"`)
	state := string(c.feed.snapshot())
	if strings.Contains(state, `"state":"ready"`) || strings.Contains(state, "UNKNOWN") {
		t.Errorf("a service is ready, or the judge is blamed: %s", state)
	}
	for what, do := range map[string]func() error{
		"act": func() error {
			_, err := c.Act(t.Context(), trial.Action{Action: "kill", Target: "stock-1"})
			return err
		},
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
	c.beginTry(catalogue.Run{}, catalogue.NewMeter())
	c.stop = func() {}
	c.show("phase", catalogue.Firing)
	c.watchOther(time.Now())
	c.idle()
	if c.sale.meter == nil {
		t.Error("the run is taken for another process's")
	}
	c.shows(t, `"phase":"firing"`)
}
