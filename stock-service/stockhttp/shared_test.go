package stockhttp_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"orderstock/pkg/operation"
	"orderstock/pkg/stockapi"
	"orderstock/stock-service/stock"
	"orderstock/stock-service/stockhttp"
)

// sharing returns a client of s whose deductions share requests, n at a time, and how many it sent.
func sharing(t *testing.T, s *server, n int) (*stockapi.Client, *atomic.Int64) {
	t.Helper()
	var sent atomic.Int64
	count := func(rt http.RoundTripper) http.RoundTripper {
		return roundTripper(func(r *http.Request) (*http.Response, error) {
			sent.Add(1)
			return rt.RoundTrip(r)
		})
	}
	c, err := stockapi.NewClient([]string{s.url},
		stockapi.Config{Token: token, Tries: 1, Timeout: time.Minute, Middleware: count, SharedRequests: n})
	must(t, err)
	t.Cleanup(c.Close)
	return c, &sent
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// Deductions that share requests have the answers that each would have had by itself.
func TestSharedRequestsAnswerEachByItself(t *testing.T) {
	s := serve(t, nil, stockhttp.Config{})
	c, sent := sharing(t, s, 1)
	plenty, scarce := s.Goods(t, 1000), s.Goods(t, 3)
	one := func(goods int64) []operation.Item { return []operation.Item{{GoodsID: goods, Num: 1}} }
	if _, err := c.Deduct(t.Context(), "used", one(plenty)); err != nil {
		t.Fatal(err)
	}
	var done, rejected, unknown, conflicts, invalid, repeats, other atomic.Int64
	var all sync.WaitGroup
	const each = 20
	for range each {
		for _, call := range []struct {
			flag  string
			items []operation.Item
		}{
			{s.Flag(), one(plenty)},
			{s.Flag(), one(scarce)},
			{s.Flag(), one(987654)},
			{"used", []operation.Item{{GoodsID: plenty, Num: 2}}},
			{"used", one(plenty)},
			{s.Flag(), []operation.Item{{GoodsID: plenty, Num: -1}}},
		} {
			all.Go(func() {
				op, err := c.Deduct(t.Context(), call.flag, call.items)
				switch {
				case err == nil && op.Flag != call.flag:
					t.Errorf("flag %s is answered with %s", call.flag, op.Flag)
				case err == nil && op.Repeat:
					repeats.Add(1)
				case err == nil && op.State == operation.Done:
					done.Add(1)
				case err == nil && op.State == operation.Rejected:
					rejected.Add(1)
				case errors.Is(err, operation.ErrUnknownGoods):
					unknown.Add(1)
				case errors.Is(err, operation.ErrFlagConflict):
					conflicts.Add(1)
				case operation.CodeOf(err).Scope() == operation.Final:
					invalid.Add(1)
				default:
					other.Add(1)
					t.Errorf("%s: %+v, %v", call.flag, op, err)
				}
			})
		}
	}
	all.Wait()
	for name, n := range map[string][2]int64{
		"done": {done.Load(), each + 3}, "rejected": {rejected.Load(), each - 3}, "unknown goods": {unknown.Load(), each},
		"conflicts": {conflicts.Load(), each}, "invalid": {invalid.Load(), each}, "repeats": {repeats.Load(), each},
	} {
		if n[0] != n[1] {
			t.Errorf("%s: %d; want %d", name, n[0], n[1])
		}
	}
	if n := sent.Load(); n > 6*each/2 {
		t.Errorf("%d requests for %d deductions", n, 6*each)
	}
	s.CheckLedger(t)
}

// gated is a strategy whose flags that begin with "slow" wait for the gate, "panic" panics, and all others are done at
// once.
type gated struct {
	entered chan string
	open    chan struct{}
}

func (g gated) Deduct(ctx context.Context, r stock.Request) (operation.Operation, error) {
	g.entered <- r.Flag
	switch {
	case strings.HasPrefix(r.Flag, "panic"):
		panic("on demand")
	case strings.HasPrefix(r.Flag, "slow"):
		select {
		case <-g.open:
		case <-ctx.Done():
			return operation.Operation{}, operation.ErrUnavailable
		}
	}
	return operation.Operation{Flag: r.Flag, State: operation.Done, Items: r.Items}, nil
}

// post sends a shared request and returns a reader of its answer's lines.
func post(t *testing.T, s *server, ops ...stockapi.Deduction) *json.Decoder {
	t.Helper()
	body, err := json.Marshal(stockapi.DeductAllRequest{Operations: ops})
	must(t, err)
	req := httptest.NewRequestWithContext(t.Context(), http.MethodPost, s.url+"/v1/operations",
		strings.NewReader(string(body)))
	req.RequestURI = ""
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", "Bearer "+token)
	resp, err := http.DefaultClient.Do(req)
	must(t, err)
	t.Cleanup(func() { _ = resp.Body.Close() })
	if resp.StatusCode != http.StatusOK {
		t.Fatal(resp.Status)
	}
	return json.NewDecoder(resp.Body)
}

func line(t *testing.T, lines *json.Decoder) (a stockapi.DeductAnswer) {
	t.Helper()
	must(t, lines.Decode(&a))
	return a
}

func deduction(flag string) stockapi.Deduction {
	return stockapi.Deduction{Flag: flag, Items: []operation.Item{{GoodsID: 1, Num: 1}}}
}

// A deduction that waits, panics or runs out of time costs the others of its request nothing.
func TestASharedRequestHoldsNobodyUp(t *testing.T) {
	g := gated{make(chan string, 8), make(chan struct{})}
	s := serve(t, g, stockhttp.Config{})
	hurried := deduction("slow-hurried")
	hurried.TimeoutMS, hurried.RequestID = 50, "of-its-own"
	lines := post(t, s, deduction("slow"), deduction("panic"), hurried, deduction("fast"))
	seen := map[int]stockapi.DeductAnswer{}
	for range 3 {
		a := line(t, lines)
		seen[a.Index] = a
	}
	if a := seen[1]; a.Problem == nil || a.Problem.Code != operation.ErrInternal.Name() ||
		strings.Contains(a.Problem.Detail, "demand") {
		t.Errorf("the one that panics: %+v", a)
	}
	if a := seen[2]; a.Problem == nil || a.Problem.Code != operation.ErrUnavailable.Name() ||
		a.RetryAfter != 1 || a.Problem.RequestID != "of-its-own" {
		t.Errorf("the one that runs out of time: %+v", a)
	}
	if a := seen[3]; a.Operation == nil || a.Operation.Flag != "fast" || a.Operation.State != operation.Done {
		t.Errorf("the fast one: %+v", a)
	}
	close(g.open)
	if a := line(t, lines); a.Index != 0 || a.Operation == nil || a.Operation.State != operation.Done {
		t.Errorf("the slow one: %+v", a)
	}
}

// The bound on operations in flight counts each operation of a shared request.
func TestSharedRequestsAreShedOneByOne(t *testing.T) {
	g := gated{make(chan string, 8), make(chan struct{})}
	s := serve(t, g, stockhttp.Config{MaxInFlight: 2})
	lines := post(t, s, deduction("slow-1"), deduction("slow-2"), deduction("slow-3"))
	if a := line(t, lines); a.Problem == nil || a.Problem.Code != operation.ErrOverloaded.Name() || a.RetryAfter != 1 {
		t.Errorf("the third: %+v", a)
	}
	close(g.open)
	for range 2 {
		if a := line(t, lines); a.Operation == nil {
			t.Errorf("one of the two: %+v", a)
		}
	}
}

func TestBadSharedRequests(t *testing.T) {
	s := serve(t, nil, stockhttp.Config{})
	goods := operation.FormatGoodsID(s.Goods(t, 1000))
	before := s.dump(t)
	op := `{"flag":"bad","items":[{"goods_id":"` + goods + `","num":1}]}`
	for body, code := range map[string]string{
		`{}`:                  "invalid_items",
		`{"operations":[]}`:   "invalid_items",
		`{"operations":null}`: "invalid_items",
		`{"operations":[` + strings.Repeat(op+",", stockapi.MaxDeductions) + op + `]}`: "invalid_items",
		`{"operations":[` + op + `],"all_or_none":true}`:                               "unknown_field",
		`{"operations":[{"flag":"bad","items":1}]}`:                                    "invalid_field",
		`{"operations":[` + op:                                                         "malformed_json",
		`{"operations":[{"flag":"` + strings.Repeat("x", 600<<10) + `"}]}`:             "body_too_large",
	} {
		if p, _ := s.send(t, "POST /v1/operations", body, "application/json", token); p.Code != code {
			t.Errorf("%.80s: %q; want %q", body, p.Code, code)
		}
	}
	if p, _ := s.send(t, "POST /v1/operations", `{"operations":[`+op+`]}`,
		"application/json", "wrong"); p.Code != "unauthorized" {
		t.Errorf("without the token: %q", p.Code)
	}
	if after := s.dump(t); after != before {
		t.Errorf("bad requests changed\n%s\ninto\n%s", before, after)
	}
}

// A caller that gives up before its request is sent has changed nothing; one that gives up later cannot know.
func TestGivingUpASharedRequest(t *testing.T) {
	g := gated{make(chan string, 8), make(chan struct{})}
	s := serve(t, g, stockhttp.Config{})
	c, _ := sharing(t, s, 1)
	items := []operation.Item{{GoodsID: 1, Num: 1}}
	soon, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	later, giveUp := context.WithCancel(t.Context())
	defer giveUp()
	var all sync.WaitGroup
	all.Go(func() {
		if _, err := c.Deduct(later, "slow-sent", items); !errors.Is(err, operation.ErrUnknownOutcome) &&
			!errors.Is(err, operation.ErrUnavailable) {
			t.Errorf("sent and given up: %v", err)
		}
	})
	<-g.entered // the one request is on its way
	if _, err := c.Deduct(soon, "queued", items); !errors.Is(err, operation.ErrUnavailable) ||
		!errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("given up in the queue: %v", err)
	}
	giveUp()
	all.Wait()
	close(g.open)
	select {
	case flag := <-g.entered:
		t.Errorf("%s was sent", flag)
	case <-time.After(100 * time.Millisecond):
	}
}
