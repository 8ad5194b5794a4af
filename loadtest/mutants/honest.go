package mutants

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"orderstock/loadtest/faults"
	"orderstock/loadtest/fire"
	"orderstock/loadtest/history"
	"orderstock/loadtest/system"
	"orderstock/loadtest/trial"
	"orderstock/loadtest/verify"
)

// shape is a run of right services. None may be accused.
type shape struct {
	strategy string
	load     fire.Config
	// limited are settings that refuse calls.
	limited map[string]string
	// trouble happens to services during the run.
	trouble trouble
	// loads are fired at once, each at its own products. Default 1.
	loads int
}

// trouble is what happens to services during a run.
type trouble string

const (
	calm         trouble = ""
	stocksKilled trouble = "both stock services killed"
	orderKilled  trouble = "an order service killed"
	stockPaused  trouble = "a stock service paused"
	orderPaused  trouble = "an order service paused"
)

// The loads of the shapes.
var (
	someOrders     = fire.Config{Orders: 120, Concurrency: 12, Mix: repeated}
	someDeductions = fire.Config{Path: history.PathDeduct, Orders: 120, Concurrency: 12, Mix: repeated}
	hasty          = fire.Config{Orders: 120, Concurrency: 12, Timeout: 20 * time.Millisecond, Mix: repeated}
	hastyDeducts   = fire.Config{
		Path: history.PathDeduct, Orders: 120, Concurrency: 12, Timeout: 20 * time.Millisecond, Mix: repeated,
	}
	steady         = fire.Config{Orders: 120, Concurrency: 24, Rate: 60, Mix: repeated}
	steadyDeducts  = fire.Config{Path: history.PathDeduct, Orders: 120, Concurrency: 24, Rate: 60, Mix: repeated}
	narrow         = map[string]string{"MAX_IN_FLIGHT": "15"}
	crowded        = fire.Config{Orders: 120, Concurrency: 60, Mix: repeated}
	crowdedDeducts = fire.Config{Path: history.PathDeduct, Orders: 120, Concurrency: 60, Mix: repeated}
)

// honest are the shapes: strategies, loads, limits, short timeouts, killed and paused services, and two loads at once.
var honest = []shape{
	{strategy: "grouped", load: someOrders},
	{strategy: "grouped", load: someDeductions},
	{strategy: "grouped", load: popular},
	{strategy: "grouped", load: fewBaskets},
	{strategy: "grouped", load: hasty},
	{strategy: "grouped", load: hastyDeducts},
	{strategy: "grouped", load: crowded, limited: narrow},
	{strategy: "grouped", load: crowdedDeducts, limited: narrow},
	{strategy: "grouped", load: steady, trouble: stocksKilled},
	{strategy: "grouped", load: steadyDeducts, trouble: stocksKilled},
	{strategy: "grouped", load: steady, trouble: orderKilled},
	{strategy: "grouped", load: steady, trouble: stockPaused},
	{strategy: "grouped", load: steadyDeducts, trouble: stockPaused},
	{strategy: "grouped", load: steady, trouble: orderPaused},
	{strategy: "grouped", load: someOrders, loads: 2},
	{strategy: "grouped", load: someDeductions, loads: 2},
	{strategy: "grouped", load: hasty, limited: narrow, loads: 2},
	{strategy: "grouped", load: steady, trouble: stocksKilled, loads: 2},
	{strategy: "grouped-rows", load: someOrders},
	{strategy: "grouped-rows", load: someDeductions},
	{strategy: "grouped-rows", load: steadyDeducts, trouble: stocksKilled},
	{strategy: "grouped-rows", load: crowdedDeducts, limited: narrow},
	{strategy: "sequential", load: someOrders},
	{strategy: "sequential", load: someDeductions},
	{strategy: "sequential", load: fewBaskets},
	{strategy: "sequential", load: hastyDeducts},
	{strategy: "sequential", load: crowdedDeducts, limited: narrow},
	{strategy: "sequential", load: steadyDeducts, trouble: stocksKilled},
	{strategy: "sequential", load: steady, trouble: stockPaused},
	{strategy: "sequential", load: someDeductions, loads: 2},
	{strategy: "conditional-update", load: someOrders},
	{strategy: "conditional-update", load: hastyDeducts},
	{strategy: "conditional-update", load: steadyDeducts, trouble: stocksKilled},
	{strategy: "pessimistic", load: someOrders},
	{strategy: "pessimistic", load: someDeductions},
	{strategy: "optimistic", load: someOrders},
	{strategy: "optimistic", load: someDeductions},
	{strategy: "redis-lock", load: someDeductions},
	{strategy: "zk-lock", load: someDeductions},
	{strategy: "case-study", load: someOrders},
}

