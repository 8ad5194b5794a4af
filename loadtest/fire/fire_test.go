package fire_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"orderstock/loadtest/contract"
	"orderstock/loadtest/fire"
	"orderstock/loadtest/history"
	"orderstock/pkg/operation"
	"orderstock/pkg/servers/serverstest"
	"orderstock/pkg/stockapi"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m, serverstest.Goroutines()...) }

// body is the body of an order or a deduction.
type body struct {
	Items []operation.Item `json:"items"`
}

// shop answers as the two services do, and counts.
type shop struct {
	*httptest.Server
	// before, if set, is called before each order is looked at.
	before func(key string)
	// answer, if set, answers all orders.
	answer func(w http.ResponseWriter)

	mu     sync.Mutex
	stock  map[string]int64
	flags  map[string]bool // of restocks
	orders map[string]int  // key: number of its order
	bodies map[string]string
	calls  map[string]int // by key
	cancel map[string]int // by order id
	ends   map[string]string
	peak   int
	now    int
}

func newShop(t *testing.T) *shop {
	t.Helper()
	s := &shop{
		stock: map[string]int64{}, flags: map[string]bool{}, orders: map[string]int{}, bodies: map[string]string{},
		calls: map[string]int{}, cancel: map[string]int{}, ends: map[string]string{},
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /openapi.json", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"paths":{"/v1/orders":{},"/v1/stock":{}}}`)
	})
	mux.HandleFunc("POST /v1/stock/{id}/restock", s.restock)
	mux.HandleFunc("POST /v1/orders", s.place)
	mux.HandleFunc("POST /v1/orders/{id}/cancel", s.cancelOrder)
	mux.HandleFunc("PUT /v1/operations/{flag}", s.deduct)
	s.Server = httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return s
}

