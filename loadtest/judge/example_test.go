package judge_test

import (
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"orderstock/loadtest/judge"
	"orderstock/loadtest/verify"
)

// limited is a service in memory for limited things: seats, coupons, a wallet, appointments. It is right unless a
// mistake is named: it looks at what is left, and writes it later; it forgets who has one; it gives back twice; it
// frees from the limit who cancels.
type limited struct {
	mistake string
	stock   map[string]float64
	mu      sync.Mutex
	left    map[string]float64
	has     map[string]bool
	orders  []string // the thing of each
	of      []string // the customer of each
	free    map[string]bool
	keys    map[string]int
}

func (s *limited) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	path := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	if path[0] == "reset" {
		s.left, s.has, s.keys, s.orders = map[string]float64{}, map[string]bool{}, map[string]int{}, nil
		s.of, s.free = nil, map[string]bool{}
		for thing, n := range s.stock {
			s.left[thing] = n
		}
		return
	}
	if r.Method == http.MethodDelete {
		id, _ := strconv.Atoi(path[1])
		thing := &s.orders[id-1]
		s.left[strings.TrimPrefix(*thing, "-")]++
		if s.mistake != "twice" && strings.HasPrefix(*thing, "-") {
			s.left[strings.TrimPrefix(*thing, "-")]--
		}
		*thing = "-" + strings.TrimPrefix(*thing, "-")
		s.has[s.of[id-1]], s.free[s.of[id-1]] = false, s.mistake == "frees"
		return
	}
	var body struct {
		Customer, Time string
		Amount         float64
	}
	_ = json.NewDecoder(r.Body).Decode(&body) // a seat has none
	thing, amount, refusal := path[min(1, len(path)-1)], 1.0, "taken, too little, no place or none left"
	if body.Time != "" {
		thing = body.Time
	}
	if body.Amount != 0 {
		amount = body.Amount
	}
	key := r.Header.Get("Idempotency-Key")
	id, again := s.keys[key]
	left := s.left[thing]
	switch {
	case again:
	case body.Customer != "" && s.has[body.Customer] && s.mistake != "forgets" && !s.free[body.Customer]:
		refusal, id = "this customer has one", 0
	case left >= amount:
		if s.mistake == "late" {
			s.mu.Unlock()
			time.Sleep(5 * time.Millisecond)
			s.mu.Lock()
		}
		s.left[thing] = math.Max(0, left-amount)
		s.orders, s.of = append(s.orders, thing), append(s.of, body.Customer)
		id, s.has[body.Customer] = len(s.orders), true
	}
	if s.keys[key] = id; id == 0 {
		http.Error(w, refusal, http.StatusConflict)
		return
	}
	w.WriteHeader(http.StatusCreated)
	fmt.Fprintf(w, `{"id":%d}`, id)
}

// The short files in the folder example, for other things than shops, pass for a service that is right, and find what
// another does wrong, in the words of the file.
func TestLimitedThings(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ file, mistake, violated, want string }{
		{"seats", "late", judge.NotOversold, " of seat "},
		{"coupons", "late", judge.NotOversold, " of coupon SPRING were accepted, and there were 20"},
		{"coupons", "forgets", judge.WithinLimit, "buyer 1 has 2 in the orders 1 and 2, and may have 1"},
		{"wallet", "late", judge.NotOversold, " of wallet alice were accepted, and there were 100"},
		{"appointments", "late", judge.NotOversold, " of time "},
		{"appointments", "twice", judge.NotOversold, " of time "},
	} {
		for _, mistake := range []string{"", c.mistake} {
			t.Run(c.file+" "+mistake, func(t *testing.T) {
				t.Parallel()
				s := &limited{mistake: mistake, stock: map[string]float64{}}
				file, err := os.ReadFile(filepath.Join("example", c.file+".yaml"))
				if err != nil {
					t.Fatal(err)
				}
				f := parse(t, "", strings.Replace(string(file), "target: http://127.0.0.1:8080", serve(t, s), 1)+"settle: 1s\n")
				for thing, pieces := range f.Stock {
					s.stock[thing] = float64(pieces) / 1e6
				}
				r := run(t, judge.Config{File: f})
				if mistake == "" && (r.Outcome != verify.Pass || r.Phases[1].Rejected == 0) {
					t.Errorf("%s\n%s", r, text(r))
				}
				found := slices.ContainsFunc(r.Phases, func(p judge.Phase) bool {
					return slices.ContainsFunc(p.Violations, func(v judge.Violation) bool {
						return v.Invariant == c.violated && strings.Contains(v.Examples[0].Text, c.want)
					})
				})
				if mistake != "" && !found {
					t.Errorf("want %s: %s\n%s", c.violated, c.want, text(r))
				}
			})
		}
	}
}
