package ladder

import (
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

// The paths of a Load.
const (
	// PathDeduct makes the deduction alone, as the order service does: the flag is set in Redis, and
	// the call is made by the stock service's client, so concurrent calls share requests.
	PathDeduct = "deduct"
	// PathOrder places whole orders through the order service.
	PathOrder = "order"
)

// Load is fired at every variant.
type Load struct {
	Path string `json:"path" col:"Path"`
	// Goods is the number of products that the clients ask for: 1 is one hot product.
	Goods int `json:"goods" col:"Products"`
	// Zipf makes low-numbered products more popular. Otherwise all are equally popular.
	Zipf bool `json:"zipf,omitempty"`
	// Items is the most products of one order; 0: one.
	Items   int `json:"items,omitempty" col:"Baskets of"`
	Clients int `json:"clients" col:"Clients"`
	// SellOut ends the stock halfway.
	SellOut bool `json:"sell_out,omitempty" col:"Sold out"`
}

func (l Load) String() string {
	text := l.Path + " of one hot product"
	if l.Goods > 1 {
		text = fmt.Sprintf("%s of 1 to %d of %d products", l.Path, max(1, l.Items), l.Goods)
	}
	if l.SellOut {
		text += ", sold out halfway"
	}
	return fmt.Sprintf("%s, %d clients", text, l.Clients)
}

// plenty is more stock than any row can sell.
const plenty = 1_000_000_000

// fire returns the load of one turn.
func (l Load) fire(cfg Config) fire.Config {
	f := fire.Config{
		Path: history.Path(l.Path), Concurrency: l.Clients, Warmup: cfg.Warmup, Duration: cfg.Warmup + cfg.Measure,
		Timeout: 30 * time.Second, Plain: true,
		Mix: fire.Mix{Goods: l.Goods, Stock: plenty, ItemsMax: max(1, l.Items), NumMax: 1, Seed: cfg.Seed},
	}
	if l.Zipf {
		f.Mix.Zipf = 1
	}
	if l.SellOut {
		f.Mix.Stock = 500
	}
	return f
}

// measure starts services for the variants, lets them race under the load, and returns a row for each.
func (cfg Config) measure(
	ctx context.Context, l Load, variants []variant, order func([]*contestant) iter.Seq[*contestant],
) (_ []Row, err error) {
	var all []*contestant
	defer func() {
		for _, c := range all {
			err = errors.Join(err, c.close(ctx))
		}
	}()
	for _, v := range variants {
		c, err := cfg.open(ctx, v, l.Path)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", v, err)
		}
		all = append(all, c)
	}
	return cfg.race(ctx, l, all, order)
}

// race fires at the contestants in the order, judges all turns of each, and returns a row for each, with its ratio to
// the first.
func (cfg Config) race(
	ctx context.Context, l Load, all []*contestant, order func([]*contestant) iter.Seq[*contestant],
) (rows []Row, err error) {
	for c := range order(all) {
		if err := c.fire(ctx, cfg, l); err != nil {
			return nil, fmt.Errorf("%s: %w", c, err)
		}
	}
	for _, c := range all {
		row := c.row(l)
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
func (c *contestant) fire(ctx context.Context, cfg Config, l Load) error {
	if c.begin != nil {
		if err := c.begin(ctx); err != nil {
			return err
		}
	}
	if l.Clients == 1 && len(c.reports) > 0 { // there is no queue to fill, and everything is warm from the turn before
		cfg.Warmup /= 4
	}
	before, err := c.countLocks(ctx)
	if err != nil {
		return err
	}
	fired, err := c.run(ctx, l.fire(cfg))
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
func (c *contestant) row(l Load) Row {
	total := history.Sum(c.reports...)
	row := Row{
		Strategy: c.strategy, Variant: c.name, Replicas: c.replicas, Load: l, DonePerS: total.DonePerS,
		DoneError: doneError(c.reports), RejectedPerS: total.RejectedPerS, P50MS: ms(total.P50), P99MS: ms(total.P99),
		WakeupsPerRelease: c.locks.wakeups(), Handovers: c.locks.handovers / c.fired.Seconds(), Verdict: verify.Pass,
	}
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
// a steady drift affects all of them.
func (cfg Config) legs(n int) func([]*contestant) iter.Seq[*contestant] {
	return func(all []*contestant) iter.Seq[*contestant] {
		return func(yield func(*contestant) bool) {
			order := slices.Clone(all)
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

// rounds returns the number of turns of the ladder's rows under the load. The rate of one client is one over the disk's
// latency, which changes every second, so it is compared over more and shorter turns.
func (l Load) rounds() int {
	if l.Clients == 1 {
		return 4
	}
	return 2
}

// turns is the order of the ladder's turns: all in turn, round after round, each in the reverse order of the one
// before. The quick rows take a second turn at the end of a round, the last first, which costs little.
func (l Load) turns(all []*contestant) iter.Seq[*contestant] {
	return func(yield func(*contestant) bool) {
		order := slices.Clone(all)
		for range l.rounds() {
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