func (s *shop) restock(w http.ResponseWriter, r *http.Request) {
	var body struct {
		Flag       string
		Num, Price int64
	}
	err := json.NewDecoder(r.Body).Decode(&body)
	if err != nil || r.Header.Get("Authorization") != "Bearer secret" {
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.flags[body.Flag] {
		s.flags[body.Flag] = true
		s.stock[r.PathValue("id")] += body.Num
	}
	_, _ = fmt.Fprintf(w, `{"goods_id":%q,"num":%d}`, r.PathValue("id"), s.stock[r.PathValue("id")])
}

// take deducts the items if there is stock for all of them.
func (s *shop) take(items []operation.Item) bool {
	for _, it := range items {
		if s.stock[operation.FormatGoodsID(it.GoodsID)] < it.Num {
			return false
		}
	}
	for _, it := range items {
		s.stock[operation.FormatGoodsID(it.GoodsID)] -= it.Num
	}
	return true
}

// enter notes a call under a key, which may repeat another, or have another body.
func (s *shop) enter(key string, text []byte) (repeat, other bool, leave func()) {
	s.mu.Lock()
	s.now++
	s.peak = max(s.peak, s.now)
	s.calls[key]++
	s.mu.Unlock()
	if s.before != nil {
		s.before(key)
	}
	s.mu.Lock()
	_, repeat = s.bodies[key]
	if other = repeat && s.bodies[key] != string(text); !other {
		s.bodies[key] = string(text)
	}
	return repeat, other, func() { s.now--; s.mu.Unlock() }
}

func (s *shop) place(w http.ResponseWriter, r *http.Request) {
	if s.answer != nil {
		s.answer(w)
		return
	}
	var text bytes.Buffer
	_, _ = text.ReadFrom(r.Body)
	key := r.Header.Get("Idempotency-Key")
	repeat, other, leave := s.enter(key, text.Bytes())
	defer leave()
	var b body
	if err := json.Unmarshal(text.Bytes(), &b); err != nil || other || r.Header.Get("Content-Type") != "application/json" {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	if !repeat {
		s.orders[key] = len(s.orders) + 1
		s.ends[key] = "REJECTED"
		if s.take(b.Items) {
			s.ends[key] = "CONFIRMED"
		}
	}
	if repeat {
		w.Header().Set("Idempotency-Replayed", "true")
	}
	if s.ends[key] == "CONFIRMED" {
		w.WriteHeader(http.StatusCreated)
	} else {
		w.WriteHeader(http.StatusConflict)
	}
	_, _ = fmt.Fprintf(w, `{"id":"%d","status":%q,"total":1}`, s.orders[key], s.ends[key])
}

// confirmAll has each order confirmed under another id.
func (s *shop) confirmAll() {
	var id atomic.Int64
	s.answer = func(w http.ResponseWriter) {
		w.WriteHeader(http.StatusCreated)
		_, _ = fmt.Fprintf(w, `{"id":"%d","status":"CONFIRMED","total":1}`, id.Add(1))
	}
}

func (s *shop) cancelOrder(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cancel[r.PathValue("id")]++
	_, _ = fmt.Fprintf(w, `{"id":%q,"status":"CANCELLED","total":1}`, r.PathValue("id"))
}

func (s *shop) deduct(w http.ResponseWriter, r *http.Request) {
	var text bytes.Buffer
	_, _ = text.ReadFrom(r.Body)
	repeat, other, leave := s.enter(r.PathValue("flag"), text.Bytes())
	defer leave()
	if other {
		w.WriteHeader(http.StatusConflict)
		return
	}
	var b body
	if err := json.Unmarshal(text.Bytes(), &b); err != nil || r.Header.Get("Authorization") != "Bearer secret" {
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	state := "REJECTED"
	if s.take(b.Items) {
		state = "DONE"
	}
	_, _ = fmt.Fprintf(w, `{"flag":%q,"state":%q,"repeat":%t}`, r.PathValue("flag"), state, repeat)
}

func (s *shop) config() fire.Config {
	return fire.Config{
		Target: fire.Target{OrderURLs: []string{s.URL}, StockURLs: []string{s.URL}, StockToken: "secret"},
		Orders: 200, Concurrency: 20, Plain: true, Patience: 300 * time.Millisecond,
	}
}

// run fires and measures.
func run(t *testing.T, cfg fire.Config) (*history.History, *history.Report) {
	t.Helper()
	h, err := fire.Run(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	return h, h.Measure()
}

func TestFireSendsEachOrderOnceAndRepeatsAShare(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	cfg := s.config()
	cfg.Mix = fire.Mix{Goods: 3, Stock: 100, Repeat: 0.5, Cancel: 0.3}
	var lines bytes.Buffer
	cfg.Progress = &lines
	h, report := run(t, cfg)
	if report.Orders != 200 || len(s.orders) != 200 || report.Confirmed+report.Rejected != 200 || report.Confirmed == 0 ||
		report.Rejected == 0 {
		t.Errorf("%+v; the shop has %d orders", report, len(s.orders))
	}
	var thrice, cancelled, twice int
	for key, n := range s.calls {
		switch n {
		case 3: // at the same time and later
			thrice++
		case 1:
		default:
			t.Errorf("key %s was sent %d times", key, n)
		}
	}
	for _, n := range s.cancel {
		cancelled++
		if n == 2 {
			twice++
		}
	}
	if thrice < 60 || thrice > 140 || cancelled < 30 || cancelled > 90 || twice == 0 || twice > cancelled/2 {
		t.Errorf("%d repeated, want about 100; %d cancelled, want about 60; %d of them by two calls, want about 15",
			thrice, cancelled, twice)
	}
	if s.peak > 40 {
		t.Errorf("%d calls at once of 20 clients and their twins", s.peak)
	}
	file := filepath.Join(t.TempDir(), "out", "history.jsonl")
	if err := h.Save(file); err != nil {
		t.Fatal(err)
	}
	kept, err := history.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	if len(kept.Calls) != report.Calls || kept.Orders() != 200 || len(kept.Goods) != 3 {
		t.Errorf("the file has %d calls of %d orders, want %d of 200", len(kept.Calls), kept.Orders(), report.Calls)
	}
	for n := range 200 {
		if !slices.Equal(kept.Items(n), h.Items(n)) {
			t.Fatalf("order %d: %v in the file, %v sent", n, kept.Items(n), h.Items(n))
		}
	}
	if !strings.Contains(lines.String(), "100%") {
		t.Errorf("progress without a terminal: %q", lines.String())
	}
}

func TestFireMakesTheSameOrdersFromOneSeed(t *testing.T) {
	t.Parallel()
	items := func(seed uint64) (all [][]int64) {
		s := newShop(t)
		cfg := s.config()
		cfg.Orders, cfg.Mix = 50, fire.Mix{Seed: seed, Goods: 7, ItemsMax: 4, Zipf: 1}
		h, _ := run(t, cfg)
		for n := range 50 {
			var order []int64
			for _, it := range h.Items(n) {
				order = append(order, it.GoodsID-h.Goods[0].ID, it.Num)
			}
			all = append(all, order)
		}
		return all
	}
	first, same, other := items(1), items(1), items(2)
	if fmt.Sprint(first) != fmt.Sprint(same) {
		t.Error("one seed, two sets of orders")
	}
	if fmt.Sprint(first) == fmt.Sprint(other) {
		t.Error("two seeds, one set of orders")
	}
}

func TestDeductPathAndZipf(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	cfg := s.config()
	cfg.Path, cfg.Mix = history.PathDeduct, fire.Mix{Goods: 10, Stock: 1000, ItemsMax: 1, NumMax: 1, Zipf: 1.5}
	h, report := run(t, cfg)
	if report.Confirmed != 200 {
		t.Errorf("%+v", report)
	}
	for flag := range s.calls {
		if !strings.HasPrefix(flag, history.DirectPrefix) {
			t.Errorf("flag %s may be an order's", flag)
		}
	}
	sold := func(i int) int64 { return 1000 - s.stock[fmt.Sprint(h.Goods[i].ID)] }
	if sold(0) < 60 || sold(0) < 4*sold(9) {
		t.Errorf("sold %d of the first product and %d of the last, want far more of the first", sold(0), sold(9))
	}
}

// What Config.Deduct returns is recorded as the answer to a call is.
func TestDeductionsMadeByAFunction(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	cfg := s.config()
	cfg.Path, cfg.Orders, cfg.Concurrency, cfg.Timeout = history.PathDeduct, 6, 1, 2*time.Second
	var made []string
	cfg.Deduct = func(ctx context.Context, flag string, sent []history.Item) (operation.Operation, error) {
		made = append(made, flag)
		if len(sent) == 0 || sent[0].Num < 1 {
			t.Errorf("items %v", sent)
		}
		// As the stock service does, it answers by rising goods id.
		sent = slices.Clone(sent)
		history.SortItems(sent)
		items := sent
		switch len(made) {
		case 1:
			return operation.Operation{Flag: flag, State: operation.Done, Items: items}, nil
		case 2:
			return operation.Operation{Flag: flag, State: operation.Rejected, Repeat: true}, nil
		case 3:
			return operation.Operation{}, &stockapi.Error{Code: operation.ErrFlagConflict.Name(), Status: http.StatusConflict}
		case 4:
			return operation.Operation{}, fmt.Errorf("%w: no connection", operation.ErrUnavailable)
		case 5:
			<-ctx.Done()
			return operation.Operation{}, fmt.Errorf("%w: %w", operation.ErrUnknownOutcome, ctx.Err())
		}
		return operation.Operation{}, operation.ErrUnknownOutcome
	}
	h, _ := run(t, cfg)
	for i, want := range []history.Call{
		{Status: history.Done, Code: 200, Named: history.ItemsAsSent},
		{Status: history.Rejected, Code: 200, Replayed: true},
		{Code: 409, Problem: history.FlagConflict},
		{Failure: history.Refused},
		{Failure: history.TimedOut},
		{Failure: history.Broken},
	} {
		got := h.Calls[i]
		if got.Status != want.Status || got.Code != want.Code || got.Replayed != want.Replayed ||
			got.Failure != want.Failure || got.Problem != want.Problem || got.Named != want.Named {
			t.Errorf("call %d: %+v, want %+v", i+1, got, want)
		}
		if made[i] != h.Key(int(got.Op)) {
			t.Errorf("call %d was made under %s, want %s", i+1, made[i], h.Key(int(got.Op)))
		}
	}
}

// A server that stalls is charged with the wait of the orders that should have been sent during the stall.
func TestLatencyCountsFromTheIntendedTime(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	var once sync.Once
	s.before = func(string) { once.Do(func() { time.Sleep(500 * time.Millisecond) }) }
	cfg := s.config()
	cfg.Orders, cfg.Concurrency, cfg.Rate = 50, 1, 100
	h, report := run(t, cfg)
	// One call took 500 ms; the 49 others were meant for the 490 ms after its start.
	if report.P50 < 100*time.Millisecond || report.Max < 450*time.Millisecond {
		t.Errorf("p50 %s, max %s; want the stall in them", report.P50, report.Max)
	}
	for i, c := range h.Calls[1:] {
		if before := h.Calls[i]; c.Sent < before.Done {
			t.Errorf("of one client, a call was sent %s into the run, before the answer to the one before, after %s",
				c.Sent, before.Done)
		}
	}
}

func TestRateAndDuration(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	cfg := s.config()
	cfg.Orders, cfg.Rate, cfg.Duration, cfg.Warmup = 0, 200, time.Second, 200*time.Millisecond
	h, report := run(t, cfg)
	if report.Orders != 200 || report.Confirmed+report.Rejected != 200 {
		t.Errorf("%d orders in a second, %d answered, want 200", report.Orders, report.Confirmed+report.Rejected)
	}
	// The pace is in the intended times, even on a slow machine: one each 5 ms.
	var last time.Duration
	for _, c := range h.Calls {
		last = max(last, c.Intended)
	}
	if last < 990*time.Millisecond || last > time.Second {
		t.Errorf("the last of 200 was meant for %s, want 995ms", last)
	}
}

func TestFireIsStoppedInTheMiddle(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	ctx, cancel := context.WithCancel(t.Context())
	var once sync.Once
	s.before = func(string) { once.Do(func() { cancel(); time.Sleep(50 * time.Millisecond) }) }
	cfg := s.config()
	cfg.Orders, cfg.Rate = 1000, 100
	h, err := fire.Run(ctx, cfg)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range h.Calls {
		if c.Code == 0 {
			t.Errorf("a call was cut: %+v", c)
		}
	}
	if n := h.Measure().Orders; n == 0 || n > 100 {
		t.Errorf("%d orders after the stop", n)
	}
}

// A run that has enough sends no more orders, and is whole: nothing is missing from it.
func TestFireEndsWhenItHasEnough(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	cfg := s.config()
	var ended atomic.Int64
	cfg.Orders, cfg.Concurrency = 1000, 4
	cfg.Ended = func(*fire.Event) { ended.Add(1) }
	cfg.Enough = func() bool { return ended.Load() >= 20 }
	h, report := run(t, cfg)
	if n := report.Orders; n < 1 || n > 24 || h.Asked != n || h.Interrupted {
		t.Errorf("%d orders of %d asked for, interrupted: %t; want those until 20 calls had ended", n, h.Asked, h.Interrupted)
	}
}

func TestFailuresAreTold(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	cfg := s.config()
	cfg.Orders, cfg.Concurrency, cfg.Timeout = 8, 2, 2*time.Second
	over := make(chan struct{})
	defer close(over)
	s.before = func(key string) {
		switch {
		case strings.HasSuffix(key, "-1"):
			panic(http.ErrAbortHandler) // cuts the connection
		case strings.HasSuffix(key, "-2"):
			<-over
		}
	}
	h, report := run(t, cfg)
	for _, c := range h.Calls {
		want := map[int32]history.Failure{1: history.Broken, 2: history.TimedOut}[c.Op]
		if c.Failure != want || (c.Code == 0) != (want != history.Answered) {
			t.Errorf("order %d: failure %q, code %d; want %q", c.Op, c.Failure, c.Code, want)
		}
	}
	if report.Unknown != 2 || report.Confirmed != 6 {
		t.Errorf("%+v", report)
	}
}

// A client that insists repeats unserved calls, under the same key and at the next address, and no others.
func TestAClientInsists(t *testing.T) {
	t.Parallel()
	stopping, s := newShop(t), newShop(t)
	var away atomic.Bool
	stopping.before = func(string) {
		if away.CompareAndSwap(false, true) {
			panic(http.ErrAbortHandler)
		}
	}
	var busy atomic.Int64
	s.answer = func(w http.ResponseWriter) {
		if busy.Add(1) <= 3 {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		w.WriteHeader(http.StatusCreated)
		_, _ = fmt.Fprintf(w, `{"id":"%d","status":"CONFIRMED","total":1}`, busy.Load())
	}
	cfg := s.config()
	cfg.Orders, cfg.Concurrency, cfg.Insist = 6, 1, 10*time.Second
	cfg.OrderURLs = []string{stopping.URL, s.URL}
	h, _ := run(t, cfg)
	unserved, ends := map[int32]int{}, map[int32]int{}
	for _, c := range h.Calls {
		if c.Unserved() {
			unserved[c.Op]++
		} else {
			ends[c.Op]++
		}
	}
	if unserved[0] != 2 || len(ends) != 6 || len(h.Calls) != 10 {
		t.Errorf("not served %v, ended %v of %d calls; want one break, three times 503, and an end each", unserved, ends,
			len(h.Calls))
	}
}

// A client that insists waits for no answer longer than it insists.
func TestAClientInsistsForItsTimeOnly(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.answer = func(w http.ResponseWriter) {
		w.Header().Set("Retry-After", "86400")
		w.WriteHeader(http.StatusServiceUnavailable)
	}
	cfg := s.config()
	cfg.Orders, cfg.Insist = 1, 200*time.Millisecond
	ended := make(chan error, 1)
	go func() { _, err := fire.Run(t.Context(), cfg); ended <- err }()
	select {
	case err := <-ended:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(time.Minute):
		t.Error("it waits for a day")
	}
}

// A service that says that it is not ready has announced that it leaves. One whose connection breaks first has not,
// although it says so when it comes back.
func TestAnAnnouncedStop(t *testing.T) {
	t.Parallel()
	for announced, answers := range map[bool]func(w http.ResponseWriter, asked int64){
		true: func(w http.ResponseWriter, asked int64) {
			if asked == 2 || asked == 3 {
				w.WriteHeader(http.StatusServiceUnavailable)
			}
		},
		false: func(w http.ResponseWriter, asked int64) {
			switch asked {
			case 2:
				panic(http.ErrAbortHandler)
			case 3:
				w.WriteHeader(http.StatusServiceUnavailable)
			}
		},
	} {
		s := newShop(t)
		var asked atomic.Int64
		front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/readyz" {
				answers(w, asked.Add(1))
				return
			}
			s.Config.Handler.ServeHTTP(w, r)
		}))
		t.Cleanup(front.Close)
		cfg := s.config()
		cfg.Orders, cfg.Rate, cfg.OrderURLs = 1000, 20, []string{front.URL}
		cfg.Enough = func() bool { return asked.Load() > 4 } // it has been back
		h, _ := run(t, cfg)
		// A machine that stands still for a second makes more of them, which are not announced.
		away, said := slices.DeleteFunc(slices.Clone(h.Away), func(a history.Away) bool { return a.Address != front.URL }), 0
		for _, a := range away {
			if a.Announced {
				said++
			}
		}
		if len(away) == 0 || away[0].Announced != announced || said > 1 || said > 0 != announced ||
			away[0].To <= away[0].From {
			t.Errorf("away: %+v; want once, announced: %t", h.Away, announced)
		}
	}
}

// A call that reached nobody goes to the next address. If nobody listens at any address, it is refused.
func TestAnAddressWhereNobodyListens(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	cfg := s.config()
	cfg.Orders, cfg.Rate, cfg.Mix.Goods = 20, 20, 20
	cfg.OrderURLs, cfg.StockURLs = []string{nobody, s.URL}, []string{nobody, s.URL}
	whole, report := run(t, cfg)
	if report.Confirmed != 20 {
		t.Errorf("%+v; want all 20 at the other address", report)
	}
	for _, a := range whole.Away {
		if a.Address != nobody || a.From != 0 || a.To < whole.Elapsed/2 || a.Announced {
			t.Errorf("%+v was away; want %s from the start to the end, %s, without a word", a, nobody, whole.Elapsed)
		}
	}
	if len(whole.Away) != 2 {
		t.Errorf("away: %v; want %s twice, as an order service and as a stock service", whole.Away, nobody)
	}
	cfg.Rate, cfg.Orders, cfg.OrderURLs = 0, 4, []string{listenOnce(t)}
	h, report := run(t, cfg)
	if report.Unknown != 4 {
		t.Fatalf("%+v", report)
	}
	for _, c := range h.Calls {
		if c.Failure != history.Refused {
			t.Errorf("failure %q, want refused", c.Failure)
		}
	}
}

// nobody is an address where nothing listens.
const nobody = "http://127.0.0.1:1"

// listenOnce returns an address that accepts one connection, and none after it.
func listenOnce(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		if c, err := listener.Accept(); err == nil {
			_ = c.Close()
		}
		_ = listener.Close()
	}()
	t.Cleanup(func() { _ = listener.Close(); <-closed })
	return "http://" + listener.Addr().String()
}

