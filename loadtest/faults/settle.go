package faults

import (
	"context"
	"fmt"
	"time"

	"orderstock/loadtest/system"
	"orderstock/loadtest/trial"
	"orderstock/loadtest/verify"
	"orderstock/pkg/mysqldb"
)

// settle waits until no order is unfinished, and records how long each one took after everything was healed.
func (r *Run) settle(ctx context.Context, l *system.System, healed time.Time) error {
	limit := healed.Add(settleWithin)
	if t := time.Now().Add(settleWithin / 2); t.After(limit) {
		limit = t // the last calls ended long after the fault did
	}
	waiting := map[int64]bool{}
	for {
		ids, err := unfinished(ctx, l)
		if err != nil {
			return err
		}
		now := time.Now()
		for id := range waiting {
			if !ids[id] {
				r.SettleMS = append(r.SettleMS, float64(now.Sub(healed).Milliseconds()))
			}
		}
		waiting = ids
		if len(ids) == 0 {
			return nil
		}
		if now.After(limit) {
			r.Unsettled = len(ids)
			r.Broken = append(r.Broken, Settled)
			r.fail(verify.Violation, "%d orders are still on their way %s after the last fault healed", len(ids),
				now.Sub(healed).Round(time.Second))
			return nil
		}
		if err := trial.Sleep(ctx, 25*time.Millisecond); err != nil {
			return err
		}
	}
}

// unfinished returns the orders without a final state.
func unfinished(ctx context.Context, l *system.System) (map[int64]bool, error) {
	ids := map[int64]bool{}
	for id, err := range mysqldb.Rows(ctx, l.OrderDB, mysqldb.One[int64],
		"SELECT id FROM orders WHERE status IN ('PENDING','CANCELLING')") {
		if err != nil {
			return nil, fmt.Errorf("read unfinished orders: %w", err)
		}
		ids[id] = true
	}
	return ids, nil
}

// await calls done until it returns nil, for at most limit. Its error has the last error of done.
func await(ctx context.Context, limit time.Duration, what string, done func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	for {
		err := done(ctx)
		if err == nil {
			return nil
		}
		if e := trial.Sleep(ctx, 50*time.Millisecond); e != nil {
			return fmt.Errorf("wait %s: %w: %w", what, e, err)
		}
	}
}

// awaitReady waits until every replica is ready.
func awaitReady(ctx context.Context, l *system.System) error {
	return await(ctx, 30*time.Second, "until all replicas are ready again", func(ctx context.Context) error {
		for _, r := range l.Replicas() {
			if err := r.Ready(ctx); err != nil {
				return fmt.Errorf("%s: %w", r.Name(), err)
			}
		}
		return nil
	})
}
