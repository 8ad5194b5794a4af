package stockapi_test

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"orderstock/pkg/operation"
	"orderstock/pkg/stockapi"
)

const burst = 200

// rested returns a client whose breaker has opened and rested, and has had no call since. The server goes on as given.
func rested(t *testing.T, rest time.Duration, then http.HandlerFunc) (s *faulty, c *stockapi.Client, log *stateLog) {
	t.Helper()
	var opened atomic.Bool
	s = newFaulty(t, func(w http.ResponseWriter, r *http.Request) {
		if !opened.Load() {
			cut(w, r)
		}
		then(w, r)
	})
	log = &stateLog{}
	c = newCallerResting(t, s, rest, stockapi.Config{
		Tries: 1, Timeout: time.Minute, Log: slog.New(slog.NewTextHandler(log, nil)),
	})
	for log.opened.Load() == 0 {
		_, _ = c.Deduct(t.Context(), "1", items)
	}
	opened.Store(true)
	time.Sleep(rest) // it has no end that could be awaited: the breaker looks at the clock
	s.requests.Store(0)
	return s, c, log
}

// stateLog counts how often a breaker opened.
type stateLog struct{ opened atomic.Int64 }

func (l *stateLog) Write(line []byte) (int, error) {
	if strings.Contains(string(line), "to=open") {
		l.opened.Add(1)
	}
	return len(line), nil
}

// all makes a burst of deductions at once and returns their errors as they come.
func all(ctx context.Context, c *stockapi.Client) (errs <-chan error, wait func()) {
	ended, going := make(chan error, burst), new(sync.WaitGroup)
	for range burst {
		going.Go(func() {
			_, err := c.Deduct(ctx, "1", items)
			ended <- err
		})
	}
	return ended, going.Wait
}

// The stock service is well again when many calls come at once.
func TestABurstAfterTheBreakersRestIsServed(t *testing.T) {
	s, c, _ := rested(t, 2*time.Second, func(w http.ResponseWriter, r *http.Request) {
		time.Sleep(5 * time.Millisecond) // the probes are under way when the others come
		done(w, r)
	})
	errs, wait := all(t.Context(), c)
	wait()
	refused := 0
	for range burst {
		if err := <-errs; err != nil {
			refused++
			t.Log(err)
		}
	}
	if refused > 0 || s.requests.Load() != burst {
		t.Errorf("%d calls of %d were refused, %d were sent; want all of them sent", refused, burst, s.requests.Load())
	}
}

// The stock service is still broken: it gets the probes and nothing else.
func TestABurstAtABrokenServiceIsRefused(t *testing.T) {
	s, c, log := rested(t, time.Second, cut)
	before := log.opened.Load()
	errs, wait := all(t.Context(), c)
	wait()
	for range burst {
		if err := <-errs; err == nil || operation.CodeOf(err).Scope() == operation.Final {
			t.Errorf("a call at a broken service ended with %v", err)
		}
	}
	if sent, most := s.requests.Load(), stockapi.Probes*(log.opened.Load()-before); sent > most || sent == 0 {
		t.Errorf("%d calls were sent, want at most %d, and one", sent, most)
	}
}

// The stock service hangs: all calls but the probes are refused after a while, and later ones at once.
func TestABurstAtAServiceThatHangsIsRefused(t *testing.T) {
	const rest = 500 * time.Millisecond
	leave := make(chan struct{})
	s, c, _ := rested(t, rest, func(w http.ResponseWriter, r *http.Request) {
		<-leave
		done(w, r)
	})
	errs, wait := all(t.Context(), c)
	for range burst - stockapi.Probes { // the probes still hang
		if err := <-errs; !errors.Is(err, operation.ErrUnavailable) {
			t.Errorf("a call that is no probe ended with %v, want unavailable", err)
		}
	}
	const later = 40 // which would wait for longer than a slow machine takes
	start := time.Now()
	for range later {
		if _, err := c.Deduct(t.Context(), "1", items); !errors.Is(err, operation.ErrUnavailable) {
			t.Errorf("a later call ended with %v, want unavailable", err)
		}
	}
	if took := time.Since(start); took > later*rest/2 {
		t.Errorf("%d later calls took %s: they waited for probes that hang", later, took)
	}
	if !c.Down(t.Context()) {
		t.Error("every call is refused, and the client is not down")
	}
	eventually(t, "the probes have arrived", func() bool { return s.requests.Load() >= stockapi.Probes })
	if n := s.requests.Load(); n != stockapi.Probes {
		t.Errorf("%d calls were sent, want the %d probes", n, stockapi.Probes)
	}
	close(leave)
	wait()
	for range stockapi.Probes {
		if err := <-errs; err != nil {
			t.Errorf("a probe that was answered: %v", err)
		}
	}
	if c.Down(t.Context()) {
		t.Error("the probes succeeded, and the client is down")
	}
}

