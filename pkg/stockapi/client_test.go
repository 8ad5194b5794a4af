package stockapi_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"orderstock/pkg/observe"
	"orderstock/pkg/operation"
	"orderstock/pkg/stockapi"
)

// alone is for tests that count calls: a slow machine must not turn one into two.
var alone = stockapi.Config{Token: "secret", Tries: 1, Timeout: time.Minute}.Hedged(time.Minute)

func client(t *testing.T, bases ...string) *stockapi.Client {
	t.Helper()
	c, err := stockapi.NewClient(bases, alone)
	must(t, err)
	t.Cleanup(c.Close)
	return c
}

func server(t *testing.T, h http.HandlerFunc) string {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s.URL
}

// Nobody listens at these.
const refusing, refusingToo = "http://127.0.0.1:1", "http://127.0.0.1:2"

// TestCodesAreReadBackwards: for every code of the server, the client has the error in the table.
func TestCodesAreReadBackwards(t *testing.T) {
	for _, code := range operation.Codes {
		problem := stockapi.Problem(code, "because")
		c := client(t, server(t, func(w http.ResponseWriter, _ *http.Request) {
			if problem.RetryAfter > 0 {
				w.Header().Set("Retry-After", "1")
			}
			w.WriteHeader(problem.Status)
			_ = json.NewEncoder(w).Encode(problem)
		}))
		_, err := c.Deduct(t.Context(), "f", nil)
		var full *stockapi.Error
		if operation.CodeOf(err).Scope() != code.Scope() || !errors.Is(err, code) ||
			!errors.As(err, &full) || full.Code != code.Name() || full.Detail != "because" {
			t.Errorf("%s: %v", code.Name(), err)
		}
		if full != nil && (problem.Status == 503) != (full.RetryAfter == time.Second) {
			t.Errorf("%s: retry after %v", code.Name(), full.RetryAfter)
		}
	}
}

func TestForeignAnswersAreJudgedByStatus(t *testing.T) {
	for status, want := range map[int]operation.Scope{
		400: operation.Final, 401: operation.Service, 429: operation.Service,
		500: operation.Unknown, 502: operation.Unknown, 503: operation.Service,
	} {
		c := client(t, server(t, func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(status)
			_, _ = w.Write([]byte("<html>proxy says no</html>"))
		}))
		if _, err := c.Cancel(t.Context(), "f"); operation.CodeOf(err).Scope() != want {
			t.Errorf("%d: %v; want scope %v", status, err, want)
		}
	}
}

func TestPassesOnTokenRequestIDAndTime(t *testing.T) {
	var got http.Header
	c := client(t, server(t, func(w http.ResponseWriter, r *http.Request) {
		got = r.Header.Clone()
		_, _ = w.Write([]byte(`{"flag":"f","state":"DONE"}`))
	}))
	ctx, cancel := context.WithTimeout(observe.WithRequest(t.Context(), slog.New(slog.DiscardHandler), ""), 50*time.Second)
	defer cancel()
	op, err := c.Deduct(ctx, "f", []operation.Item{{GoodsID: 1, Num: 1}})
	if err != nil || op.State != operation.Done {
		t.Fatal(op, err)
	}
	if got.Get("Authorization") != "Bearer secret" || got.Get(observe.HeaderID) != observe.RequestID(ctx) {
		t.Errorf("headers %v", got)
	}
	if ms, err := strconv.Atoi(got.Get(observe.HeaderTimeout)); err != nil || ms < 30_000 || ms > 50_000 {
		t.Errorf("time left %q; want nearly 50,000 ms", got.Get(observe.HeaderTimeout))
	}
}

func TestSpreadsAndFailsOver(t *testing.T) {
	var a, b atomic.Int64
	count := func(n *atomic.Int64) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			n.Add(1)
			_, _ = w.Write([]byte(`{"flag":"f","state":"DONE"}`))
		}
	}
	c := client(t, server(t, count(&a)), refusing, server(t, count(&b)))
	for range 30 {
		if _, err := c.Cancel(t.Context(), "f"); err != nil {
			t.Fatal(err)
		}
	}
	if a.Load()+b.Load() != 30 || a.Load() < 10 || b.Load() < 10 {
		t.Errorf("%d and %d calls; want 30, at least 10 each", a.Load(), b.Load())
	}
	if _, err := client(t, refusing, refusingToo).Cancel(t.Context(), "f"); !errors.Is(err, operation.ErrUnavailable) {
		t.Errorf("all refuse: %v; want unavailable: nothing was done", err)
	}
}

