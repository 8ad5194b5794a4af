package verifytest_test

import (
	"context"
	"errors"
	"maps"
	"math"
	"strconv"
	"testing"
	"time"

	"orderstock/loadtest/faultpoint"
	"orderstock/loadtest/fire"
	"orderstock/loadtest/history"
	"orderstock/loadtest/system"
	"orderstock/loadtest/tables"
	"orderstock/loadtest/trial"
	"orderstock/loadtest/verify"
	"orderstock/pkg/operation"
	"orderstock/pkg/stockapi"
)

// flagConflict is the property that changedBody checks: other items under a used flag are refused.
const flagConflict = "flag-conflict-refused"

// probe sends calls that the load tester never sends, after a run of traffic over the products, and returns the names
// of the invariants that it found broken.
type probe func(ctx context.Context, l *system.System, goods []history.Goods) (broken []string, err error)

// Stock services that accept a deduction after its cancellation, or a changed body under a used flag, are found. Right
// ones are not accused.
// It takes more than 10 s: the services with their broken variants are linked, and three servers start.
func TestProbes(t *testing.T) {
	t.Parallel()
	var rows []trial.Experiment
	for _, p := range []struct {
		name, patch string
		probe       probe
		expect      trial.Expect
	}{
		{"a deduction after its cancellation", "", lateDeduction, trial.Expect{Absorbed: trial.Control}},
		{"cancel without a tombstone", "no-tombstone", lateDeduction, trial.Expect{Broken: verify.OrderMatchesOperation}},
		{"a changed body accepted", "changed-body", changedBody, trial.Expect{Broken: flagConflict}},
	} {
		env := maps.Clone(tables.Env)
		maps.Copy(env, atOnce)
		rows = append(rows, trial.Experiment{
			Name: p.name, Expect: p.expect, Settle: 2 * time.Second,
			Services: trial.Services{Strategy: "sequential", Mutants: p.patch, Env: env, Fresh: true},
			Load: fire.Config{
				Orders: 50, Concurrency: 20, Timeout: 8 * time.Second, Patience: 3 * time.Second,
				Mix: fire.Mix{Goods: 3, Stock: 80, Seed: 1},
			},
			Checks: []trial.Check{trial.When(trial.Sent, "probe", func(ctx context.Context, r *trial.Run) error {
				broken, err := p.probe(ctx, r.System, r.History.Goods)
				for _, name := range broken {
					r.Violate(name, 1, "%s, by a call that no client sends", name)
				}
				return err
			})},
		})
	}
	report, err := trial.Suite{Table: "probes", Experiments: rows, Out: t.TempDir()}.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range report.Rows {
		if row.Wrong() {
			t.Errorf("%s: %s, caught by %s", row.Name, row.Verdict, row.CaughtBy)
		}
	}
}

// lateDeduction cancels an order whose deduction is still on its way, and lets it arrive then. The reconciler stands
// still: a second cancellation after the deduction would give the pieces back.
func lateDeduction(ctx context.Context, l *system.System, _ []history.Goods) ([]string, error) {
	held := faultpoint.Rule{
		Step: faultpoint.CallStock, When: faultpoint.Before, Action: faultpoint.Error, Times: math.MaxInt,
	}
	still := held
	still.Step = faultpoint.Reconcile
	for _, r := range l.Orders {
		if err := r.Arm(ctx, held, still); err != nil {
			return nil, err
		}
	}
	h, err := fire.Run(ctx, fire.Config{
		Target: l.Target(), Orders: 1, Concurrency: 1, Timeout: 5 * time.Second, Disturbed: true, Plain: true,
		Mix: fire.Mix{Goods: 1, Stock: 10, ItemsMax: 1, Cancel: 1},
	})
	if err != nil {
		return nil, err
	}
	client, err := stockapi.NewClient([]string{l.Stocks[0].URL()}, stockapi.Config{Token: l.Target().StockToken, Tries: 1})
	if err != nil {
		return nil, err
	}
	defer client.Close()
	flag, items := strconv.FormatInt(h.Calls[0].Order, 10), h.Items(0)[:1]
	if _, err := client.Deduct(ctx, flag, items); err != nil {
		return nil, err
	}
	// It is unknown if nothing is violated: no order was confirmed or rejected.
	v, err := l.Judge(ctx, verify.Config{History: h})
	if err != nil {
		return nil, err
	}
	return v.Violated(), nil
}

// changedBody deducts one piece, and then asks for two under the same flag.
func changedBody(ctx context.Context, l *system.System, goods []history.Goods) ([]string, error) {
	client, err := stockapi.NewClient([]string{l.Stocks[0].URL()}, stockapi.Config{Token: l.Target().StockToken, Tries: 1})
	if err != nil {
		return nil, err
	}
	defer client.Close()
	flag := history.DirectPrefix + strconv.FormatInt(time.Now().UnixNano(), 36)
	items := []operation.Item{{GoodsID: goods[0].ID, Num: 1}}
	if _, err := client.Deduct(ctx, flag, items); err != nil {
		return nil, err
	}
	items[0].Num = 2
	switch _, err := client.Deduct(ctx, flag, items); {
	case err == nil:
		return []string{flagConflict}, nil
	case !errors.Is(err, operation.ErrFlagConflict):
		return nil, err
	}
	return nil, nil
}
