package stockapi_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"orderstock/pkg/httpapi"
	"orderstock/pkg/operation"
	"orderstock/pkg/request"
	"orderstock/pkg/stockapi"
)

func client(t *testing.T, bases ...string) *stockapi.Client {
	t.Helper()
	c, err := stockapi.NewClient(bases, "secret")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func server(t *testing.T, h http.HandlerFunc) string {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s.URL
}

// refusing returns the URL of a port that nobody listens on.
func refusing(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	return "http://" + l.Addr().String()
}

// TestCodesAreReadBackwards: whatever code the server answers with, the client
// has the error that stands beside it in the table.
func TestCodesAreReadBackwards(t *testing.T) {
	for code, want := range map[stockapi.Code]error{
		stockapi.CodeUnavailable:    stockapi.ErrUnavailable,
		stockapi.CodeOverloaded:     stockapi.ErrOverloaded,
		stockapi.CodeUnknownOutcome: stockapi.ErrUnknownOutcome,
		stockapi.CodeFlagConflict:   stockapi.ErrFlagConflict,
		stockapi.CodeUnknownGoods:   stockapi.ErrUnknownGoods,
		stockapi.CodeInvalidNum:     stockapi.ErrInvalid,
		stockapi.CodeDuplicateGoods: stockapi.ErrInvalid,
		stockapi.CodeUnauthorized:   stockapi.ErrUnauthorized,
		stockapi.CodeInternal:       stockapi.ErrInternal,
	} {
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
		if !errors.Is(err, want) || !errors.As(err, &full) || full.Code != code || full.Detail != "because" {
			t.Errorf("%s: %v; want %v", code, err, want)
		}
		if wait := stockapi.RetryAfter(err); (problem.Status == 503) != (wait == time.Second) {
			t.Errorf("%s: retry after %v", code, wait)
		}
	}
}

func TestForeignAnswersAreJudgedByStatus(t *testing.T) {
	for status, want := range map[int]error{
		400: stockapi.ErrInvalid, 401: stockapi.ErrUnauthorized, 429: stockapi.ErrUnavailable,
		500: stockapi.ErrInternal, 502: stockapi.ErrInternal, 503: stockapi.ErrUnavailable,
	} {
		c := client(t, server(t, func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(status)
			_, _ = w.Write([]byte("<html>proxy says no</html>"))
		}))
		if _, err := c.Cancel(t.Context(), "f"); !errors.Is(err, want) {
			t.Errorf("%d: %v; want %v", status, err, want)
		}
	}
}

func TestPassesOnTokenRequestIDAndTime(t *testing.T) {
	var got http.Header
	c := client(t, server(t, func(w http.ResponseWriter, r *http.Request) {
		got = r.Header.Clone()
		_, _ = w.Write([]byte(`{"flag":"f","state":"DONE"}`))
	}))
	ctx, cancel := context.WithTimeout(request.With(t.Context(), slog.New(slog.DiscardHandler), ""), 5*time.Second)
	defer cancel()
	op, err := c.Deduct(ctx, "f", []stockapi.Item{{GoodsID: "1", Num: 1}})
	if err != nil || op.State != operation.Done {
		t.Fatal(op, err)
	}
	if got.Get("Authorization") != "Bearer secret" || got.Get(httpapi.HeaderRequestID) != request.ID(ctx) {
		t.Errorf("headers %v", got)
	}
	if ms, err := strconv.Atoi(got.Get(httpapi.HeaderTimeout)); err != nil || ms < 3000 || ms > 5000 {
		t.Errorf("time left %q; want nearly 5000 ms", got.Get(httpapi.HeaderTimeout))
	}
}

func TestSpreadsAndFailsOver(t *testing.T) {
	var a, b atomic.Int64
	count := func(n *atomic.Int64) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			n.Add(1)
			_, _ = w.Write([]byte(`{}`))
		}
	}
	c := client(t, server(t, count(&a)), refusing(t), server(t, count(&b)))
	for range 30 {
		if _, err := c.Cancel(t.Context(), "f"); err != nil {
			t.Fatal(err)
		}
	}
	if a.Load()+b.Load() != 30 || a.Load() < 10 || b.Load() < 10 {
		t.Errorf("%d and %d calls; want 30, at least 10 each", a.Load(), b.Load())
	}
	if _, err := client(t, refusing(t), refusing(t)).Cancel(t.Context(), "f"); !errors.Is(err, stockapi.ErrUnavailable) {
		t.Errorf("all refuse: %v; want unavailable: nothing was done", err)
	}
}

// A connection that is cut after the request was sent says nothing of what was
// done: the call goes to no other server, and the outcome is unknown.
func TestCutConnectionIsUnknown(t *testing.T) {
	var calls atomic.Int64
	cut := server(t, func(http.ResponseWriter, *http.Request) {
		calls.Add(1)
		panic(http.ErrAbortHandler)
	})
	if _, err := client(t, cut, cut).Deduct(t.Context(), "f", nil); !errors.Is(err, stockapi.ErrUnknownOutcome) || calls.Load() != 1 {
		t.Errorf("%v after %d calls; want unknown after 1", err, calls.Load())
	}
	slow := server(t, func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // only then the server notices that the client has left
		<-r.Context().Done()
	})
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := client(t, slow).Deduct(ctx, "f", nil); !errors.Is(err, stockapi.ErrUnknownOutcome) || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v; want unknown, for the deadline", err)
	}
}