// name describes the shape.
func (s shape) name() string {
	parts := []string{"honest: " + s.strategy, "orders"}
	if s.load.Path == history.PathDeduct {
		parts[1] = "deductions"
	}
	switch {
	case s.load.Timeout > 0:
		parts = append(parts, "a timeout of "+s.load.Timeout.String())
	case s.load.Mix.Several > 0:
		parts = append(parts, fmt.Sprintf("baskets from %d products", s.load.Mix.Goods))
	}
	for setting, value := range s.limited {
		parts = append(parts, setting+"="+value)
	}
	if s.trouble != calm {
		parts = append(parts, string(s.trouble))
	}
	if s.loads > 1 {
		parts = append(parts, fmt.Sprintf("%d loads at once", s.loads))
	}
	return strings.Join(parts, ", ")
}

// row runs the shape. It is as expected if each of its loads passes.
func (s shape) row(ctx context.Context, l *system.System, seed uint64) (Row, error) {
	row := Row{Kind: "honest", Mutant: s.name(), Expected: "absorbed by " + Control}
	env := maps.Clone(faults.Env)
	maps.Copy(env, unhurried)
	maps.Copy(env, s.limited)
	if err := l.StartServices(ctx, s.strategy, env); err != nil {
		return row, err
	}
	verdicts := make([]*verify.Verdict, max(s.loads, 1))
	var firing errgroup.Group
	for i := range verdicts {
		firing.Go(func() (err error) {
			if err := trial.Sleep(ctx, time.Duration(i)*50*time.Millisecond); err != nil { // products are named by the time
				return err
			}
			verdicts[i], err = s.fire(ctx, l, i, seed+uint64(i))
			return err
		})
	}
	if err := firing.Wait(); err != nil {
		return row, err
	}
	for _, v := range verdicts {
		row.Broken = append(row.Broken, v.Violated()...)
		row.Broken = append(row.Broken, v.Reasons...)
	}
	if row.OK = len(row.Broken) == 0; row.OK {
		row.CaughtBy = row.Expected
	} else {
		row.CaughtBy = strings.Join(row.Broken, ", ")
	}
	return row, nil
}

// fire fires load i of the shape and judges it. The first load has the trouble, and the others know of it.
func (s shape) fire(ctx context.Context, l *system.System, i int, seed uint64) (*verify.Verdict, error) {
	load := s.load
	load.Mix.Seed, load.Strategy = seed, s.strategy
	load.Disturbed = s.limited != nil || s.trouble != calm || load.Timeout > 0 || s.loads > 1
	t := trial.On(l, load)
	if i == 0 && s.trouble != calm {
		t.Acts = []trial.Timed{{At: 500 * time.Millisecond, Act: s.act(l)}}
	}
	r, err := t.Run(ctx)
	if err != nil {
		return nil, err
	}
	return r.Verdict, nil
}

// act breaks services for a second.
func (s shape) act(l *system.System) trial.Act {
	each := func(services []*system.Service, do func(*system.Service) error) error {
		var err error
		for _, service := range services {
			err = errors.Join(err, do(service))
		}
		return err
	}
	kill := func(services []*system.Service) trial.Act {
		return &trial.Simple{
			Do: func(context.Context) error {
				return each(services, func(s *system.Service) error { return s.Kill() })
			},
			Undo: func(ctx context.Context) error {
				return each(services, func(s *system.Service) error { return s.Restart(ctx) })
			},
			For: time.Second,
		}
	}
	pause := func(service *system.Service) trial.Act {
		return &trial.Simple{
			Do:   func(context.Context) error { return service.Pause() },
			Undo: func(context.Context) error { return service.Resume() },
			For:  2500 * time.Millisecond, // longer than its session
		}
	}
	switch s.trouble {
	case stocksKilled:
		return kill(l.Stocks)
	case orderKilled:
		return kill(l.Orders[:1])
	case stockPaused:
		return pause(l.Stocks[0])
	case orderPaused, calm:
	}
	return pause(l.Orders[0])
}