// A run with nothing to fire at says so at once.
func TestNothingIsUp(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	for name, target := range map[string]fire.Target{
		"stock service": {OrderURLs: []string{s.URL}, StockURLs: []string{nobody, nobody}},
		"order service": {OrderURLs: []string{nobody}, StockURLs: []string{s.URL}, StockToken: "secret"},
	} {
		began := time.Now()
		_, err := fire.Run(t.Context(), fire.Config{Target: target})
		if !errors.Is(err, fire.ErrUnreachable) || !strings.Contains(err.Error(), name) ||
			!strings.Contains(err.Error(), nobody) {
			t.Errorf("%v; want that the %s at %s is not reached", err, name, nobody)
		}
		if took := time.Since(began); took > 5*time.Second {
			t.Errorf("told after %s", took)
		}
	}
}

func TestCallbacksAreToldOfEachCall(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	var (
		mu    sync.Mutex
		begun *history.History
		ended []fire.Event
		live  fire.Live
	)
	cfg := s.config()
	cfg.Live, cfg.OrderURLs, cfg.Begun = &live, []string{nobody, s.URL}, func(h *history.History) { begun = h }
	cfg.Ended = func(e *fire.Event) {
		mu.Lock()
		defer mu.Unlock()
		ended = append(ended, *e)
	}
	cfg.Mix = fire.Mix{Goods: 3, Stock: 100, Repeat: 0.5, Cancel: 0.3}
	h, report := run(t, cfg)
	if begun != h || len(ended) != len(h.Calls) {
		t.Errorf("told of %d calls; want all %d", len(ended), len(h.Calls))
	}
	told := map[history.Call]int{}
	for _, c := range h.Calls {
		told[c]++
	}
	for _, e := range ended {
		if told[e.Call]--; told[e.Call] < 0 {
			t.Fatalf("told of %+v, which is not in the history", e.Call)
		}
		if e.Failure != history.Answered || len(e.Items) == 0 {
			t.Fatalf("%+v; want an answer, also if the dead replica was first, and the items", e)
		}
	}
	if c := live.Counts(); c.Outcomes != report.Outcomes {
		t.Errorf("counted %+v, reported %+v", c, report)
	}
}