// A call that waits for the probes ends with its context. Down and Pass wait, too, and agree with the calls.
func TestAWaitForProbesEndsWithTheContext(t *testing.T) {
	leave := make(chan struct{})
	s, c, _ := rested(t, 2*time.Second, func(w http.ResponseWriter, r *http.Request) {
		<-leave
		done(w, r)
	})
	var probing sync.WaitGroup
	for range stockapi.Probes {
		probing.Go(func() {
			if _, err := c.Deduct(t.Context(), "1", items); err != nil {
				t.Errorf("a probe: %v", err)
			}
		})
	}
	eventually(t, "the probes are under way", func() bool { return s.requests.Load() == stockapi.Probes })
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := c.Deduct(ctx, "1", items); !errors.Is(err, operation.ErrUnavailable) {
		t.Errorf("a call without time ended with %v, want unavailable", err)
	}
	if !c.Down(ctx) {
		t.Error("no call can be sent in no time, and the client is not down")
	}
	probing.Go(func() {
		if c.Down(t.Context()) {
			t.Error("Down did not wait for the probes")
		}
	})
	probing.Go(func() {
		report, err := c.Pass(t.Context(), items)
		if err != nil {
			t.Errorf("Pass did not wait for the probes: %v", err)
			return
		}
		report(operation.Operation{}, nil)
	})
	close(leave)
	probing.Wait()
	if n := s.requests.Load(); n != stockapi.Probes {
		t.Errorf("%d calls were sent, want the %d probes", n, stockapi.Probes)
	}
}

// While the probes of the preferred replica hang, the healthy one serves without a wait for them.
func TestAHealthyReplicaIsTakenBeforeProbesAreAwaited(t *testing.T) {
	const rest = 100 * time.Millisecond
	leave := make(chan struct{})
	var hang atomic.Bool
	cfg := alone
	cfg.BreakerRest = rest
	c, calls, failing := replicas(t, func(w http.ResponseWriter, r *http.Request) {
		if !hang.Load() {
			refuse(w, r)
			return
		}
		<-leave
		done(w, r)
	}, cfg)
	first := goodsAt(t, c, calls, 0)
	failing.Store(true)
	for sent := int64(-1); calls[0].Load() > sent; { // until its breaker opens
		sent = calls[0].Load()
		_, _ = c.Deduct(t.Context(), "a", first)
	}
	hang.Store(true)
	time.Sleep(rest)
	var probing sync.WaitGroup
	before := calls[0].Load()
	for range stockapi.Probes {
		probing.Go(func() {
			if _, err := c.Deduct(t.Context(), "a", first); err != nil {
				t.Errorf("a probe: %v", err)
			}
		})
	}
	eventually(t, "the probes are under way", func() bool { return calls[0].Load()-before == stockapi.Probes })
	inNoTime, cancel := context.WithCancel(t.Context())
	cancel()
	if c.Down(inNoTime) {
		t.Error("a replica is healthy, and the client is down")
	}
	healthy := calls[1].Load()
	if _, err := c.Deduct(t.Context(), "a", first); err != nil || calls[1].Load() != healthy+1 {
		t.Errorf("%v, %d calls of the healthy replica; want one", err, calls[1].Load()-healthy)
	}
	close(leave)
	probing.Wait()
}
