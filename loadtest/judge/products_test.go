package judge_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"orderstock/loadtest/judge"
	"orderstock/loadtest/verify"
)

// shelf is a right shop in memory with several products. It keeps the lines of all orders.
type shelf struct {
	stock map[string]int
	stuck string // a product that it no longer serves once an order for it was refused in the phase together
	mu    sync.Mutex
	left  map[string]int
	ids   map[string]int
	asked []string
}

func (s *shelf) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.URL.Path == "/reset" {
		s.left, s.ids, s.asked = maps.Clone(s.stock), map[string]int{}, nil
		return
	}
	var body struct{ Lines []struct{ SKU string } }
	_ = json.NewDecoder(r.Body).Decode(&body)
	short, key := false, r.Header.Get("Idempotency-Key")
	var lines []string
	for _, l := range body.Lines {
		lines = append(lines, l.SKU)
		short = short || s.left[l.SKU] == 0
	}
	s.asked = append(s.asked, strings.Join(lines, "+"))
	switch {
	case slices.Contains(lines, s.stuck) && s.left[s.stuck] < 0:
		http.Error(w, "no connection is free", http.StatusInternalServerError)
		return
	case short:
		if strings.Contains(key, judge.Together) {
			s.left[s.stuck]-- // below zero if it is the one that is short
		}
		http.Error(w, "sold out", http.StatusConflict)
		return
	}
	for _, sku := range lines {
		s.left[sku]--
	}
	s.ids[key] = len(s.asked)
	w.WriteHeader(http.StatusCreated)
	fmt.Fprintf(w, `{"id":%d}`, s.ids[key])
}

// shelfFile is the file of a shelf, without its stock and baskets.
const shelfFile = `
reset: [{post: /reset}]
answers:
  - {status: 201, means: accepted, order: $.id}
  - {status: 409, contains: sold out, means: rejected}
settle: 1s
order:
  post: /orders
  headers: {Idempotency-Key: "{{key}}"}
  json: {lines: "{{items}}"}
  item: {sku: "{{product}}"}
  repeats: none
`

// Each basket is ordered about equally often, so that each product is sold out, and its lines come in each order: a
// shop may lock them in the order in which they come.
func TestEachBasketIsOrdered(t *testing.T) {
	t.Parallel()
	const stock = "stock: {a: 1, b: 1, c: 1, d: 1, e: 1, f: 1, g: 1, h: 1}\n"
	const baskets = "  baskets: [{a: 1}, {b: 1}, {c: 1}, {d: 1}, {e: 1}, {f: 1}, {g: 1, h: 1}]\n"
	s := &shelf{stock: map[string]int{"a": 1, "b": 1, "c": 1, "d": 1, "e": 1, "f": 1, "g": 1, "h": 1}}
	f := parse(t, "", stock+serve(t, s)+shelfFile+baskets)
	turned := map[string]bool{}
	for seed := range uint64(8) {
		run(t, judge.Config{File: f, Seed: seed + 1, Phases: []string{judge.Alone}})
		asked := map[string]int{}
		for _, lines := range s.asked {
			turned[lines] = true
			asked[strings.Replace(lines, "h+g", "g+h", 1)]++
		}
		for lines, n := range asked {
			if n < 2 || len(asked) != 7 {
				t.Errorf("seed %d: %s was ordered %d times, and %d baskets of 7", seed+1, lines, n, len(asked))
			}
		}
	}
	if !turned["g+h"] || !turned["h+g"] {
		t.Errorf("the lines came in these orders only: %v", turned)
	}
}

// A try orders until each basket was refused, not just the first.
func TestATryGoesOnUntilEachBasketIsRefused(t *testing.T) {
	t.Parallel()
	s := &shelf{stock: map[string]int{"tea": 1, "cup": 9}}
	f := parse(t, "", "stock: {tea: 1, cup: 9}\n"+serve(t, s)+shelfFile+"  baskets: [{tea: 1}, {cup: 1}]\n")
	var out bytes.Buffer
	r, err := judge.Try(t.Context(), judge.Config{File: f}, &out)
	if err != nil || r.Outcome != verify.Pass || r.Phases[0].Accepted != 10 || r.Phases[0].Rejected != 2 ||
		strings.Count(out.String(), "→ 409 sold out\n") != 2 {
		t.Errorf("%v, %v\n%s", r, err, &out)
	}
}

// A product that is served no longer is found, also if others are.
func TestEachBasketIsServedAfterThePhase(t *testing.T) {
	t.Parallel()
	s := &shelf{stock: map[string]int{"tea": 8, "cup": 8, "pot": 8, "jar": 8}, stuck: "jar"}
	f := parse(t, "", "stock: {tea: 8, cup: 8, pot: 8, jar: 8}\n"+serve(t, s)+shelfFile+
		"  baskets: [{tea: 1}, {cup: 1}, {pot: 1}, {jar: 1}]\n")
	for seed := range uint64(3) {
		r := run(t, judge.Config{File: f, Seed: seed + 1, Phases: []string{judge.Alone, judge.Together}})
		p := phaseOf(r, judge.Together)
		if phaseOf(r, judge.Alone).Outcome != verify.Pass || !slices.Contains(p.Violated(), judge.KeepsServing) {
			t.Errorf("seed %d: %s; want %s\n%s", seed+1, r, judge.KeepsServing, text(r))
		}
	}
}

// A pass names the products of which no more was ordered than there is.
func TestAProductThatWasNotSoldOutIsNoted(t *testing.T) {
	t.Parallel()
	s := &shelf{stock: map[string]int{"tea": 2, "cup": 50, "pot": 50}}
	f := parse(t, "", "noun: thing\nstock: {tea: 2, cup: 50, pot: 50}\n"+serve(t, s)+shelfFile+
		"  baskets: [{tea: 1}, {cup: 1}]\n")
	r := run(t, judge.Config{File: f, Orders: 20, Phases: []string{judge.Alone}})
	const want = "of thing cup, and of 1 more, no more was ordered than there is"
	if r.Outcome != verify.Pass || !strings.Contains(strings.Join(r.Phases[0].Notes, "\n"), want) {
		t.Errorf("%s, %q; want a pass with the note %s", r, r.Phases[0].Notes, want)
	}
	r = run(t, judge.Config{File: f, Phases: []string{judge.Alone}})
	if r.Outcome != verify.Pass || strings.Contains(strings.Join(r.Phases[0].Notes, "\n"), "cup") {
		t.Errorf("with enough orders: %s, %q", r, r.Phases[0].Notes)
	}
}