func TestAnswersAreReadAsTheContractSays(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		code    int
		body    string
		status  history.Status
		failure history.Failure
	}{
		{201, `{"id":"7","status":"CONFIRMED","total":3}`, history.Confirmed, history.Answered},
		{409, `{"id":"7","status":"CANCELLED","total":3}`, history.Cancelled, history.Answered},
		{503, `{"type":"about:blank","status":503,"code":"unavailable"}`, history.NoStatus, history.Answered},
		{422, `{"type":"about:blank","status":422,"code":"invalid_items"}`, history.NoStatus, history.Answered},
		{422, `{"type":"about:blank","status":400,"code":"invalid_items"}`, history.NoStatus, history.Unreadable},
		{503, `<html>no server is available</html>`, history.NoStatus, history.Answered},
		{201, `<html>welcome</html>`, history.NoStatus, history.Unreadable},
		{201, `{"id":7,"status":"CONFIRMED"}`, history.NoStatus, history.Unreadable},
		{201, `{"id":"7","status":"CONFIRMED","idempotency_key":"k"}`, history.NoStatus, history.Unreadable},
		{201, `{"id":"7","Status":"CONFIRMED"}`, history.NoStatus, history.Unreadable},
		{201, `{"id":"7","status":"CONFIRMED","updated_at":"2026-01-02T03:04:05Z"}`, history.NoStatus, history.Unreadable},
		{201, `{"id":"7","status":201}`, history.NoStatus, history.Unreadable},
		{201, `{"id":"7","status":"SOLD"}`, history.Unheard, history.Answered},
	} {
		s := newShop(t)
		s.answer = func(w http.ResponseWriter) { w.WriteHeader(c.code); _, _ = w.Write([]byte(c.body)) }
		cfg := s.config()
		cfg.Orders = 1
		h, _ := run(t, cfg)
		if got := h.Calls[0]; got.Status != c.status || got.Failure != c.failure || int(got.Code) != c.code {
			t.Errorf("%d %s is read as %q %q", c.code, c.body, got.Status, got.Failure)
		}
	}
}

