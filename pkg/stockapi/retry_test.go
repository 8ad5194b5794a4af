package stockapi_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/goleak"

	"orderstock/pkg/operation"
	"orderstock/pkg/stockapi"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// faulty answers each request by the next of the steps; the last one goes on.
// It stands for a stock service in trouble. Package ordertest tests calls of a
// healthy one, with a real stock service.
type faulty struct {
	*httptest.Server
	requests atomic.Int64
}

func newFaulty(t *testing.T, steps ...http.HandlerFunc) *faulty {
	t.Helper()
	s := &faulty{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n := int(s.requests.Add(1))
		_, _ = io.Copy(io.Discard, r.Body)
		steps[min(n, len(steps))-1](w, r)
	}))
	t.Cleanup(s.Close)
	return s
}

func newCaller(t *testing.T, s *faulty, cfg stockapi.Config) *stockapi.Client {
	t.Helper()
	return newCallerResting(t, s, time.Second, cfg)
}

// newCallerResting returns a caller whose breakers rest for so long, and whose tries have a minute unless cfg says
// otherwise.
func newCallerResting(t *testing.T, s *faulty, rest time.Duration, cfg stockapi.Config) *stockapi.Client {
	t.Helper()
	cfg.BreakerRest, cfg.Timeout = rest, cmp.Or(cfg.Timeout, time.Minute)
	c, err := stockapi.NewClient([]string{s.URL}, cfg)
	must(t, err)
	t.Cleanup(c.Close)
	return c
}

// counted returns the value of a counter.
func counted(t *testing.T, metrics prometheus.Gatherer, name string) float64 {
	t.Helper()
	families, err := metrics.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() == name {
			return f.GetMetric()[0].GetCounter().GetValue()
		}
	}
	t.Fatalf("no counter %s", name)
	return 0
}

func done(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprint(w, `{"flag":"1","state":"DONE","items":[{"goods_id":"7","num":2}]}`)
}

func problem(status int, code, retryAfter string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/problem+json")
		if retryAfter != "" {
			w.Header().Set("Retry-After", retryAfter)
		}
		w.WriteHeader(status)
		fmt.Fprintf(w, `{"code":%q}`, code)
	}
}

func cut(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }

var items = []operation.Item{{GoodsID: 7, Num: 2}}

func TestADeductionIsTriedAgainWhereThatMayHelp(t *testing.T) {
	unavailable := problem(503, "unavailable", "")
	for name, c := range map[string]struct {
		steps    []http.HandlerFunc
		want     error
		requests int64
	}{
		"at once":                     {[]http.HandlerFunc{done}, nil, 1},
		"after unavailable":           {[]http.HandlerFunc{unavailable, done}, nil, 2},
		"after a lost reply":          {[]http.HandlerFunc{cut, done}, nil, 2},
		"after both":                  {[]http.HandlerFunc{cut, unavailable, done}, nil, 3},
		"three times at most":         {[]http.HandlerFunc{unavailable}, operation.ErrUnavailable, 3},
		"unknown if a reply was lost": {[]http.HandlerFunc{cut, unavailable}, operation.ErrUnknownOutcome, 3},
		"unknown after a failure":     {[]http.HandlerFunc{problem(500, "internal", "")}, operation.ErrUnknownOutcome, 3},
		"a conflict is final":         {[]http.HandlerFunc{problem(409, "flag_conflict", "")}, operation.ErrFlagConflict, 1},
		"unknown goods are final":     {[]http.HandlerFunc{problem(422, "unknown_goods", "")}, operation.ErrUnknownGoods, 1},
		"a wrong token is nobody's fault": {
			[]http.HandlerFunc{problem(401, "unauthorized", "")},
			operation.ErrUnavailable,
			1,
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newFaulty(t, c.steps...)
			op, err := newCaller(t, s, stockapi.Config{}).Deduct(t.Context(), "1", items)
			if !errors.Is(err, c.want) || (err == nil) != (op.State == operation.Done) {
				t.Errorf("got %+v, %v; want %v", op, err, c.want)
			}
			if n := s.requests.Load(); n != c.requests {
				t.Errorf("sent %d times, want %d", n, c.requests)
			}
		})
	}
}

func TestRetryAfterIsHonoured(t *testing.T) {
	s := newFaulty(t, problem(503, "overloaded", "1"), done)
	start := time.Now()
	if _, err := newCaller(t, s, stockapi.Config{}).Deduct(t.Context(), "1", items); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(start); took < time.Second {
		t.Errorf("tried again after %s, the service asked for a second", took)
	}
}

