package verifytest_test

import (
	"fmt"
	"maps"
	"strings"
	"sync"
	"testing"
	"time"

	"orderstock/loadtest/fire"
	"orderstock/loadtest/history"
	"orderstock/loadtest/trial"
	"orderstock/loadtest/verify"
)

// shape is a way to run right services other than by the load, in words.
type shape struct {
	says  string
	acts  []trial.Action
	env   map[string]string
	front func(fire.Target) front
	twice bool
}

// trouble breaks something half a second after the first order. A pause is longer than a session.
func trouble(says, action, target string, lasts time.Duration) shape {
	return shape{says: says, acts: []trial.Action{{Action: action, Target: target, AfterMS: 500, For: lasts}}}
}

var (
	stocksKilled = trouble("both stock services killed", "kill", "stock-"+trial.Every, time.Second)
	orderKilled  = trouble("an order service killed", "kill", "order-1", time.Second)
	stockPaused  = trouble("a stock service paused", "pause", "stock-1", 2500*time.Millisecond)
	orderPaused  = trouble("an order service paused", "pause", "order-1", 2500*time.Millisecond)
	// narrow refuses calls.
	narrow = shape{says: "MAX_IN_FLIGHT=15", env: map[string]string{"MAX_IN_FLIGHT": "15"}}
	// retried has a proxy in front that sends one order in ten again.
	retried = shape{says: "a proxy that sends calls again", front: every(1, 10, places, sendingAgain)}
	// twice fires two loads at once, each at its own products.
	twice = shape{says: "2 loads at once", twice: true}
)

// honest are runs of right services, which must all pass: strategies, loads, limits, short timeouts, killed and paused
// services, and two loads at once.
var honest = []honestRun{
	{"grouped", someOrders, nil},
	{"grouped", someDeductions, nil},
	{"grouped", popular, nil},
	{"grouped", fewBaskets, nil},
	{"grouped", hasty, nil},
	{"grouped", hastyDeducts, nil},
	{"grouped", crowded, []shape{narrow}},
	{"grouped", crowdedDeducts, []shape{narrow}},
	{"grouped", steady, []shape{stocksKilled}},
	{"grouped", steadyDeducts, []shape{stocksKilled}},
	{"grouped", steady, []shape{orderKilled}},
	{"grouped", steady, []shape{stockPaused}},
	{"grouped", steadyDeducts, []shape{stockPaused}},
	{"grouped", steady, []shape{orderPaused}},
	{"grouped", someOrders, []shape{retried}},
	{"grouped", someOrders, []shape{twice}},
	{"grouped", someDeductions, []shape{twice}},
	{"grouped", hasty, []shape{narrow, twice}},
	{"grouped", steady, []shape{stocksKilled, twice}},
	{"grouped-rows", someOrders, nil},
	{"grouped-rows", someDeductions, nil},
	{"grouped-rows", steadyDeducts, []shape{stocksKilled}},
	{"grouped-rows", crowdedDeducts, []shape{narrow}},
	{"sequential", someOrders, nil},
	{"sequential", someDeductions, nil},
	{"sequential", fewBaskets, nil},
	{"sequential", hastyDeducts, nil},
	{"sequential", crowdedDeducts, []shape{narrow}},
	{"sequential", steadyDeducts, []shape{stocksKilled}},
	{"sequential", steady, []shape{stockPaused}},
	{"sequential", someDeductions, []shape{twice}},
	{"conditional-update", someOrders, nil},
	{"conditional-update", hastyDeducts, nil},
	{"conditional-update", steadyDeducts, []shape{stocksKilled}},
	{"pessimistic", someOrders, nil},
	{"pessimistic", someDeductions, nil},
	{"optimistic", someOrders, nil},
	{"optimistic", someDeductions, nil},
	{"redis-lock", someDeductions, nil},
	{"zk-lock", someDeductions, nil},
	{"case-study", someOrders, nil},
}

// honestRun is a run of right services, which must pass.
type honestRun struct {
	strategy string
	load     fire.Config
	shapes   []shape
}

func (h honestRun) String() string {
	parts := []string{h.strategy, "orders"}
	if h.load.Path == history.PathDeduct {
		parts[1] = "deductions"
	}
	switch {
	case h.load.Timeout > 0:
		parts = append(parts, "a timeout of "+h.load.Timeout.String())
	case h.load.Mix.Several > 0:
		parts = append(parts, fmt.Sprintf("baskets from %d products", h.load.Mix.Goods))
	}
	for _, s := range h.shapes {
		parts = append(parts, s.says)
	}
	return strings.Join(parts, ", ")
}

// Right services are never accused.
// With all shapes it takes minutes: each has its own services.
func TestHonestServicesPass(t *testing.T) {
	for _, h := range part(honest, 1) {
		t.Run(h.String(), func(t *testing.T) {
			t.Parallel()
			h.pass(t)
		})
	}
}

// pass runs the services. Loads that do not break anything are told that something else does.
func (h honestRun) pass(t *testing.T) {
	t.Helper()
	e, env, loads := trial.Experiment{Name: h.String(), Load: h.load}, map[string]string{}, 1
	e.Load.Disturbed = h.load.Timeout > 0 || len(h.shapes) > 0
	var before func(fire.Target) front
	for _, s := range h.shapes {
		e.Acts = append(e.Acts, s.acts...)
		maps.Copy(env, s.env)
		if s.front != nil {
			before = s.front
		}
		if s.twice {
			loads = 2
		}
	}
	on := up(t, h.strategy, env)
	if before != nil {
		e.Load.Target = behind(t, before, on.Target())
	}
	var running sync.WaitGroup
	for n := range loads {
		if n > 0 {
			time.Sleep(50 * time.Millisecond) // products are named by the time
			e.Acts = nil
		}
		running.Go(func() {
			if r := run(t, e, on, uint64(n+1)); r.Outcome != verify.Pass {
				t.Errorf("load %d: %s: %v", n+1, r.Outcome, r.Why)
			}
		})
	}
	running.Wait()
}
