package ladder

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"orderstock/loadtest/fire"
	"orderstock/loadtest/history"
	"orderstock/loadtest/trial"
	"orderstock/loadtest/verify"
)

// plenty is more stock than any row can sell.
const plenty = 1_000_000_000

// turn returns the load of one turn: for the configured time, of single pieces of products that do not run out, unless
// the load has another stock.
func (cfg Config) turn(load fire.Config) fire.Config {
	load.Warmup, load.Duration = cfg.Warmup, cfg.Warmup+cfg.Measure
	load.Timeout, load.Plain = 30*time.Second, true
	load.Mix.Stock, load.Mix.ItemsMax = cmp.Or(load.Mix.Stock, plenty), cmp.Or(load.Mix.ItemsMax, 1)
	load.Mix.NumMax, load.Mix.Seed = 1, cfg.Seed
	return load
}

// measure opens the systems of the experiments, which have one load, lets them race, and returns a row for each.
func (cfg Config) measure(
	ctx context.Context, experiments []trial.Experiment, order func([]*contestant) iter.Seq[*contestant],
) (_ []Row, err error) {
	var all []*contestant
	defer func() {
		for _, c := range all {
			err = errors.Join(err, c.close(ctx))
		}
	}()
	for _, e := range experiments {
		c, err := cfg.open(ctx, e)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", &contestant{Experiment: e}, err)
		}
		all = append(all, c)
	}
	return cfg.race(ctx, all, order)
}

// race fires at the contestants in the order, judges all turns of each, and returns a row for each, with its ratio to
// the first.
func (cfg Config) race(
	ctx context.Context, all []*contestant, order func([]*contestant) iter.Seq[*contestant],
) (rows []Row, err error) {
	for c := range order(all) {
		if err := c.fire(ctx, cfg); err != nil {
			return nil, fmt.Errorf("%s: %w", c, err)
		}
	}
	for _, c := range all {
		row := c.row()
		for _, turn := range c.reports {
			verdict, err := trial.On(c.system, fire.Config{}).Judge(ctx, turn.History)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", c, err)
			}
			row.Verdict = row.Verdict.Or(verdict.Outcome)
		}
		rows = append(rows, row)
	}
	return rows, relate(rows)
}

// fire measures a turn.
func (c *contestant) fire(ctx context.Context, cfg Config) error {
	if c.begin != nil {
		if err := c.begin(ctx); err != nil {
			return err
		}
	}
	if c.Load.Concurrency == 1 && len(c.reports) > 0 {
		cfg.Warmup /= 4 // there is no queue to fill, and everything is warm from the turn before
	}
	before, err := c.countLocks(ctx)
	if err != nil {
		return err
	}
	fired, err := c.run(ctx, cfg.turn(c.Load))
	if err != nil {
		return err
	}
	after, err := c.countLocks(ctx)
	if err != nil {
		return err
	}
	c.locks.add(before, after)
	c.fired += fired.History.Elapsed
	c.reports = append(c.reports, fired.History.Measure())
	return nil
}

// row sums all turns up.
func (c *contestant) row() Row {
	total, row := history.Sum(c.reports...), newRow(c.Experiment)
	row.DonePerS, row.DoneError, row.RejectedPerS = total.DonePerS, doneError(c.reports), total.RejectedPerS
	row.P50MS, row.P99MS, row.Verdict = ms(total.P50), ms(total.P99), verify.Pass
	row.WakeupsPerRelease, row.Handovers = c.locks.wakeups(), c.locks.handovers/c.fired.Seconds()
	for _, turn := range c.reports {
		row.Legs, row.P99Legs = append(row.Legs, turn.DonePerS), append(row.P99Legs, ms(turn.P99))
	}
	return row
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// last returns the report of the last turn.
func (c *contestant) last() *history.Report { return c.reports[len(c.reports)-1] }

// quick reports whether the last turn's clients were all served soon after its end. Clients of a slow strategy wait
// longer than the turn lasted.
func (c *contestant) quick() bool { return c.last().Elapsed < 2*c.last().History.Window }

// legs returns the order of n legs. Each contestant has a turn in each, in the reverse order of the leg before, so that
// a steady drift affects all of them. The last contestant begins if after, the number of legs before, is odd.
func (cfg Config) legs(n, after int) func([]*contestant) iter.Seq[*contestant] {
	return func(all []*contestant) iter.Seq[*contestant] {
		return func(yield func(*contestant) bool) {
			order := slices.Clone(all)
			if after%2 == 1 {
				slices.Reverse(order)
			}
			for leg := range n {
				for _, c := range order {
					if !yield(c) {
						return
					}
				}
				var rates []string
				for _, c := range all {
					rates = append(rates, fmt.Sprintf("%.0f/s", c.last().DonePerS))
				}
				cfg.say("leg %d of %d: %s", leg+1, n, strings.Join(rates, ", "))
				slices.Reverse(order)
			}
		}
	}
}

// rounds returns the number of turns of the ladder's rows. The rate of one client is one over the disk's latency, which
// changes every second, so it is compared over more and shorter turns.
func rounds(clients int) int {
	if clients == 1 {
		return 4
	}
	return 2
}

// turns is the order of the ladder's turns: all in turn, round after round, each in the reverse order of the one
// before. The quick rows take a second turn at the end of a round, the last first, which costs little.
func turns(all []*contestant) iter.Seq[*contestant] {
	return func(yield func(*contestant) bool) {
		order := slices.Clone(all)
		for range rounds(all[0].Load.Concurrency) {
			for _, c := range order {
				if !yield(c) {
					return
				}
			}
			slices.Reverse(order)
			for _, c := range order {
				if c.quick() && !yield(c) {
					return
				}
			}
		}
	}
}