func TestATryIsBoundedAndItsOutcomeUnknown(t *testing.T) {
	leave := make(chan struct{})
	s := newFaulty(t, func(http.ResponseWriter, *http.Request) { <-leave })
	defer close(leave)
	start := time.Now()
	_, err := newCaller(t, s, stockapi.Config{Timeout: time.Second, Tries: 2}).Deduct(t.Context(), "1", items)
	if !errors.Is(err, operation.ErrUnknownOutcome) {
		t.Errorf("got %v", err)
	}
	eventually(t, "the second try arrives", func() bool { return s.requests.Load() >= 2 })
	if took := time.Since(start); took > 15*time.Second || s.requests.Load() != 2 {
		t.Errorf("%d tries took %s", s.requests.Load(), took)
	}
}

func TestRetriesHaveABudget(t *testing.T) {
	s := newFaulty(t, func(w http.ResponseWriter, r *http.Request) {
		problem(503, "unavailable", "")(w, r)
	})
	// A breaker would end this sooner, and the test is of the budget: so each caller has its own breaker.
	const calls = 200 // more than what is free while they last, on a slow machine too
	metrics := prometheus.NewRegistry()
	c := newCallerResting(t, s, time.Nanosecond, stockapi.Config{Metrics: metrics})
	var all sync.WaitGroup
	for range calls {
		all.Go(func() { _, _ = c.Deduct(t.Context(), "1", items) })
	}
	all.Wait()
	retries := s.requests.Load() - calls
	if counted(t, metrics, "order_stock_budget_refusals_total") == 0 || retries > calls {
		t.Errorf("%d calls were tried again %d times; the budget refused %v",
			calls, retries, counted(t, metrics, "order_stock_budget_refusals_total"))
	}
}