func TestFireRefusesAWrongConfiguration(t *testing.T) {
	t.Parallel()
	const rates = ": want 0, or 0.001 to 1000000 orders a second"
	for says, change := range map[string]func(*fire.Config){
		"no address of the order service":          func(c *fire.Config) { c.OrderURLs = nil },
		`"https://example.org": want http`:         func(c *fire.Config) { c.OrderURLs = []string{"https://example.org"} },
		"repeat 1.5: want 0 to 1":                  func(c *fire.Config) { c.Mix.Repeat = 1.5 },
		"repeat NaN: want 0 to 1":                  func(c *fire.Config) { c.Mix.Repeat = math.NaN() },
		"zipf NaN: want 0 to 10":                   func(c *fire.Config) { c.Mix.Zipf = math.NaN() },
		"rate NaN" + rates:                         func(c *fire.Config) { c.Rate = math.NaN() },
		"rate +Inf" + rates:                        func(c *fire.Config) { c.Rate = math.Inf(1) },
		"rate 1e-09" + rates:                       func(c *fire.Config) { c.Rate = 1e-9 },
		"rate -1" + rates:                          func(c *fire.Config) { c.Rate = -1 },
		"orders -1: want 1 to 50000000":            func(c *fire.Config) { c.Orders = -1 },
		"items-max 101: want 1 to 100":             func(c *fire.Config) { c.Mix.ItemsMax, c.Mix.Goods = 101, 200 },
		"the warm-up must be shorter than the run": func(c *fire.Config) { c.Duration, c.Warmup = time.Second, time.Second },
		`path "sideways": want order or deduct`:    func(c *fire.Config) { c.Path = "sideways" },
		"code 401":                                 func(c *fire.Config) { c.StockToken = "wrong" },
	} {
		cfg := newShop(t).config()
		change(&cfg)
		if _, err := fire.Run(t.Context(), cfg); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("error %v, want %q", err, says)
		}
	}
}

