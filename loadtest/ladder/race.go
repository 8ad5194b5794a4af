package ladder

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"orderstock/loadtest/fire"
	"orderstock/loadtest/history"
	"orderstock/loadtest/system"
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
	locks := make([]lockCounts, len(all))
	s := trial.Suite{
		FirstSeed: cfg.Seed, Turns: turns, TurnsBefore: before, Open: cfg.open,
		Watch: func(_ string, rates any) { cfg.say("turn %s", rates) },
	}
	for i, e := range all {
		if len(e.Acts) == 0 { // a service that is killed counts from 0 again
			e.Checks = []trial.Check{locks[i].counted()}
		}
		e.Load = cfg.turn(e.Load)
		s.Experiments = append(s.Experiments, e)
	}
	report, err := s.Run(ctx)
	if err != nil {
		return nil, err
	}
	for i, of := range report.Rows {
		rows = append(rows, rowOf(of, all[i], locks[i]))
	}
	return rows, relate(rows)
}

// rowOf sums all turns up. The row is of the experiment as it was planned.
func rowOf(of *trial.Row, planned trial.Experiment, locks lockCounts) Row {
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
	row.WakeupsPerRelease, row.Handovers = locks.wakeups(), locks.handovers/fired.Seconds()
	return row
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// lockCounts are the watch events that ZooKeeper has sent for deleted nodes and for changed lists of children, the
// locks that the stock services have taken, and how often one of them woke for a lock that another had given up.
type lockCounts struct{ events, locks, handovers float64 }

// wakeups returns the watch events for each lock that was taken.
func (c lockCounts) wakeups() float64 {
	if c.locks == 0 {
		return 0
	}
	return c.events / c.locks
}

// counted is no check: it adds up the counts of each turn.
func (c *lockCounts) counted() trial.Check {
	return trial.Check{Name: "locks", At: func(ctx context.Context, r *trial.Run, at trial.Moment) error {
		sign := 1.0
		if at == trial.Intact {
			sign = -1
		}
		n, err := countLocks(ctx, r.System)
		c.events, c.locks, c.handovers = c.events+sign*n.events, c.locks+sign*n.locks, c.handovers+sign*n.handovers
		return err
	}}
}

// countLocks reads the counters of ZooKeeper and of all stock services.
func countLocks(ctx context.Context, s *system.System) (n lockCounts, err error) {
	server, err := s.ZooKeeper.Monitor(ctx)
	if err != nil {
		return n, err
	}
	n.events = server["zk_sum_node_deleted_watch_count"] + server["zk_sum_node_children_watch_count"]
	for _, s := range s.Stocks {
		counts, err := s.Metrics(ctx)
		if err != nil {
			return n, fmt.Errorf("read the metrics of %s: %w", s.Name(), err)
		}
		n.locks += counts["orderstock_stock_lock_wait_seconds"]
		n.handovers += counts["orderstock_stock_lock_woken_total"]
	}
	return n, nil
}