// Ten reads pay for the retry of one, and a read without a try left takes none.
func TestReadsPayForTheirRetries(t *testing.T) {
	var fails atomic.Bool
	s := newFaulty(t, func(w http.ResponseWriter, r *http.Request) {
		if fails.Load() {
			problem(503, "unavailable", "")(w, r)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"goods":[]}`)
	})
	c := newCallerResting(t, s, time.Nanosecond, stockapi.Config{})
	read := func(n int) {
		for range n {
			_, _ = c.Prices(t.Context(), []int64{7})
		}
	}
	read(200) // for 20 retries, and as many are free
	fails.Store(true)
	s.requests.Store(0)
	read(40)
	if n := s.requests.Load(); n != 80 {
		t.Errorf("40 reads that fail are sent %d times, want 80", n)
	}
}

// While reads fail, deductions keep their retries.
func TestReadsHaveTheirOwnBudget(t *testing.T) {
	var refused atomic.Bool
	s := newFaulty(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet || !refused.Swap(true) {
			problem(503, "unavailable", "")(w, r)
			return
		}
		done(w, r)
	})
	c := newCallerResting(t, s, time.Nanosecond, stockapi.Config{})
	var all sync.WaitGroup
	for range 100 {
		all.Go(func() {
			if _, err := c.Prices(t.Context(), []int64{7}); !errors.Is(err, operation.ErrUnavailable) {
				t.Errorf("a read that fails: %v", err)
			}
		})
	}
	all.Wait()
	if _, err := c.Deduct(t.Context(), "1", items); err != nil {
		t.Errorf("the deduction was not tried again: %v", err)
	}
}

func TestTheBreakerOpensAndCloses(t *testing.T) {
	var sick atomic.Bool
	sick.Store(true)
	s := newFaulty(t, func(w http.ResponseWriter, r *http.Request) {
		if sick.Load() {
			cut(w, r)
		}
		done(w, r)
	})
	metrics := prometheus.NewRegistry()
	c := newCallerResting(t, s, 50*time.Millisecond, stockapi.Config{Tries: 1, Metrics: metrics})
	for deadline := time.Now().Add(10 * time.Second); !c.Down(t.Context()) ||
		counted(t, metrics, "order_stock_breaker_refusals_total") == 0; {
		_, _ = c.Deduct(t.Context(), "1", items)
		if time.Now().After(deadline) {
			t.Fatal("every call fails, and the breaker is closed")
		}
	}
	sick.Store(false)
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		if _, err := c.Deduct(t.Context(), "1", items); err == nil {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("the breaker stays open")
		}
	}
}

// The probes of a half-open breaker are withdrawn by their caller, as by a reconciler that loses the lead.
func TestWithdrawnCallsDoNotKeepTheBreakerFromClosing(t *testing.T) {
	const probes = 5
	var answer atomic.Pointer[http.HandlerFunc]
	as := func(h http.HandlerFunc) { answer.Store(&h) }
	as(cut)
	s := newFaulty(t, func(w http.ResponseWriter, r *http.Request) { (*answer.Load())(w, r) })
	c := newCallerResting(t, s, 50*time.Millisecond, stockapi.Config{Tries: 1, Timeout: time.Minute})
	for deadline := time.Now().Add(20 * time.Second); !c.Down(t.Context()); {
		_, _ = c.Deduct(t.Context(), "1", items)
		if time.Now().After(deadline) {
			t.Fatal("every call fails, and the breaker stays closed")
		}
	}
	for c.Down(t.Context()) { // it rests
		time.Sleep(time.Millisecond)
	}

	reached := make(chan struct{})
	as(func(_ http.ResponseWriter, r *http.Request) {
		reached <- struct{}{}
		<-r.Context().Done()
	})
	ctx, withdraw := context.WithCancel(t.Context())
	var all sync.WaitGroup
	for range probes {
		all.Go(func() { _, _ = c.Deduct(ctx, "1", items) })
	}
	for range probes {
		<-reached
	}
	if !c.Down(t.Context()) {
		t.Error("the breaker lets no more calls through, and the caller is not down")
	}
	withdraw()
	all.Wait()
	if c.Down(t.Context()) {
		t.Error("the caller stays down after the calls were withdrawn")
	}
	as(done)
	for range 2 * probes {
		if _, err := c.Deduct(t.Context(), "1", items); err != nil {
			t.Fatalf("the service is back: %v", err)
		}
	}
}

func TestRefusalsOfAHealthyServiceDoNotOpenTheBreaker(t *testing.T) {
	s := newFaulty(t, problem(422, "unknown_goods", ""))
	c := newCaller(t, s, stockapi.Config{})
	for range 50 {
		if _, err := c.Deduct(t.Context(), "1", items); !errors.Is(err, operation.ErrUnknownGoods) {
			t.Fatal(err)
		}
	}
}

func TestConcurrentConfirmationsShareRequests(t *testing.T) {
	const flags = 50
	var sent atomic.Int64
	first := make(chan struct{})
	s := newFaulty(t, func(w http.ResponseWriter, r *http.Request) {
		asked := r.URL.Query()["flag"]
		sent.Add(int64(len(asked)))
		<-first
		operations, flows := make([]string, len(asked)), make([]string, len(asked))
		for i, flag := range asked {
			operations[i] = fmt.Sprintf(`{"flag":%q,"state":"DONE","items":[{"goods_id":"7","num":%s}]}`, flag, flag)
			flows[i] = fmt.Sprintf(`{"flag":%q,"goods_id":"7","kind":"deduct","num":-%s}`, flag, flag)
			if flag == "13" { // a ledger that makes no sense
				flows[i] = `{"flag":"13","goods_id":"7","kind":"deduct","num":-14}`
			}
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"operations":[%s],"flows":[%s]}`, strings.Join(operations, ","), strings.Join(flows, ","))
	})
	c := newCaller(t, s, stockapi.Config{Timeout: time.Minute})
	var all sync.WaitGroup
	for i := 1; i <= flags; i++ {
		all.Go(func() {
			op, found, err := c.Recorded(t.Context(), strconv.Itoa(i))
			if i == 13 {
				if !errors.Is(err, operation.ErrBooksDisagree) {
					t.Errorf("a damaged ledger: %v; want books that disagree", err)
				}
				return
			}
			if err != nil || !found || op.Items[0].Num != int64(i) {
				t.Errorf("flag %d: %+v, %v, %v", i, op, found, err)
			}
		})
	}
	eventually(t, "all wait behind the request that is held", func() bool {
		return int(sent.Load())+c.Confirming() == flags
	})
	close(first)
	all.Wait()
	if n := s.requests.Load(); n > 6 {
		t.Errorf("%d flags took %d requests", flags, n)
	}
}

func TestLevelsThatMakeNoSense(t *testing.T) {
	for answer, status := range map[string]int{
		`{"goods":[{"goods_id":"seven","num":-1}]}`: http.StatusOK, `{}`: http.StatusInternalServerError,
	} {
		s := newFaulty(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(status)
			fmt.Fprint(w, answer)
		})
		found, err := newCaller(t, s, stockapi.Config{}).Oversold(t.Context(), []int64{7})
		if !errors.Is(err, operation.ErrUnavailable) || len(found) > 0 {
			t.Errorf("%s: %v, %v; want the stock service unavailable", answer, found, err)
		}
	}
}
