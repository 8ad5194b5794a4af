package trial

import (
	"fmt"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"orderstock/loadtest/fire"
	"orderstock/loadtest/history"
	"orderstock/loadtest/system"
	"orderstock/loadtest/system/systemtest"
	"orderstock/loadtest/verify"
)

// Earlier runs left the circuit breakers of both order services open, and there was no traffic since. The next run is
// not accused of what they refuse.
func TestARunBeginsWhenOrdersAreServed(t *testing.T) {
	r := burst(t)
	for try := 2; try <= 3 && r.Outcome == verify.Unknown; try++ { // a machine stood still for a second
		r = burst(t)
	}
	if r.Outcome != verify.Pass {
		t.Errorf("%s: %s", r.Outcome, r.Why)
	}
}

// burst runs a load of many orders on new services, whose breakers were opened before.
func burst(t *testing.T) *Result {
	t.Helper()
	st := systemtest.Up(t, systemtest.Build(t), func(c *system.Config) {
		c.OrderServices, c.StockServices = 2, 2
		c.OrderEnv = map[string]string{"CONFIRM_BUDGET": "1s", "PENDING_LIMIT": "1s", "PRICE_TTL": "1m"}
	})
	load := fire.Config{Target: st.Target(), Orders: 4, Concurrency: 1, Plain: true, Mix: fire.Mix{Goods: 1, Stock: 100}}
	known, err := fire.Run(t.Context(), load) // both order services know the product's price
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range st.Stocks {
		if err := s.Kill(); err != nil {
			t.Fatal(err)
		}
	}
	body := string(history.AppendBody(nil, []history.Item{{GoodsID: known.Goods[0].ID, Num: 1}}))
	var failing errgroup.Group
	for i, s := range st.Orders {
		for n := range 20 {
			failing.Go(func() error {
				_, err := s.PostOrder(t.Context(), fmt.Sprintf("failing-%d-%d", i, n), body)
				return err
			})
		}
	}
	if err := failing.Wait(); err != nil {
		t.Fatal(err)
	}
	for _, s := range st.Stocks {
		if err := s.Restart(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if err := awaitReady(t.Context(), st); err != nil {
		t.Fatal(err)
	}
	st.Shaken = time.Now()
	e := Experiment{Name: "burst", Load: fire.Config{
		Orders: 200, Concurrency: 100, Patience: 15 * time.Second, Mix: fire.Mix{Stock: 1000},
	}}
	return e.Run(t.Context(), st, 1, nil, nil)
}