// A name's first address may be of a network that this machine does not have.
func TestEveryAddressOfANameIsTried(t *testing.T) {
	var asked atomic.Int64
	base := server(t, func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		w.Header().Set("Connection", "close")
		_, _ = w.Write([]byte(`{"flag":"f","state":"DONE"}`))
	})
	u, err := url.Parse(base)
	must(t, err)
	names := net.DefaultResolver
	defer func() { net.DefaultResolver = names }()
	net.DefaultResolver = resolver(t, net.ParseIP("2001:db8::1"), net.ParseIP("127.0.0.1"))
	c := client(t, "http://stock.test.:"+u.Port())
	for range 4 {
		if _, err := c.Cancel(t.Context(), "f"); err != nil {
			t.Error(err)
		}
	}
}

// A front's redirect is not followed: the token stays, and nothing was done.
func TestTheTokenFollowsNoRedirect(t *testing.T) {
	stranger := server(t, func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("a stranger got %s with %q", r.URL, r.Header.Get("Authorization"))
	})
	for _, status := range []int{301, 302, 307, 308} {
		c := client(t, server(t, func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, stranger+r.URL.Path, status)
		}))
		if _, err := c.Cancel(t.Context(), "f"); !errors.Is(err, operation.ErrUnavailable) {
			t.Errorf("%d: %v; want unavailable", status, err)
		}
		if _, err := c.Stock(t.Context(), 1); !errors.Is(err, operation.ErrUnavailable) {
			t.Errorf("%d: %v; want unavailable", status, err)
		}
	}
}

// JSON that is not the stock service's, as a front may answer, is no answer.
func TestAnAnswerWithoutItsMembersIsNone(t *testing.T) {
	for _, body := range []string{"{}", "null", `{"status":"ok"}`} {
		c := client(t, server(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(body)) }))
		_, deducted := c.Deduct(t.Context(), "f", nil)
		_, cancelled := c.Cancel(t.Context(), "f")
		_, flows := c.Flows(t.Context(), "f")
		_, goods := c.Stock(t.Context(), 1)
		_, restocked := c.Restock(t.Context(), operation.Restock{GoodsID: 1})
		for i, err := range []error{deducted, cancelled, flows, goods, restocked} {
			if !errors.Is(err, operation.ErrUnknownOutcome) {
				t.Errorf("%s to call %d: %v; want unknown", body, i, err)
			}
		}
	}
}

// If a connection is cut after the request was sent, the outcome is unknown, and
// the call goes to no other server.
func TestCutConnectionIsUnknown(t *testing.T) {
	var calls atomic.Int64
	cut := func(http.ResponseWriter, *http.Request) {
		calls.Add(1)
		panic(http.ErrAbortHandler)
	}
	_, err := client(t, server(t, cut), server(t, cut)).Deduct(t.Context(), "f", nil)
	if !errors.Is(err, operation.ErrUnknownOutcome) || calls.Load() != 1 {
		t.Errorf("%v after %d calls; want unknown after 1", err, calls.Load())
	}
	slow := server(t, func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // only then the server notices that the client has left
		<-r.Context().Done()
	})
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := client(t, slow).Deduct(ctx, "f", nil); !errors.Is(err, operation.ErrUnknownOutcome) ||
		!errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v; want unknown, for the deadline", err)
	}
}

func TestBadBases(t *testing.T) {
	for _, bad := range [][]string{{""}, {"stock:8081"}, {"ftp://stock"}} {
		if _, err := stockapi.NewClient(bad, stockapi.Config{}); err == nil {
			t.Errorf("took %q", bad)
		}
	}
}

// replicas returns a client of two servers that answer any call as done, how often each was called,
// and what makes the first answer by failure instead.
func replicas(t *testing.T, failure http.HandlerFunc, cfg stockapi.Config) (c *stockapi.Client,
	calls *[2]atomic.Int64, failing *atomic.Bool,
) {
	t.Helper()
	calls, failing = new([2]atomic.Int64), new(atomic.Bool)
	replica := func(i int) string {
		return server(t, func(w http.ResponseWriter, r *http.Request) {
			calls[i].Add(1)
			if i == 0 && failing.Load() {
				failure(w, r)
				return
			}
			_, _ = io.WriteString(w, `{"index":0,"operation":{"flag":"a","state":"DONE"},`+
				`"flag":"a","state":"DONE","operations":[],"flows":[]}`+"\n")
		})
	}
	cfg.Partitions = 64 // so many do not all prefer one of two replicas
	c, err := stockapi.NewClient([]string{replica(0), replica(1)}, cfg)
	must(t, err)
	t.Cleanup(c.Close)
	return c, calls, failing
}

func refuse(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) }

