package console

import (
	"context"
	"strings"
	"testing"
	"time"

	"orderstock/loadtest/system/systemtest"
	"orderstock/loadtest/tables"
	"orderstock/loadtest/trial"
)

// testLab returns a console of a lab whose servers only sleep.
func testLab(t *testing.T) *Console {
	t.Helper()
	c := testConsole(t)
	c.lab = systemtest.Idle(t)
	c.player.Board.System = c.lab
	return c
}

// TestStopWhileServicesStart leaves no services, and says so.
func TestStopWhileServicesStart(t *testing.T) {
	c := testLab(t)
	c.view = &view{orders: ordersDB(t), stock: ordersDB(t)}
	c.feed.set("replicas", []Member{{Name: "stock-1", Kind: "stock", State: stateReady}})
	ctx, stop := context.WithCancel(t.Context())
	stop()
	e, run := tables.Custom{}.Play("loadtest", true)
	if r, err := c.player.Play(ctx, e, run); err == nil {
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
	c.player.Restart(tables.NewMeter())
	c.stop = func() {}
	c.show("phase", trial.Firing)
	c.watchOther(time.Now())
	c.idle()
	if c.player.Meter().Phase() == tables.Watching {
		t.Error("the run is taken for another process's")
	}
	c.shows(t, `"phase":"firing"`)
}

// TestOtherSideHasAsManyBuyers as the side that was too slow with more, and its seed. Another fault has all.
func TestOtherSideHasAsManyBuyers(t *testing.T) {
	c := testLab(t)
	ctx, stop := context.WithCancel(t.Context())
	stop()
	f, err := tables.Find("A")
	if err != nil {
		t.Fatal(err)
	}
	e, run := f.Among(400).Play(tables.Broken, 7)
	if r, err := c.player.Play(ctx, e, run); err == nil {
		t.Errorf("a run without services has the record %+v", r)
	}
	for _, want := range []tables.Run{
		{Fault: "A", Variant: tables.Fixed, Buyers: 400, Stock: 150, Seed: 7},
		{Fault: "K", Variant: tables.Broken, Buyers: 300, Stock: 60, Seed: tables.FirstSeed},
	} {
		got, err := c.Play(want.Fault, want.Variant, 0)
		if err != nil {
			t.Fatal(err)
		}
		if got.Buyers != want.Buyers || got.Stock != want.Stock || got.Seed != want.Seed {
			t.Errorf("%s, %s: %d buyers, %d pieces, seed %d; want %d, %d and %d", got.Fault, got.Variant, got.Buyers,
				got.Stock, got.Seed, want.Buyers, want.Stock, want.Seed)
		}
		if _, err := c.Stop(); err != nil {
			t.Fatal(err)
		}
		c.working.Wait()
	}
}
