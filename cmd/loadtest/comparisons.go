package main

import (
	"context"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"orderstock/loadtest/ladder"
)

// comparison is a subcommand of ladder. It writes its result to out/ladder-NAME.json and .html.
type comparison struct {
	name, short, long string
	flags             func(*pflag.FlagSet)
	// measure returns nil if there is no result to save.
	measure func(context.Context, ladder.Config) (judged, error)
}

// whole is the result of a measurement that is of no use unless it is complete.
func whole[R judged](r R, err error) (judged, error) {
	if err != nil {
		return nil, err
	}
	return r, nil
}

// comparisons returns the subcommands of ladder.
func comparisons(f *ladderFlags) (all []*cobra.Command) {
	var (
		strategy                                                   string
		orders, clients, replicas, legs, tracedPairs, watchedPairs int
		rate, share                                                float64
		length                                                     time.Duration
	)
	for _, m := range []comparison{
		{
			name: "growth", short: "Compare orders a second over empty and over grown tables",
			flags: func(p *pflag.FlagSet) {
				p.IntVar(&orders, "orders", 1_000_000, "settled orders to fill in, of three items each")
				p.StringVar(&strategy, "strategy", ladder.Default, "the stock service's strategy")
			},
			measure: func(ctx context.Context, cfg ladder.Config) (judged, error) {
				return whole(ladder.MeasureGrowth(ctx, cfg, strategy, orders))
			},
		},
		{
			name: "soak", short: "Watch the services' memory under long load",
			flags: func(p *pflag.FlagSet) {
				p.DurationVar(&length, "length", 10*time.Minute, "how long to fire")
				p.Float64Var(&rate, "rate", 500, "orders a second")
				p.StringVar(&strategy, "strategy", ladder.Default, "the stock service's strategy")
			},
			measure: func(ctx context.Context, cfg ladder.Config) (judged, error) {
				return whole(ladder.MeasureSoak(ctx, cfg, strategy, length, rate))
			},
		},
		{
			name: "replicas", short: "Compare several stock services with one, closely",
			long: `Compares the throughput of several stock services with one's, under the
default strategy, on one hot product: the deduction call alone and whole orders.
They do the same work, so a few turns cannot distinguish them: this takes many,
in legs of about a minute for each path. Every leg has separate services and
databases, and the error of the ratio is the spread of the legs.`,
			flags: func(p *pflag.FlagSet) {
				within(p, &replicas, "replicas", 3, 2, 100, "stock services to compare with one")
				within(p, &clients, "clients", 256, 1, 10_000, "concurrent clients")
				within(p, &legs, "legs", 30, 2, 10_000, "legs on each path")
			},
			measure: func(ctx context.Context, cfg ladder.Config) (judged, error) {
				paths, err := ladder.MeasureReplicas(ctx, cfg, replicas, clients, legs)
				if paths == nil {
					return nil, err
				}
				return paths, err
			},
		},
		{
			name: "traced", short: "Compare orders a second with a share of them traced with those without tracing",
			long: `Compares whole orders under the default strategy, on one hot product, at services
that trace a share of them and at services without tracing, in turns. The services
are new for each pair of turns.`,
			flags: func(p *pflag.FlagSet) {
				within(p, &share, "share", 0.01, 0.0001, 1, "share of the orders that are traced")
				within(p, &clients, "clients", 256, 1, 10_000, "concurrent clients")
				within(p, &tracedPairs, "pairs", 16, 2, 10_000, "pairs of turns, each with separate services")
			},
			measure: func(ctx context.Context, cfg ladder.Config) (judged, error) {
				return whole(ladder.MeasureTraced(ctx, cfg, share, clients, tracedPairs))
			},
		},
		{
			name: "watched", short: "Measure the cost of a watching console",
			long: `Measures what the console costs the stack that it watches: whole orders under
the default strategy on one hot product, in pairs of turns on the same services,
one alone and one with a console and an open page.`,
			flags: func(p *pflag.FlagSet) {
				within(p, &clients, "clients", 256, 1, 10_000, "concurrent clients")
				within(p, &watchedPairs, "pairs", 15, 2, 10_000, "pairs of turns")
			},
			measure: func(ctx context.Context, cfg ladder.Config) (judged, error) {
				return whole(ladder.MeasureWatched(ctx, cfg, clients, watchedPairs, watchAsPage))
			},
		},
	} {
		all = append(all, m.command(f))
	}
	return all
}

func (m comparison) command(f *ladderFlags) *cobra.Command {
	if m.long != "" {
		m.long += "\n\nWrites out/ladder-" + m.name + ".json and, as a report, out/ladder-" + m.name + ".html."
	}
	c := &cobra.Command{Use: m.name, Short: m.short, Long: m.long, Args: cobra.NoArgs}
	m.flags(c.Flags())
	c.RunE = func(c *cobra.Command, _ []string) error { return f.run(c, "ladder-"+m.name, m.measure) }
	return c
}