// goodsAt returns a product whose deductions go to the server of that index among those in replicas.
func goodsAt(t *testing.T, c *stockapi.Client, calls *[2]atomic.Int64, index int) []operation.Item {
	t.Helper()
	for id := 1; id < 1000; id++ {
		items := []operation.Item{{GoodsID: int64(id), Num: 1}}
		before := calls[index].Load()
		if _, err := c.Deduct(t.Context(), "a", items); err != nil {
			t.Fatal(err)
		}
		if calls[index].Load() > before {
			return items
		}
	}
	t.Fatal("no product goes there")
	return nil
}

// The deductions of a partition go to one server, and all partitions to both. A server that fails keeps
// its partitions; a deduction that is sent again goes to the other one.
func TestADeductionGoesWhereItsPartitionPrefers(t *testing.T) {
	for name, requests := range map[string]int{"shared": 2, "alone": 0} {
		t.Run(name, func(t *testing.T) {
			cfg := alone
			cfg.SharedRequests = requests
			c, calls, failing := replicas(t, refuse, cfg)
			first, second := goodsAt(t, c, calls, 0), goodsAt(t, c, calls, 1)
			before := [2]int64{calls[0].Load(), calls[1].Load()}
			for range 10 {
				for _, items := range [][]operation.Item{first, second} {
					if _, err := c.Deduct(t.Context(), "a", items); err != nil {
						t.Fatal(err)
					}
				}
			}
			if a, b := calls[0].Load()-before[0], calls[1].Load()-before[1]; a != 10 || b != 10 {
				t.Errorf("%d and %d calls, want 10 each", a, b)
			}
			failing.Store(true)
			if _, err := c.Deduct(t.Context(), "a", first); !errors.Is(err, operation.ErrUnavailable) {
				t.Errorf("at the failing server: %v, want unavailable", err)
			}
		})
	}
}

// When a server comes or goes, only the partitions that prefer it move.
func TestReplicasComeAndGo(t *testing.T) {
	var calls [3]atomic.Int64
	var urls []string
	for i := range calls {
		urls = append(urls, server(t, func(w http.ResponseWriter, _ *http.Request) {
			calls[i].Add(1)
			_, _ = io.WriteString(w, `{"index":0,"operation":{"flag":"a","state":"DONE"},`+
				`"flag":"a","state":"DONE","operations":[],"flows":[]}`+"\n")
		}))
	}
	cfg := alone
	cfg.SharedRequests, cfg.Partitions = 2, 16
	c, err := stockapi.NewClient(nil, cfg)
	must(t, err)
	t.Cleanup(c.Close)
	if _, err := c.Deduct(t.Context(), "a", nil); !errors.Is(err, operation.ErrUnavailable) || !c.Down(t.Context()) {
		t.Errorf("no server is known: %v, down %v; want unavailable, true", err, c.Down(t.Context()))
	}
	where := func() (at []int) {
		for id := 1; id <= 64; id++ {
			before := [3]int64{calls[0].Load(), calls[1].Load(), calls[2].Load()}
			if _, err := c.Deduct(t.Context(), "a", []operation.Item{{GoodsID: int64(id), Num: 1}}); err != nil {
				t.Fatal(err)
			}
			for i := range calls {
				if calls[i].Load() > before[i] {
					at = append(at, i)
				}
			}
		}
		return at
	}
	set := func(urls ...string) {
		must(t, c.SetReplicas(urls))
	}
	set(urls...)
	all := where()
	if c.Down(t.Context()) {
		t.Error("down with three servers")
	}
	set(urls[2], urls[0])
	if err := c.SetReplicas([]string{"nonsense"}); err == nil {
		t.Error("took a bad address")
	}
	for i, at := range where() {
		if at == 1 || all[i] != 1 && at != all[i] {
			t.Errorf("goods %d went to server %d before, and to %d when server 1 had gone", i+1, all[i], at)
		}
	}
	set(urls...)
	if again := where(); !slices.Equal(again, all) {
		t.Errorf("servers %v, want the same as before: %v", again, all)
	}
}

// Another server is asked as well once the first has said nothing for 0.3 s, and further calls
// pass the first over.
func TestASilentReplicaIsPassedOver(t *testing.T) {
	withinEjection(t, silentIsPassedOver)
}

// withinEjection repeats a test whose calls lasted longer than the ejection that it is about, as it then reports.
func withinEjection(t *testing.T, test func(*testing.T) (inTime bool)) {
	t.Helper()
	for range 5 {
		if test(t) {
			return
		}
	}
	t.Error("the calls lasted longer than an ejection each time")
}

