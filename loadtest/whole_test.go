package loadtest_test

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"orderstock/loadtest/fire"
	"orderstock/loadtest/history"
	"orderstock/loadtest/system"
	"orderstock/loadtest/system/systemtest"
	"orderstock/loadtest/verify"
	"orderstock/migrations"
)

func fireAt(st *system.System) fire.Config {
	return fire.Config{Target: st.Target(), Concurrency: 32}
}

func judge(t *testing.T, st *system.System, h *history.History) *verify.Verdict {
	t.Helper()
	v, err := verify.Run(t.Context(), verify.Config{Databases: st.Databases(), History: h, Settle: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// passes reports whether a verdict is a pass or, on a machine on which calls take a second, shows too little to tell.
func passes(v *verify.Verdict) bool {
	return v.Outcome == verify.Pass || v.Outcome == verify.Unknown && v.Calm < 50
}

// "passes" takes 20 s: it fires for so long that each service can die and return.
func TestTheWholeStack(t *testing.T) {
	t.Parallel()
	bin := systemtest.Build(t)
	t.Run("passes, also when services die", func(t *testing.T) { t.Parallel(); passesWhenServicesDie(t, bin) })
	t.Run("a price changes", func(t *testing.T) { t.Parallel(); priceChanges(t, bin) })
	t.Run("old orders are pruned under load", func(t *testing.T) { t.Parallel(); prunedUnderLoad(t, bin) })
	t.Run("passes when services restart", func(t *testing.T) { t.Parallel(); passesWhenServicesRestart(t, bin) })
}

// Two of each service, more demand than supply, repeats and cancellations, and
// one of each service killed in the middle.
func passesWhenServicesDie(t *testing.T, bin string) {
	t.Helper()
	st := systemtest.Up(t, bin, func(c *system.Config) {
		short := map[string]string{"ZOOKEEPER_SESSION_TIMEOUT": "3s", "PENDING_LIMIT": "3s"}
		c.OrderEnv, c.StockEnv = short, short // the dead ones are gone sooner
	})
	cfg := fireAt(st)
	cfg.Orders, cfg.Rate, cfg.Mix = 400, 200, fire.Mix{Goods: 4, Stock: 120, Repeat: 0.2, Cancel: 0.2}
	cfg.Disturbed = true
	killed := make(chan error, 1)
	cfg.Begun = func(*history.History) { // the products are there
		time.AfterFunc(time.Second, func() { killed <- errors.Join(st.Stocks[1].Kill(), st.Orders[1].Kill()) })
	}
	h, err := fire.Run(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	if err := <-killed; err != nil {
		t.Fatal(err)
	}
	v := judge(t, st, h)
	if v.Outcome != verify.Pass || v.Confirmed == 0 || v.Rejected == 0 || v.Cancelled == 0 {
		var text bytes.Buffer
		_ = v.Write(&text, false)
		t.Errorf("want a pass with orders of each end:\n%s", &text)
	}

	// With one of each service dead from the start, the others do the work.
	cfg.Orders, cfg.Rate, cfg.Begun = 100, 0, nil
	h, err = fire.Run(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	if v := judge(t, st, h); v.Outcome != verify.Pass || v.Orders != 100 {
		t.Errorf("%s; want a pass with 100 orders", v)
	}
}

// A graceful restart of an order service and of a stock service is nothing that a client has to say.
func passesWhenServicesRestart(t *testing.T, bin string) {
	t.Helper()
	st := systemtest.Up(t, bin, func(*system.Config) {})
	cfg := fireAt(st)
	cfg.Orders, cfg.Duration, cfg.Mix = 0, 8*time.Second, fire.Mix{Goods: 4, Stock: 2000, Repeat: 0.2, Cancel: 0.2}
	restarted := make(chan error, 1)
	cfg.Begun = func(*history.History) {
		go func() {
			time.Sleep(time.Second)
			restarted <- errors.Join(st.Orders[1].Restart(t.Context()), st.Stocks[1].Restart(t.Context()))
		}()
	}
	h, err := fire.Run(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	if err := <-restarted; err != nil {
		t.Fatal(err)
	}
	v := judge(t, st, h)
	if !passes(v) || len(h.Away) == 0 {
		var text bytes.Buffer
		_ = v.Write(&text, false)
		t.Errorf("want a pass, and to see that the services were away:\n%s", &text)
	}
}

// Orders become old, and are pruned while new ones, repeats and
// cancellations come in. Nothing is wrong at the end, and the old ones are gone.
func prunedUnderLoad(t *testing.T, bin string) {
	t.Helper()
	st := systemtest.Up(t, bin, func(*system.Config) {})
	cfg := fireAt(st)
	cfg.Mix = fire.Mix{Goods: 4, Stock: 120, Repeat: 0.2, Cancel: 0.3}
	cfg.Orders, cfg.Concurrency = 200, 8 // few enough that no call takes a second while other tests run
	old, err := fire.Run(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	v := judge(t, st, old)
	if !passes(v) {
		t.Fatalf("before: %s", v)
	}
	a := st.Accounts()
	server := st.MySQL
	var before int
	if err := server.QueryRow(t.Context(), "SELECT COUNT(*) FROM "+a.OrderDB+".orders", &before); err != nil {
		t.Fatal(err)
	}
	if err := server.Exec(t.Context(), "UPDATE "+a.OrderDB+".orders "+
		"SET created_at = created_at - INTERVAL 40 DAY, updated_at = updated_at - INTERVAL 40 DAY"); err != nil {
		t.Fatal(err)
	}

	cfg.Orders, cfg.Rate = 300, 100
	type fired struct {
		history *history.History
		err     error
	}
	ended := make(chan fired, 1)
	go func() {
		h, err := fire.Run(t.Context(), cfg)
		ended <- fired{h, err}
	}()
	prune := func(days time.Duration) int {
		n, err := migrations.Prune(t.Context(), migrations.Config{AdminDSN: server.AdminDSN(), Accounts: a},
			days*24*time.Hour)
		if err != nil {
			t.Error(err)
		}
		return n
	}
	if n := prune(50); n != 0 {
		t.Errorf("%d orders pruned that are not that old", n)
	}
	if n := prune(30); n != before {
		t.Errorf("%d orders pruned, want %d", n, before)
	}
	young := <-ended
	if young.err != nil {
		t.Fatal(young.err)
	}
	v = judge(t, st, young.history)
	if !passes(v) || v.Confirmed == 0 || v.Cancelled == 0 {
		var text bytes.Buffer
		_ = v.Write(&text, false)
		t.Errorf("want a pass with orders of each end:\n%s", &text)
	}
	if v := judge(t, st, old); !slices.Equal(v.Violated(), []string{verify.Unexplained, verify.AnswersTrue}) {
		t.Errorf("of the old orders, %v are missed, want only that they are gone and a pruned row stands for them",
			v.Violated())
	}
}

// A price changes in the middle of a run. Orders have the old one and then the new one, and would be at fault if it had
// changed at the start.
func priceChanges(t *testing.T, bin string) {
	t.Helper()
	st := systemtest.Up(t, bin, func(c *system.Config) { c.OrderEnv = map[string]string{"PRICE_TTL": "100ms"} })
	cfg := fireAt(st)
	cfg.Orders, cfg.Rate, cfg.Disturbed, cfg.Mix = 200, 100, true, fire.Mix{Goods: 2, Repeat: 0.2}
	h, err := fire.Run(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	if v := judge(t, st, h); v.Outcome != verify.Pass {
		var text bytes.Buffer
		_ = v.Write(&text, false)
		t.Errorf("want a pass:\n%s", &text)
	}
	at := slices.IndexFunc(h.Asides, func(a history.Aside) bool { return strings.Contains(a.Body, h.More(1).Flag) })
	told := map[int64]int{} // answers by price
	for i := range h.Calls {
		for _, it := range h.Named(h.Calls[i].Named, h.Calls[i].Kind, int(h.Calls[i].Op)) {
			told[it.Price]++
		}
	}
	if at < 0 || told[h.Goods[history.Repriced].Price] == 0 || told[h.NewPrice()] == 0 {
		t.Fatalf("change %d, answers %v; want answers at both prices", at, told)
	}
	h.Asides[at].Sent, h.Asides[at].Done = 0, 1
	if v := judge(t, st, h); !slices.Contains(v.Violated(), verify.PriceInForce) {
		t.Errorf("the old price after its time is not found: %s", v)
	}
}
