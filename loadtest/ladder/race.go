package ladder

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"orderstock/loadtest/fire"
	"orderstock/loadtest/history"
	"orderstock/loadtest/trial"
)

// plenty is more stock than any row can sell.
const plenty = 1_000_000_000

// turn returns the load of one turn: for the configured time, of single pieces of products that do not run out. A load
// with its own time stays as it is.
func (cfg Config) turn(load fire.Config) fire.Config {
	if load.Duration > 0 {
		return load
	}
	load.Warmup, load.Duration = cfg.Warmup, cfg.Warmup+cfg.Measure
	load.Timeout, load.Plain = 30*time.Second, true
	load.Mix.Stock, load.Mix.ItemsMax = cmp.Or(load.Mix.Stock, plenty), cmp.Or(load.Mix.ItemsMax, 1)
	load.Mix.NumMax = 1
	return load
}

// race lets the experiments take turns, and returns a row for each, with its ratio to the first. before is the number
// of turns before.
func (cfg Config) race(ctx context.Context, all []trial.Experiment, turns, before int) (rows []Row, err error) {
	counts := make([]handovers, len(all))
	s := trial.Suite{
		FirstSeed: cfg.Seed, Turns: turns, TurnsBefore: before, Open: cfg.open,
		Watch: func(_ string, rates any) { cfg.say("turn %s", rates) },
	}
	for i, e := range all {
		if len(e.Acts) == 0 { // a service that is killed counts from 0 again
			e.Checks = []trial.Check{counts[i].counted()}
		}
		e.Load = cfg.turn(e.Load)
		s.Experiments = append(s.Experiments, e)
	}
	report, err := s.Run(ctx)
	if err != nil {
		return nil, err
	}
	for i, of := range report.Rows {
		rows = append(rows, rowOf(of, all[i], counts[i]))
	}
	return rows, relate(rows)
}

// rowOf sums all turns up. The row is of the experiment as it was planned.
func rowOf(of *trial.Row, planned trial.Experiment, count handovers) Row {
	row, fired := newRow(planned), time.Duration(0)
	var turns []*history.Report
	for _, run := range of.Ended {
		turn := run.History.Measure()
		turns, fired = append(turns, turn), fired+run.History.Elapsed
		row.Legs, row.P99Legs = append(row.Legs, turn.DonePerS), append(row.P99Legs, ms(turn.P99))
	}
	total := history.Sum(turns...)
	row.DonePerS, row.RejectedPerS = total.DonePerS, total.RejectedPerS
	row.P50MS, row.P99MS, row.Verdict, row.Broken = ms(total.P50), ms(total.P99), of.Verdict, of.Broken
	row.Handovers = float64(count) / fired.Seconds()
	return row
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// handovers counts how often one of an experiment's stock services woke for a lock that another had given up.
type handovers float64

// counted is no check: it adds up the counts of each turn.
func (h *handovers) counted() trial.Check {
	return trial.Check{Name: "hand-overs", At: func(ctx context.Context, r *trial.Run, at trial.Moment) error {
		for _, s := range r.System.Stocks {
			counts, err := s.Metrics(ctx)
			if err != nil {
				return fmt.Errorf("read the metrics of %s: %w", s.Name(), err)
			}
			n := handovers(counts["orderstock_stock_lock_woken_total"])
			if at == trial.Intact {
				n = -n
			}
			*h += n
		}
		return nil
	}}
}