// A call that is answered 503 is repeated when the traffic has ended, until it has an end; one that never has one is
// given up.
func TestCallsWithoutAnEndAreRepeated(t *testing.T) {
	t.Parallel()
	for name, heals := range map[string]bool{"healed": true, "never": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newShop(t)
			var over atomic.Bool
			calls := http.HandlerFunc(s.Config.Handler.ServeHTTP)
			s.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Method == http.MethodPost && r.URL.Path == "/v1/orders" && !over.Load() {
					w.Header().Set("Retry-After", "1")
					w.WriteHeader(http.StatusServiceUnavailable)
					return
				}
				calls(w, r)
			})
			cfg := s.config()
			cfg.Orders, cfg.Disturbed = 10, true
			cfg.Healed = func() bool { over.Store(heals); return true }
			if heals { // each ends when it is repeated, however slow the machine
				cfg.Patience = time.Minute
			}
			h, _ := run(t, cfg)
			ended := 0
			for i := range h.Calls {
				if h.Calls[i].Ended() {
					ended++
				}
			}
			if want := map[bool]int{true: 10, false: 0}[heals]; ended != want || h.Patience == 0 {
				t.Errorf("%d calls ended, want %d; patience %s", ended, want, h.Patience)
			}
		})
	}
}

// An answer that asks for a wait of a day excuses its own call: that is not repeated, and the others are.
func TestFireDoesNotWaitForADay(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	calls := http.HandlerFunc(s.Config.Handler.ServeHTTP)
	s.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch key := r.Header.Get("Idempotency-Key"); {
		case strings.HasSuffix(key, "-3"):
			w.Header().Set("Retry-After", "86400")
			w.WriteHeader(http.StatusTooManyRequests)
		case strings.HasSuffix(key, "-4"):
			w.WriteHeader(http.StatusServiceUnavailable)
		default:
			calls(w, r)
		}
	})
	cfg := s.config()
	cfg.Orders, cfg.Concurrency, cfg.Patience = 10, 1, 2*time.Second
	h, _ := run(t, cfg)
	sent, postponed := map[int32]int{}, map[int32]int{}
	for _, c := range h.Calls {
		if sent[c.Op]++; c.Postponed {
			postponed[c.Op]++
		}
	}
	if h.Patience != cfg.Patience || sent[3] > 2 || postponed[3] != sent[3] || len(postponed) != 1 || sent[4] < 2 {
		t.Errorf("patience %s, sent %v, postponed %v; want the fourth order alone postponed, and the fifth repeated",
			h.Patience, sent, postponed)
	}
}

// A run of 2,000 orders draws each row of the grammar. It reads levels at last, and sends the first repeats of its
// clients again when all else has been sent.
func TestFireDrawsEachRowOfTheGrammar(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.confirmAll()
	cfg := s.config()
	cfg.Plain, cfg.Orders, cfg.Mix = false, 2000, fire.Mix{Goods: 5, Stock: 1000, Repeat: 0.1, Cancel: 0.1, Seed: 1}
	h, _ := run(t, cfg)
	drawn := h.Drawn()
	if len(h.NotAsked) > 0 || len(drawn) < 80 {
		t.Errorf("%d kinds of odd calls; not drawn: %q", len(drawn), h.NotAsked)
	}
	rows := slices.Collect(maps.Keys(drawn))
	for _, r := range contract.Routes() {
		of := func(row string) bool { return strings.HasSuffix(row, r.String()) }
		if (r.Guarded || len(r.Parameters) > 0) && !slices.ContainsFunc(rows, of) {
			t.Errorf("%s is not drawn, though the OpenAPI document has it", r)
		}
	}
	var last history.Call
	for _, c := range h.Calls {
		if c.Kind.Places() {
			last = c
		}
	}
	if levels := h.Asides[len(h.Asides)-6]; last.Kind != history.Again || levels.Row != history.RowLevel ||
		levels.Sent < last.Done {
		t.Errorf("at last: %s; and %s at %s, want a repeat, and levels after it", last.Kind, levels.Row, levels.Sent)
	}
}

