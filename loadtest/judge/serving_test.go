package judge_test

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"orderstock/loadtest/judge"
	"orderstock/loadtest/verify"
)

// A service that ends by itself is named, with its last lines, and started again for the next phase.
func TestAServiceThatDiesIsNamed(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	addr, dir := freeAddr(t), t.TempDir()
	f := parse(t, dir, "target: http://"+addr+resetByRequest+memory+
		fmt.Sprintf("service: {start: 'SHOP_ADDR=%s SHOP_CRASH=crashed exec %s'}", addr, self))
	r := run(t, judge.Config{File: f, Clients: 4, Phases: []string{judge.Alone, judge.Together, judge.Repeated}})
	if phaseOf(r, judge.Alone).Outcome != verify.Pass || phaseOf(r, judge.Repeated).Outcome != verify.Pass {
		t.Errorf("the other phases do not pass: %s\n%s", r, text(r))
	}
	p := phaseOf(r, judge.Together)
	if !slices.Equal(p.Violated(), []string{judge.KeepsServing}) {
		t.Fatalf("%s\n%s", r, text(r))
	}
	e := p.Violations[0].Examples[0]
	const ended = "the service ended by itself: exit status 7, after "
	if !strings.HasPrefix(e.Text, ended) || !slices.Contains(e.Output, "boom") {
		t.Errorf("said %q, with the output %q", e.Text, e.Output)
	}
}

// So is a container. A script takes the place of docker, whose engine is not there. It is as slow as a busy one.
func TestAContainerThatDiesIsNamed(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	addr, dir := freeAddr(t), t.TempDir()
	script := fmt.Sprintf(`#!/bin/sh
cd %[1]q
case "$*" in
"start shop")
  rm -f status
  (SHOP_ADDR=%[2]s SHOP_CRASH=crashed %[3]q >log 2>&1 & echo $! >pid; wait $!; echo $? >new; mv new status) &
  ;;
"wait shop") until [ -e status ]; do sleep 0.01; done; sleep 1.1; cat status ;;
"logs --tail 20 shop") cat log ;;
*) exit 1 ;;
esac
`, dir, addr, self)
	if err := os.WriteFile(filepath.Join(dir, "docker"), []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	t.Cleanup(func() {
		if err := exec.Command("sh", "-c", "kill $(cat '"+dir+"/pid') && docker wait shop").Run(); err != nil {
			t.Error(err)
		}
	})
	if err := exec.Command("docker", "start", "shop").Run(); err != nil {
		t.Fatal(err)
	}
	f := parse(t, dir, "target: http://"+addr+resetByRequest+memory+"service: {container: shop}")
	r := run(t, judge.Config{File: f, Clients: 4, Phases: []string{judge.Alone, judge.Together, judge.Repeated}})
	p := phaseOf(r, judge.Together)
	if len(p.Violations) == 0 || phaseOf(r, judge.Repeated).Outcome != verify.Pass {
		t.Fatalf("%s\n%s", r, text(r))
	}
	e := p.Violations[0].Examples[0]
	const ended = "the service ended by itself: exit status 7, after "
	if !strings.HasPrefix(e.Text, ended) || !slices.Contains(e.Output, "boom") {
		t.Errorf("said %q, with the output %q", e.Text, e.Output)
	}
}

// phaseOf returns the phase with that name.
func phaseOf(r *judge.Result, name string) judge.Phase {
	i := slices.IndexFunc(r.Phases, func(p judge.Phase) bool { return p.Name == name })
	return r.Phases[i]
}

// stopping serves a right shop until two orders come at the same time; then stop answers.
func stopping(stop func(w http.ResponseWriter, r *http.Request, again http.Handler)) http.Handler {
	var now atomic.Int64
	var stopped atomic.Bool
	var meet sync.WaitGroup
	meet.Add(2)
	shop := &counter{}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/orders" && strings.Contains(r.Header.Get("Idempotency-Key"), "-together-") {
			if n := now.Add(1); n <= 2 {
				meet.Done()
			}
			meet.Wait()
			stopped.Store(true)
		}
		if stopped.Load() {
			stop(w, r, shop)
			return
		}
		shop.ServeHTTP(w, r)
	})
}