// silentIsPassedOver reports false if the calls lasted longer than the ejection of the silent server.
func silentIsPassedOver(t *testing.T) bool {
	t.Helper()
	leave := make(chan struct{})
	cfg := alone.Hedged(stockapi.HedgeDelay)
	cfg.SharedRequests = 2
	c, calls, failing := replicas(t, func(http.ResponseWriter, *http.Request) { <-leave }, cfg)
	defer close(leave)
	items := goodsAt(t, c, calls, 0)
	failing.Store(true)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	began := time.Now()
	if _, err := c.Deduct(ctx, "a", items); err != nil {
		t.Fatalf("%v; want the other server's answer", err)
	}
	silent := calls[0].Load()
	for range 5 {
		if _, err := c.Deduct(ctx, "a", items); err != nil {
			t.Fatal(err)
		}
	}
	if time.Since(began) > stockapi.FirstEjection {
		return false
	}
	if n := calls[0].Load() - silent; n != 0 {
		t.Errorf("%d calls went to the silent server", n)
	}
	return true
}

// A server that left a call without an answer is passed over by the calls that go round, too, until it has
// had time to come back.
func TestAReplicaInDoubtIsPassedOver(t *testing.T) {
	withinEjection(t, doubtIsPassedOver)
}

// doubtIsPassedOver reports false if the calls lasted longer than the ejection of the server in doubt.
func doubtIsPassedOver(t *testing.T) bool {
	t.Helper()
	c, calls, failing := replicas(t, func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, alone)
	failing.Store(true)
	began, errs := time.Now(), 0
	for range 10 {
		if _, err := c.Flows(t.Context(), "a"); err != nil {
			errs++
		}
	}
	if time.Since(began) > stockapi.FirstEjection {
		return false
	}
	if errs != 1 || calls[1].Load() != 9 {
		t.Errorf("%d errors, %d calls at the other server; want 1 and 9", errs, calls[1].Load())
	}
	return true
}

func TestSharedRequestsSpread(t *testing.T) {
	cfg := alone
	cfg.SharedRequests, cfg.Spread = 2, true
	c, calls, _ := replicas(t, refuse, cfg)
	for range 10 {
		if _, err := c.Deduct(t.Context(), "a", nil); err != nil {
			t.Fatal(err)
		}
	}
	if a, b := calls[0].Load(), calls[1].Load(); a != 5 || b != 5 {
		t.Errorf("%d and %d calls, want 5 each", a, b)
	}
}

// If a shared request is cut, or answered by something other than a stock service, the deductions that
// were answered keep their answers, and the outcome of the others is unknown.
func TestSharedRequestCutShort(t *testing.T) {
	const first = `{"index":0,"operation":{"flag":"a","state":"DONE"}}` + "\n"
	for name, answer := range map[string]string{
		"cut": first, "an index of nobody": first + `{"index":7,"operation":{}}`,
		"an empty answer": first + `{"index":1}`, "no JSON": first + "<html>",
	} {
		arrived, held := make(chan struct{}), make(chan struct{})
		url := server(t, func(w http.ResponseWriter, r *http.Request) {
			var body stockapi.DeductAllRequest
			_ = json.NewDecoder(r.Body).Decode(&body)
			if len(body.Operations) == 1 { // the one that lets the others gather
				close(arrived)
				<-held
				_, _ = io.WriteString(w, first)
				return
			}
			_, _ = io.WriteString(w, answer)
			_ = http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		})
		cfg := alone
		cfg.SharedRequests = 1
		c, err := stockapi.NewClient([]string{url}, cfg)
		must(t, err)
		errs := make(chan error, 4)
		deduct := func() {
			op, err := c.Deduct(t.Context(), "a", nil)
			if err == nil && op.State != operation.Done {
				err = errors.New("not done")
			}
			errs <- err
		}
		go deduct()
		<-arrived
		for range 3 {
			go deduct()
		}
		eventually(t, "three wait for the next request", func() bool { return c.Waiting() == 3 })
		close(held)
		done, unknown := 0, 0
		for range 4 {
			switch err := <-errs; {
			case err == nil:
				done++
			case errors.Is(err, operation.ErrUnknownOutcome):
				unknown++
			default:
				t.Errorf("%s: %v", name, err)
			}
		}
		if done != 2 || unknown != 2 {
			t.Errorf("%s: %d done and %d unknown; want 2 and 2", name, done, unknown)
		}
		c.Close()
	}
}

// TestAServerThatCannotProveWhoItIsIsNotReached: nothing was sent, so nothing can have changed.
func TestAServerThatCannotProveWhoItIsIsNotReached(t *testing.T) {
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("asked") }))
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.StartTLS()
	t.Cleanup(s.Close)
	c, err := stockapi.NewClient([]string{s.URL}, stockapi.Config{ServerName: "stock.example", Tries: 1})
	must(t, err)
	t.Cleanup(c.Close)
	if _, err := c.Cancel(t.Context(), "flag"); !errors.Is(err, operation.ErrUnavailable) {
		t.Errorf("a certificate that nobody trusts: %v; want it unavailable", err)
	}
}

// must ends the test if err is not nil.
func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("never happened: %s", what)
		}
	}
}
