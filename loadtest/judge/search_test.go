package judge_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"orderstock/loadtest/judge"
	"orderstock/loadtest/verify"
)

// A search goes on with new seeds until something is found, then with fewer clients and orders while it is still there.
func TestASearchFindsTheSmallest(t *testing.T) {
	t.Parallel()
	var resets atomic.Int64
	right, wrong := &counter{}, &counter{wrong: true}
	f := parse(t, "", serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/reset" && resets.Add(1) > 4 { // the phase of four runs
			right = wrong // no order is under way at a reset
		}
		right.ServeHTTP(w, r)
	}))+resetByRequest+memory)
	var shown []judge.Phase
	cfg := judge.Config{
		File: f, Name: "shop.yaml", Seed: 7, Clients: 40, Phases: []string{judge.Together},
		Done: func(p judge.Phase) { shown = append(shown, p) },
	}
	r, err := judge.Search(t.Context(), cfg, time.Minute)
	if err != nil || r.Outcome != verify.Violation || r.Smallest == nil {
		t.Fatalf("%v\n%s", err, text(r))
	}
	s := r.Smallest
	if s.Phase != judge.Together || s.Invariant != judge.NotOversold || s.Orders != 20 || s.Clients != 2 || s.Seed < 11 {
		t.Errorf("the smallest is %+v; want 20 orders of 2 clients, and the one after them", s)
	}
	// The four runs that passed, the first one that did not, and the smallest.
	if n := len(shown); n != 6 || shown[5].Orders != 20 || len(shown[5].Violations) == 0 {
		t.Errorf("showed %d phases, the last one %s; want 6, and the smallest", n, shown[n-1].Line())
	}
	var out strings.Builder
	r.Write(&out)
	want := "judge shop.yaml --phase together --orders 20 --clients 2 --seed "
	if !strings.Contains(out.String(), want) {
		t.Errorf("printed\n%s\nwant %s", &out, want)
	}
}

// A search that is interrupted after it has found something returns that.
func TestAnInterruptedSearchReturnsItsFinding(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	f := parse(t, "", serve(t, &counter{wrong: true})+resetByRequest+memory)
	cfg := judge.Config{File: f, Phases: []string{judge.Together}, Done: func(judge.Phase) { cancel() }}
	// The first run ends, as nothing waits after its last phase.
	if r, err := judge.Search(ctx, cfg, time.Hour); err != nil || r.Outcome != verify.Violation || r.Runs != 2 {
		t.Errorf("%v\n%s", err, text(r))
	}
}

// A search that finds nothing ends with the time, and one that cannot tell ends at once.
func TestASearchEnds(t *testing.T) {
	t.Parallel()
	phases := []string{judge.Together}
	f := parse(t, "", serve(t, &counter{})+resetByRequest+memory)
	for within := time.Second; ; within *= 4 {
		start := time.Now()
		r, err := judge.Search(t.Context(), judge.Config{File: f, Phases: phases}, within)
		took := time.Since(start)
		if err == nil && r.Runs == 1 && took >= within && within < time.Minute {
			continue // the machine was busy, and one run took all the time
		}
		if err != nil || r.Outcome != verify.Pass || r.Runs < 2 || took < within || r.Smallest != nil {
			t.Errorf("%v, %d runs after %s\n%s", err, r.Runs, took, text(r))
		}
		break
	}
	f = parse(t, "", serve(t, http.NotFoundHandler())+memory)
	if r, err := judge.Search(t.Context(), judge.Config{File: f, Phases: phases}, time.Hour); err != nil || r.Runs != 1 {
		t.Errorf("%v\n%s", err, text(r))
	}
	if _, err := judge.Search(t.Context(), judge.Config{File: f, Out: t.TempDir()}, time.Hour); err == nil {
		t.Error("a search keeps evidence")
	}
}

// With a payment after the order, the example shows all calls of both orders that met: any of them may be the reason.
func TestBothOrdersThatMetAreShown(t *testing.T) {
	t.Parallel()
	e := world()
	withoutBooks(&e)
	for i, o := range e.Orders {
		c := &o.Calls[0]
		pay := judge.Call{Kind: judge.Then, Step: 1, Sent: at(100 + i), Done: at(120 + i), Status: 200}
		pay.Means, pay.Order = "accepted", fmt.Sprint(100+i)
		c.Means, c.Order = "pending", pay.Order
		o.Calls = append(o.Calls, pay)
	}
	e.Orders[10].Calls[0].Sent = at(18)
	p := judge.Phase{Name: judge.Together, Verdict: *judge.Judge(e)}
	var out strings.Builder
	p.Write(&out)
	for _, want := range []string{" first", " then", " met: key k9, first", " met: key k9, then"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("want %q in\n%s", want, &out)
		}
	}
}

// The example of a violation names the call of another order that it met: one that orders, although later steps met for
// longer.
func TestTheCallsThatMet(t *testing.T) {
	t.Parallel()
	e := world()
	withoutBooks(&e)
	last := &e.Orders[10].Calls[0]
	last.Means, last.Order, last.Sent = "accepted", "110", at(18)
	for _, i := range []int{0, 10} {
		step := judge.Call{Kind: judge.Then, Step: 1, Sent: at(30), Done: at(90), Status: 200}
		step.Means, step.Order = "accepted", fmt.Sprint(100+i)
		e.Orders[i].Calls = append(e.Orders[i].Calls, step)
	}
	v := judge.Judge(e)
	if len(v.Violations) == 0 || v.Violations[0].Examples[0].Met == nil || v.Violations[0].Examples[0].Met.Key != "k9" {
		t.Errorf("%+v", v.Violations)
	}
	p := judge.Phase{Name: judge.Together, Verdict: *v}
	var out strings.Builder
	p.Write(&out)
	if !slices.ContainsFunc(strings.Split(out.String(), "\n"), func(line string) bool {
		return strings.HasPrefix(strings.TrimSpace(line), "met: key k9, first")
	}) {
		t.Errorf("printed\n%s", &out)
	}
}