// Each default run asks for the last value that the contract allows, and the first that it does not, of each number,
// id, text and list. What it does not ask, it says. 8 % of its calls are odd at most.
func TestFireDrawsEachBorder(t *testing.T) {
	t.Parallel()
	for seed := range uint64(5) {
		s := newShop(t)
		s.confirmAll()
		cfg := s.config()
		cfg.Plain, cfg.Orders, cfg.Mix = false, 0, fire.Mix{Repeat: 0.1, Cancel: 0.1 * float64(seed%2), Seed: seed + 1}
		cfg.Patience = time.Nanosecond // the reads, which this shop does not serve, are not repeated
		h, report := run(t, cfg)
		sum := 0
		for _, n := range h.Drawn() {
			sum += n
		}
		if all := report.Calls + len(h.Asides); 100*sum > 8*all {
			t.Errorf("seed %d: %d of %d calls are odd, want 8 %% at most", seed+1, sum, all)
		}
		for _, r := range contract.Routes() {
			asked := map[string]bool{}
			for i := range h.Asides {
				if a := &h.Asides[i]; a.Method == r.Method && a.Route == r.Path {
					note(t, asked, r, a)
				}
			}
			said := func(name string) bool {
				return slices.ContainsFunc(h.NotAsked, func(row string) bool {
					return strings.Contains(row, " "+name+" ") && strings.HasSuffix(row, ", "+r.String())
				})
			}
			for _, p := range r.Parameters {
				for _, valid := range []bool{true, false} {
					writes := valid && p.In == "path" && r.Stock && r.Method != http.MethodGet
					for _, value := range bordersOf(p.Schema, valid) {
						if !writes && !asked[p.Name+"="+value] && !said(p.Name) {
							t.Errorf("seed %d: %s was not asked with %s=%.40s, and the run does not say so", seed+1, r, p.Name, value)
						}
					}
				}
			}
			for _, name := range r.Fields() {
				for _, value := range bordersOf(r.Body.Properties[name], false) {
					if !asked[name+"="+value] && !said(name) {
						t.Errorf("seed %d: %s was not sent with %s %.40s, and the run does not say so", seed+1, r, name, value)
					}
				}
			}
		}
	}
}

// bordersOf returns the last values that a schema allows, or the first that it does not. A list is its length.
func bordersOf(s *contract.Schema, valid bool) (values []string) {
	add := func(last, next int64) {
		values = append(values, fmt.Sprint(map[bool]int64{true: last, false: next}[valid]))
	}
	longest := map[bool]int{true: s.MaxLength, false: s.MaxLength + 1}[valid]
	switch {
	case s.MaxItems > 0:
		add(int64(s.MaxItems), int64(s.MaxItems)+1)
	case s.Maximum != nil:
		add(*s.Minimum, *s.Minimum-1)
		add(*s.Maximum, *s.Maximum+1)
	case strings.Contains(s.Pattern, "[0-9]"):
		values = append(values, map[bool]string{true: "9223372036854775807", false: "9223372036854775808"}[valid])
	case strings.HasSuffix(s.Pattern, "{1,64}$"):
		values = append(values, strings.Repeat("x", map[bool]int{true: 64, false: 65}[valid]))
	case s.MaxLength > 0:
		values = append(values, strings.Repeat("x", longest))
	}
	return values
}

// note notes the parameters and the fields of a call, as name=value or name=length of a list.
func note(t *testing.T, asked map[string]bool, r *contract.Route, a *history.Aside) {
	t.Helper()
	u, err := url.Parse(a.Path)
	if err != nil {
		t.Fatal(err)
	}
	for name, values := range u.Query() {
		for _, value := range values {
			asked[name+"="+value] = true
		}
		asked[fmt.Sprintf("%s=%d", name, len(values))] = true
	}
	parts := strings.Split(u.Path, "/")
	for i, part := range strings.Split(r.Path, "/") {
		if strings.HasPrefix(part, "{") && i < len(parts) {
			asked[strings.Trim(part, "{}")+"="+parts[i]] = true
		}
	}
	var fields map[string]json.RawMessage
	if json.Unmarshal([]byte(a.Body), &fields) == nil {
		for name, value := range fields {
			asked[name+"="+strings.Trim(string(value), `"`)] = true
		}
	}
}

