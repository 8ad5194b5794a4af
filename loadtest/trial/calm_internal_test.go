package trial

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"orderstock/loadtest/fire"
	"orderstock/loadtest/system"
	"orderstock/loadtest/system/systemtest"
	"orderstock/loadtest/verify"
)

// front puts a server before the first order service, which answers 503 while busy is true, and counts that.
func front(t *testing.T, target *fire.Target, busy *atomic.Bool, refused *atomic.Int32) {
	t.Helper()
	to, err := url.Parse(target.OrderURLs[0])
	if err != nil {
		t.Fatal(err)
	}
	proxy := httputil.NewSingleHostReverseProxy(to)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if busy.Load() && r.Method == http.MethodPost {
			refused.Add(1)
			w.Header().Set("Retry-After", "1")
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(s.Close)
	target.OrderURLs = slices.Clone(target.OrderURLs)
	target.OrderURLs[0] = s.URL
}

// An act excuses the calls beside it, and no others of its run: neither a service that crashes later, nor one that goes
// on refusing orders.
func TestAnActExcusesWhatIsBesideIt(t *testing.T) {
	st := systemtest.Up(t, systemtest.Build(t), func(c *system.Config) {
		c.OrderServices, c.StockServices = 2, 1
		c.OrderEnv = map[string]string{"CONFIRM_BUDGET": "1s", "PENDING_LIMIT": "1s", "RECONCILE_INTERVAL": "250ms"}
	})
	const lasts = 200 * time.Millisecond
	var busy atomic.Bool
	var refused atomic.Int32
	refuse := func(context.Context) error { busy.Store(true); return nil }
	serve := func(context.Context) error { busy.Store(false); return nil }
	for _, test := range []struct {
		name  string
		later func(context.Context) error // what goes wrong when the act is long over
		want  verify.Outcome
	}{
		{"nothing", harmless, verify.Pass},
		{"503", refuse, verify.Violation},
		{"crashes", func(ctx context.Context) error {
			for range 3 {
				if err := errors.Join(st.Orders[1].Kill(), st.Orders[1].Restart(ctx)); err != nil {
					return err
				}
			}
			return nil
		}, verify.Violation},
	} {
		e := Experiment{
			Name: "refused", After: lasts,
			Load: fire.Config{
				Orders: 100_000, Concurrency: 8, Rate: 400, Timeout: 4 * time.Second, Patience: 15 * time.Second,
				Mix: fire.Mix{Goods: 3, Stock: 10_000, Repeat: 0.1},
			},
		}
		r := e.begin(st, 1, nil, nil)
		front(t, &r.load.Target, &busy, &refused)
		r.Acts = []*Act{{
			Action: Action{For: lasts, AfterMS: 100}, Do: refuse, Undo: serve,
			Count: func(context.Context) (int, error) { return int(refused.Load()), nil },
		}, {
			Action: Action{Action: Nothing, For: time.Second, AfterMS: 2500, Then: true, EndsLoad: true},
			Do:     test.later, Undo: serve,
		}}
		if err := r.run(t.Context()); err != nil {
			t.Fatal(test.name, err)
		}
		acts := r.History.Acts
		if len(acts) != 1 || acts[0].To-acts[0].From < lasts || acts[0].To > r.History.Elapsed-3*time.Second {
			t.Errorf("%s: the acts are %+v; want one, for %s", test.name, acts, lasts)
		}
		if r.Outcome != test.want || test.want == verify.Violation && !slices.Contains(r.Broken, verify.Served) {
			t.Errorf("%s: %s %q, broken %q; want %s", test.name, r.Outcome, r.Why, r.Broken, test.want)
		}
	}
}