func TestBadBases(t *testing.T) {
	for _, bad := range [][]string{nil, {""}, {"stock:8081"}, {"ftp://stock"}} {
		if _, err := stockapi.NewClient(bad, ""); err == nil {
			t.Errorf("took %q", bad)
		}
	}
}

// replicas returns a client of two servers that answer any call as done, how often each was called,
// and what makes the first answer by failure instead.
func replicas(t *testing.T, failure http.HandlerFunc, opts ...stockapi.Option) (c *stockapi.Client,
	calls *[2]atomic.Int64, failing *atomic.Bool) {
	t.Helper()
	calls, failing = new([2]atomic.Int64), new(atomic.Bool)
	replica := func(i int) string {
		return server(t, func(w http.ResponseWriter, r *http.Request) {
			calls[i].Add(1)
			if i == 0 && failing.Load() {
				failure(w, r)
				return
			}
			_, _ = io.WriteString(w, `{"index":0,"operation":{"flag":"a","state":"DONE"}}`+"\n")
		})
	}
	c, err := stockapi.NewClient([]string{replica(0), replica(1)}, "secret", opts...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c, calls, failing
}

func refuse(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) }

// A call that fails takes the calls after it to the next server, whatever was called; one that its
// caller gave up does not.
func TestAllCallsShareTheHome(t *testing.T) {
	c, calls, failing := replicas(t, refuse, stockapi.WithSharedRequests(2))
	all := func() (errs int) {
		ctx := t.Context()
		_, flows := c.Flows(ctx, "a")
		_, stock := c.Stock(ctx, "1")
		_, cancel := c.Cancel(ctx, "a")
		_, deduct := c.Deduct(ctx, "a", nil)
		for _, err := range []error{flows, stock, cancel, deduct} {
			if err != nil {
				errs++
			}
		}
		return errs
	}
	given, giveUp := context.WithCancel(t.Context())
	giveUp()
	if _, err := c.Flows(given, "a"); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	if errs := all(); errs != 0 || calls[0].Load() != 4 {
		t.Errorf("%d errors, %d calls at the first server, want 0 and 4", errs, calls[0].Load())
	}
	failing.Store(true)
	if errs := all(); errs != 1 || calls[1].Load() != 3 {
		t.Errorf("%d errors, %d calls at the second server, want 1 and 3", errs, calls[1].Load())
	}
	failing.Store(false)
	if errs := all(); errs != 0 || calls[1].Load() != 7 {
		t.Errorf("%d errors, %d calls at the second server, want 0 and 7", errs, calls[1].Load())
	}
}

// Shared requests stick to the first server for as long as it serves, and then to the next.
func TestSharedRequestsHaveAHome(t *testing.T) {
	for name, failure := range map[string]http.HandlerFunc{
		"an operation refused": func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, `{"index":0,"problem":{"code":"unavailable","status":503}}`+"\n")
		},
		"the request refused": refuse,
		"cut":                 func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
	} {
		t.Run(name, func(t *testing.T) {
			c, calls, failing := replicas(t, failure, stockapi.WithSharedRequests(2))
			deduct := func(n int) (errs int) {
				for range n {
					if _, err := c.Deduct(t.Context(), "a", nil); err != nil {
						errs++
					}
				}
				return errs
			}
			if errs := deduct(5); errs != 0 || calls[0].Load() != 5 {
				t.Errorf("%d errors, %d calls at the first server, want 0 and 5", errs, calls[0].Load())
			}
			failing.Store(true)
			if errs := deduct(5); errs != 1 || calls[1].Load() != 4 {
				t.Errorf("%d errors, %d calls at the second server, want 1 and 4", errs, calls[1].Load())
			}
			failing.Store(false)
			if errs := deduct(5); errs != 0 || calls[1].Load() != 9 {
				t.Errorf("%d errors, %d calls at the second server, want 0 and 9", errs, calls[1].Load())
			}
		})
	}
}

func TestSharedRequestsSpread(t *testing.T) {
	c, calls, _ := replicas(t, refuse, stockapi.WithSharedRequests(2), stockapi.WithSpread())
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
		"cut": first, "an index of nobody": first + `{"index":7,"operation":{}}`, "an empty answer": first + `{"index":1}`, "no JSON": first + "<html>",
	} {
		held := make(chan struct{})
		url := server(t, func(w http.ResponseWriter, r *http.Request) {
			var body stockapi.DeductAllRequest
			_ = json.NewDecoder(r.Body).Decode(&body)
			if len(body.Operations) == 1 { // the one that lets the others gather
				<-held
				_, _ = io.WriteString(w, first)
				return
			}
			_, _ = io.WriteString(w, answer)
			_ = http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		})
		c, err := stockapi.NewClient([]string{url}, "secret", stockapi.WithSharedRequests(1))
		if err != nil {
			t.Fatal(err)
		}
		errs := make(chan error, 4)
		deduct := func() {
			op, err := c.Deduct(t.Context(), "a", nil)
			if err == nil && op.State != operation.Done {
				err = errors.New("not done")
			}
			errs <- err
		}
		go deduct()
		time.Sleep(50 * time.Millisecond)
		for range 3 {
			go deduct()
		}
		time.Sleep(50 * time.Millisecond)
		close(held)
		done, unknown := 0, 0
		for range 4 {
			switch err := <-errs; {
			case err == nil:
				done++
			case errors.Is(err, stockapi.ErrUnknownOutcome):
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
