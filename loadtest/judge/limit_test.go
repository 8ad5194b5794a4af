package judge_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"orderstock/loadtest/judge"
	"orderstock/loadtest/judge/shop"
	"orderstock/loadtest/verify"
)

// coupons is the file of the coupons, 20 with a limit of one for each customer, at an address.
func coupons(t *testing.T, target string, changes ...string) *shop.File {
	t.Helper()
	text, err := os.ReadFile("example/coupons.yaml")
	if err != nil {
		t.Fatal(err)
	}
	return parse(t, "", strings.NewReplacer(append(changes, "target: http://127.0.0.1:8080", target)...).
		Replace(string(text))+"settle: 1s\n")
}

func oneEach() *limited { return &limited{stock: map[string]float64{"SPRING": 20}} }

// A shop that allows a buyer less than the file says does not sell all of its stock, so it cannot show that it would
// not oversell.
func TestALimitThatLeavesPiecesIsUnknown(t *testing.T) {
	t.Parallel()
	f := coupons(t, serve(t, oneEach()), "pieces: 1", "pieces: 2")
	r := run(t, judge.Config{File: f, Phases: []string{judge.Together}})
	reasons := strings.Join(r.Phases[0].Reasons, "\n")
	if r.Outcome != verify.Unknown || !strings.Contains(reasons, "of 20 of coupon SPRING were not sold") {
		t.Errorf("%s: %q; want unknown: coupons were not sold", r, reasons)
	}
}

// A try goes on with a new buyer where one may have no more, and shows both refusals.
func TestATryTakesANewBuyer(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	f := coupons(t, serve(t, oneEach()))
	r, err := judge.Try(t.Context(), judge.Config{File: f}, &out)
	if err != nil || r.Outcome != verify.Pass || r.Phases[0].Accepted != 20 {
		t.Errorf("%v, %v\n%s", r, err, &out)
	}
	for _, want := range []string{"→ 409 this customer has one\n", "→ 409 taken, too little, no place or none left\n"} {
		if n := strings.Count(out.String(), want); n != 1 {
			t.Errorf("printed %q %d times; want once:\n%s", want, n, &out)
		}
	}
	f = coupons(t, serve(t, oneEach()), "pieces: 1", "pieces: 2")
	if r, err := judge.Try(t.Context(), judge.Config{File: f}, &out); err != nil || r.Outcome == verify.Pass {
		t.Errorf("of a shop with another limit: %v, %v", r, err)
	}
}

// Where a kill has taken orders, others make up for them, also if buyers were refused for their limit before.
func TestOrdersAreMadeUpForWithALimit(t *testing.T) {
	t.Parallel()
	var lost atomic.Int64
	s := oneEach()
	head, service := killable(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/redeem") && lost.Add(1) <= 30 {
			panic(http.ErrAbortHandler)
		}
		if r.URL.Path != "/login" {
			s.ServeHTTP(w, r)
		}
	}))
	f := coupons(t, head+"\n"+service+", ready: /login}", "repeats: key", "repeats: none")
	r := run(t, judge.Config{File: f, Clients: 4, Phases: []string{judge.Killed}})
	if p := &r.Phases[0]; r.Outcome != verify.Pass || p.Accepted != 20 {
		t.Errorf("%s: %v", p.Line(), p.Reasons)
	}
}

// The steps of one buyer are done for one order after another, those of different buyers at the same time.
func TestTheStepsOfOneBuyerDoNotMeet(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	busy, most, met := map[string]bool{}, 0, ""
	s := oneEach()
	f := coupons(t, serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasPrefix(r.URL.Path, "/register/") {
			s.ServeHTTP(w, r)
			return
		}
		mu.Lock()
		if busy[r.URL.Path] {
			met = r.URL.Path
		}
		busy[r.URL.Path] = true
		most = max(most, len(busy))
		mu.Unlock()
		time.Sleep(5 * time.Millisecond) // so that others can meet it
		mu.Lock()
		defer mu.Unlock()
		delete(busy, r.URL.Path)
	}))+"\nbuyer: [{post: '/register/{{buyer}}'}]")
	run(t, judge.Config{File: f, Phases: []string{judge.Together}})
	if met != "" || most < 2 {
		t.Errorf("%d buyers at the same time; %q met itself", most, met)
	}
}

// Where cancels give places back twice, each time is sold out again, not just the one that is asked for first.
func TestEachThingIsSoldOutAgain(t *testing.T) {
	t.Parallel()
	s := &limited{mistake: "twice", stock: map[string]float64{}}
	var stock, baskets []string
	for hour := range 10 {
		place := fmt.Sprintf(`"%02d:00": 1`, 8+hour)
		s.stock[place[1:6]], stock, baskets = 1, append(stock, place), append(baskets, "{"+place+"}")
	}
	text, err := os.ReadFile("example/appointments.yaml")
	if err != nil {
		t.Fatal(err)
	}
	f := parse(t, "", strings.NewReplacer("target: http://127.0.0.1:8080", serve(t, s),
		`{"09:00": 2, "09:30": 2, "10:00": 1}`, "{"+strings.Join(stock, ", ")+"}",
		`[{"09:00": 1}, {"09:30": 1}, {"10:00": 1}]`, "["+strings.Join(baskets, ", ")+"]",
	).Replace(string(text))+"settle: 1s\n")
	for range 3 { // as which answer comes first is chance
		r := run(t, judge.Config{File: f, Phases: []string{judge.Cancelled}})
		if !slices.Contains(r.Phases[0].Violated(), judge.NotOversold) {
			t.Errorf("%s: want %s", r, judge.NotOversold)
		}
	}
}

// Who has cancelled may have as much as before, and no more. The judge orders again for the same buyers, also where a
// buyer's second order takes longer than the first ones of others.
func TestTheLimitHoldsAfterACancel(t *testing.T) {
	t.Parallel()
	for mistake, want := range map[string][]string{"": nil, "frees": {judge.WithinLimit}} {
		s := oneEach()
		s.mistake = mistake
		var asked sync.Map
		f := coupons(t, serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodPost {
				body, _ := io.ReadAll(r.Body)
				r.Body = io.NopCloser(bytes.NewReader(body))
				n, _ := asked.LoadOrStore(string(body), new(atomic.Int64))
				if n.(*atomic.Int64).Add(1)%2 == 0 {
					time.Sleep(100 * time.Millisecond)
				}
			}
			s.ServeHTTP(w, r)
		})), "answers:", "cancel: {delete: '/orders/{{order}}'}\nanswers:")
		r := run(t, judge.Config{File: f, Phases: []string{judge.Cancelled}})
		if p := &r.Phases[0]; !slices.Equal(p.Violated(), want) || p.Cancelled == 0 {
			t.Errorf("mistake %q: %s, %v; want %v\n%s", mistake, p.Line(), p.Violated(), want, text(r))
		}
	}
}