// A service that served and does so no longer, after calls at the same time, is wrong. One that refuses for another
// reason, or serves again soon, is not.
func TestAServiceThatStopsServing(t *testing.T) {
	t.Parallel()
	broken := func(w http.ResponseWriter, r *http.Request, shop http.Handler) {
		if r.URL.Path == "/orders" {
			http.Error(w, "no connection is free", http.StatusInternalServerError)
			return
		}
		shop.ServeHTTP(w, r)
	}
	var calls atomic.Int64
	for name, c := range map[string]struct {
		stop  func(http.ResponseWriter, *http.Request, http.Handler)
		wrong bool
	}{
		"for ever":          {broken, true},
		"without an answer": {func(http.ResponseWriter, *http.Request, http.Handler) { panic(http.ErrAbortHandler) }, true},
		"a limit of requests": {func(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
			http.Error(w, "slow down", http.StatusTooManyRequests)
		}, false},
		"for a while": {func(w http.ResponseWriter, r *http.Request, shop http.Handler) {
			n := int64(0)
			if r.URL.Path == "/orders" {
				n = calls.Add(1)
			}
			if n == 31 { // the first order after the phase fails when the time to settle is over
				time.Sleep(1100 * time.Millisecond)
			}
			if n > 0 && n <= 31 {
				broken(w, r, shop)
				return
			}
			shop.ServeHTTP(w, r)
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := parse(t, "", serve(t, stopping(c.stop))+resetByRequest+memory)
			r := run(t, judge.Config{File: f, Clients: 4, Phases: []string{judge.Alone, judge.Together}})
			p := r.Phases[1]
			wrong := slices.Equal(p.Violated(), []string{judge.KeepsServing})
			if wrong != c.wrong || r.Phases[0].Outcome != verify.Pass {
				t.Fatalf("%s\n%s", r, text(r))
			}
			if c.wrong && len(p.Violations[0].Examples[0].Calls) == 0 {
				t.Errorf("the example has no call: %s", text(r))
			}
		})
	}
}

// Orders that the judge's own kills left without an answer are no reason for an alarm.
func TestOrdersThatAKillEndedAreNoAlarm(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	came, ready, shop := sync.NewCond(&mu), make(chan struct{}), &counter{}
	calls, kills := 0, 0
	head, service := killable(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		until := ready
		switch r.URL.Path {
		case "/ready":
			for calls < 10*kills { // the kills come with the last of each
				came.Wait()
			}
			kills++ // the next one
			close(ready)
			ready = make(chan struct{})
			mu.Unlock()
			return
		case "/orders":
			calls++
			came.Broadcast()
		}
		n := calls
		mu.Unlock()
		if r.URL.Path == "/orders" && slices.Contains([]int{9, 10, 19, 20}, n) {
			<-until
			panic(http.ErrAbortHandler)
		}
		shop.ServeHTTP(w, r)
	}))
	once := strings.Replace(memory, "repeats: key", "repeats: none", 1)
	f := parse(t, "", head+resetByRequest+once+service+", ready: /ready}")
	r := run(t, judge.Config{File: f, Orders: 30, Phases: []string{judge.Killed}})
	if p := &r.Phases[0]; r.Outcome != verify.Pass || p.Unknown != 4 || p.Loud() != "" {
		t.Errorf("%s\n%s", p.Line(), text(r))
	}
}

// A refusal that the file does not list is answered like a service that stopped, and is none.
func TestAnUnlistedRefusalIsNotTheEndOfTheService(t *testing.T) {
	t.Parallel()
	shop := &counter{}
	f := parse(t, "", serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/orders" && shop.left == 0 { // one client: nobody else reads or writes it
			http.Error(w, "sold out", http.StatusInternalServerError)
			return
		}
		shop.ServeHTTP(w, r)
	}))+resetByRequest+strings.Replace(memory, "contains: sold out", "contains: no more", 1))
	r := run(t, judge.Config{File: f, Clients: 1, Phases: []string{judge.Alone, judge.Together}})
	if r.Outcome != verify.Unknown || !strings.Contains(text(r), "is the refusal under answers?") {
		t.Errorf("%s\n%s", r, text(r))
	}
}

// A shop that locks up with many clients shows with two of them that it oversells.
func TestFewerClientsIfManyAreNotServed(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	left, id := 0, 0
	meet := make(chan struct{})
	shop := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		if r.URL.Path != "/orders" {
			left = 20
			mu.Unlock()
			return
		}
		had := left
		mu.Unlock()
		select { // two calls that have read the same
		case meet <- struct{}{}:
		case <-meet:
		case <-time.After(200 * time.Millisecond): // there is only one
		}
		mu.Lock()
		defer mu.Unlock()
		switch {
		case r.Header.Get("Phase") == judge.Together:
			http.Error(w, "deadlock", http.StatusInternalServerError)
		case had == 0:
			http.Error(w, "sold out", http.StatusConflict)
		default:
			left = had - 1
			id++
			w.WriteHeader(http.StatusCreated)
			fmt.Fprintf(w, `{"id":%d}`, id)
		}
	})
	f := parse(t, "", serve(t, shop)+resetByRequest+strings.NewReplacer(
		`headers: {Idempotency-Key: "{{key}}"}`, `headers: {Phase: "{{phase}}"}`, "repeats: key", "repeats: none",
	).Replace(memory))
	r := run(t, judge.Config{File: f, Clients: 40, Phases: []string{judge.Together}})
	if len(r.Phases) != 2 || r.Phases[1].Clients != 2 || !slices.Contains(r.Phases[1].Violated(), judge.NotOversold) {
		t.Errorf("%s\n%s", r, text(r))
	}
}
