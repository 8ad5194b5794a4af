package ladder

import (
	"cmp"
	"context"
	"errors"
	"fmt"
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

// turn returns the load of one turn: for the configured time, of single pieces of products that do not run out. A load
// with its own time stays as it is.
func (cfg Config) turn(load fire.Config) fire.Config {
	load.Mix.Seed = cfg.Seed
	if load.Duration > 0 {
		return load
	}
	load.Warmup, load.Duration = cfg.Warmup, cfg.Warmup+cfg.Measure
	load.Timeout, load.Plain = 30*time.Second, true
	load.Mix.Stock, load.Mix.ItemsMax = cmp.Or(load.Mix.Stock, plenty), cmp.Or(load.Mix.ItemsMax, 1)
	load.Mix.NumMax = 1
	return load
}

// measure opens the systems of the experiments, lets them race, and returns a row for each.
func (cfg Config) measure(ctx context.Context, experiments []trial.Experiment, legs, before int) (_ []Row, err error) {
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
	return cfg.race(ctx, all, legs, before)
}

// race lets the contestants take turns, judges all turns of each, and returns a row for each, with its ratio to the
// first. before is the number of legs before.
func (cfg Config) race(ctx context.Context, all []*contestant, legs, before int) (rows []Row, err error) {
	for leg := range legs {
		for _, c := range ordered(all, before+leg) {
			if err := c.fire(ctx, cfg); err != nil {
				return nil, fmt.Errorf("%s: %w", c, err)
			}
		}
		cfg.say("leg %d of %d: %s", leg+1, legs, rates(all))
	}
	for _, c := range all {
		row, err := c.row(ctx)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", c, err)
		}
		rows = append(rows, row)
	}
	return rows, relate(rows)
}

// ordered returns all in the order of a leg: the reverse order of the leg before, so that a steady drift affects all of
// them.
func ordered(all []*contestant, leg int) []*contestant {
	all = slices.Clone(all)
	if leg%2 == 1 {
		slices.Reverse(all)
	}
	return all
}

// rates names the contestants with the sales a second of their last turns.
func rates(all []*contestant) string {
	var each []string
	for _, c := range all {
		each = append(each, fmt.Sprintf("%s %.0f/s", c, c.reports[len(c.reports)-1].DonePerS))
	}
	return strings.Join(each, "; ")
}

// fire measures a turn.
func (c *contestant) fire(ctx context.Context, cfg Config) error {
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

// row sums all turns up, and judges them.
func (c *contestant) row(ctx context.Context) (Row, error) {
	total, row := history.Sum(c.reports...), newRow(c.Experiment)
	row.DonePerS, row.RejectedPerS = total.DonePerS, total.RejectedPerS
	row.P50MS, row.P99MS, row.Verdict = ms(total.P50), ms(total.P99), verify.Pass
	row.WakeupsPerRelease, row.Handovers = c.locks.wakeups(), c.locks.handovers/c.fired.Seconds()
	for _, turn := range c.reports {
		row.Legs, row.P99Legs = append(row.Legs, turn.DonePerS), append(row.P99Legs, ms(turn.P99))
		verdict, err := c.system.Judge(ctx, verify.Config{History: turn.History})
		if err != nil {
			return row, err
		}
		row.Verdict, row.Broken = row.Verdict.Or(verdict.Outcome), append(row.Broken, verdict.Violated()...)
	}
	return row, nil
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