// A long run sends fewer repeats, lists, late reads and odd calls for each order after the first 4,000. It does not
// leave any of them out.
func TestALongRunCallsLess(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.confirmAll()
	cfg := s.config()
	cfg.Plain, cfg.Orders, cfg.Mix = false, 8000, fire.Mix{Goods: 5, Stock: 1000, Cancel: 0.5, Seed: 1}
	h, _ := run(t, cfg)
	var calls, twice, beside [2]int // of the first half of the orders, and of the second
	cancels := map[int32]int{}
	for i := range h.Calls {
		c := &h.Calls[i]
		half := int(c.Op) / 4000
		calls[half]++
		if c.Kind == history.Cancel {
			if cancels[c.Op]++; cancels[c.Op] == 2 {
				twice[half]++
			}
		}
		if c.Kind == history.Again && h.FormOf(int(c.Op)) == history.Plain {
			beside[half]++
		}
	}
	if calls[0] < 10_000 || 10*calls[1] > 9*calls[0] || 10*calls[1] < 7*calls[0] {
		t.Errorf("%d calls for the first 4,000 orders, %d for the others; want a tenth to a third fewer", calls[0], calls[1])
	}
	if twice[1] < 300 || twice[1] >= twice[0] || beside[1] < 100 || 2*beside[1] > beside[0] {
		t.Errorf("cancelled twice: %d, then %d; sent again beside it: %d, then %d; want fewer, but many", twice[0], twice[1],
			beside[0], beside[1])
	}
}

// TestOneListAtATime: clients that have cancelled orders do not list orders at once. The order service lets pages wait
// for one another.
func TestOneListAtATime(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.confirmAll()
	others, calls := s.Config.Handler, make(chan struct{})
	s.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet || r.URL.Path != "/v1/orders" {
			select {
			case calls <- struct{}{}:
			default: // nobody lists
			}
			others.ServeHTTP(w, r)
			return
		}
		end, cancel := context.WithTimeout(r.Context(), 100*time.Millisecond)
		defer cancel()
		for range 20 { // some five of these calls cancel an order
			select {
			case <-calls:
			case <-end.Done(): // the run ends
			}
		}
		_, _ = io.WriteString(w, `{"orders":[]}`)
	})
	cfg := s.config()
	cfg.Plain, cfg.Orders, cfg.Mix = false, 1000, fire.Mix{Goods: 5, Stock: 1000, Cancel: 0.5, Seed: 1}
	h, _ := run(t, cfg)
	var lists []history.Aside
	for _, a := range h.Asides {
		if a.Row == "list: after a cancellation" {
			lists = append(lists, a)
		}
	}
	slices.SortFunc(lists, func(a, b history.Aside) int { return cmp.Compare(a.Sent, b.Sent) })
	for i := 1; i < len(lists); i++ {
		if lists[i].Sent < lists[i-1].Done {
			t.Fatalf("of %d lists, one is sent at %s, and the one before is answered at %s", len(lists), lists[i].Sent,
				lists[i-1].Done)
		}
	}
	if len(lists) < 10 {
		t.Errorf("%d lists after some 500 cancellations", len(lists))
	}
}

// TestRequestIDs: an answer has the id of its request, or a new one, and a problem in it has the same.
func TestRequestIDs(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		answer func(w http.ResponseWriter, sent string) (inProblem string)
		other  bool
	}{
		"sent back, or made": {
			func(w http.ResponseWriter, sent string) string { return named(w, cmp.Or(sent, "made")) }, false,
		},
		"only sent back": {named, true},
		"cut in a problem": {
			func(w http.ResponseWriter, sent string) string { return named(w, cmp.Or(sent, "made"))[:3] }, true,
		},
	} {
		s := newShop(t)
		s.confirmAll()
		others := s.Config.Handler
		s.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodPost || r.URL.Path == "/openapi.json" {
				others.ServeHTTP(w, r)
				return
			}
			id := c.answer(w, r.Header.Get("X-Request-Id"))
			w.WriteHeader(http.StatusNotFound)
			_, _ = fmt.Fprintf(w, `{"type":"about:blank","title":"T","status":404,"code":"not_found","request_id":%q}`, id)
		})
		cfg := s.config()
		cfg.Plain, cfg.Orders, cfg.Mix = false, 1000, fire.Mix{Goods: 5, Stock: 1000, Seed: 1}
		h, _ := run(t, cfg)
		reads, wrong := 0, 0
		for _, a := range h.Asides {
			if a.Method == http.MethodGet {
				reads++
				if a.OtherID {
					wrong++
				}
			}
		}
		if reads == 0 || (wrong > 0) != c.other {
			t.Errorf("%s: %d of %d reads have another id", name, wrong, reads)
		}
	}
}

// named sets the header of an answer.
func named(w http.ResponseWriter, id string) string {
	w.Header().Set("X-Request-Id", id)
	return id
}

// An interrupted run does not wait until each call has an end.
func TestFireStopsRepeatingWhenItIsInterrupted(t *testing.T) {
	t.Parallel()
	var calls atomic.Int64
	ctx, interrupt := context.WithCancel(t.Context())
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if calls.Add(1) > 100 { // the repeats have begun
			interrupt()
		}
		w.WriteHeader(http.StatusServiceUnavailable)
	}))
	defer server.Close()
	cfg := fire.Config{
		Target: fire.Target{OrderURLs: []string{server.URL}}, Orders: 20, Concurrency: 5, Plain: true,
		Patience: time.Hour, Mix: fire.Mix{Goods: 1, Stock: 10},
	}
	cfg.StockURLs, cfg.StockToken = []string{newShop(t).URL}, "secret"
	ended := make(chan error, 1)
	go func() { _, err := fire.Run(ctx, cfg); ended <- err }()
	select {
	case err := <-ended:
		if err != nil && !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	case <-time.After(time.Minute):
		t.Error("it goes on")
	}
}
