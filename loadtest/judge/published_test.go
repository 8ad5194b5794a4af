package judge_test

import (
	"maps"
	"slices"
	"testing"
	"time"

	"orderstock/loadtest/faultpoint"
	"orderstock/loadtest/judge"
	"orderstock/loadtest/judge/shop"
	"orderstock/loadtest/system"
	"orderstock/loadtest/system/systemtest"
	"orderstock/loadtest/tables"
	"orderstock/loadtest/verify"
)

// A buyer sees these published faults on every machine, because of delays between two steps. The fixed variants pass
// under the same delays.
func TestPublishedFaults(t *testing.T) {
	t.Parallel()
	options := system.Config{Dir: t.TempDir(), Breakable: true}
	if err := options.Compile(t.Context()); err != nil {
		t.Fatal(err)
	}
	slow := func(step faultpoint.Step, when faultpoint.When, d time.Duration) map[string]string {
		return faultpoint.Always(faultpoint.Rule{
			Step: step, When: when, Action: faultpoint.Delay, DelayMS: int(d.Milliseconds()),
		})
	}
	late := slow(faultpoint.ReleaseLock, faultpoint.After, time.Second)
	late["CONFIRM_BUDGET"] = "1s" // a call waits for two thirds of it
	for _, test := range []struct {
		letter, phase, violated string
		first, second           shop.Pieces // of the two products
		env                     map[string]string
	}{
		{
			"A", judge.Together, "stock-matches-orders", 8, 10,
			slow(faultpoint.UpdateStock, faultpoint.Before, 100*time.Millisecond),
		},
		// Baskets of both find one of them sold out.
		{"B", judge.Alone, "stock-matches-orders", 2, 40, nil},
		{
			"E", judge.Alone, "rejected-only-when-short", 8, 10,
			late,
		},
		{
			"F", judge.Killed, "settled", 8, 10,
			slow(faultpoint.InsertOrder, faultpoint.After, 300*time.Millisecond),
		},
	} {
		f, err := tables.Find(test.letter)
		if err != nil {
			t.Fatal(err)
		}
		for side, v := range map[tables.Side]tables.Variant{tables.Broken: f.Broken, tables.Fixed: f.Fixed} {
			t.Run(test.letter+" "+string(side), func(t *testing.T) {
				t.Parallel()
				env := maps.Clone(tables.Env)
				for _, more := range []map[string]string{f.Env, test.env, {"MUTANT": v.Mutants}} {
					maps.Copy(env, more)
				}
				st := systemtest.Up(t, options.Bin, func(c *system.Config) {
					c.Strategy, c.OrderEnv, c.StockEnv = f.Broken.Strategy, env, env
				})
				file := example(t, st)
				file.Stock = map[string]shop.Pieces{
					"{{serial}}1": test.first * shop.Whole, "{{serial}}2": test.second * shop.Whole,
				}
				if side == tables.Broken {
					file.Settle = shop.Duration(3 * time.Second)
				}
				r := run(t, judge.Config{File: file, Clients: 20, Phases: []string{test.phase}})
				if side == tables.Fixed && r.Outcome != verify.Pass {
					t.Errorf("%s; want pass\n%s", r, text(r))
				}
				if side == tables.Broken && !slices.Contains(r.Phases[0].Violated(), test.violated) {
					t.Errorf("%s; want %s violated\n%s", r, test.violated, text(r))
				}
			})
		}
	}
}
