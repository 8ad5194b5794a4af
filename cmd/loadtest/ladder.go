package main

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"orderstock/loadtest/ladder"
	"orderstock/pkg/command"
	"orderstock/pkg/config"
	"orderstock/pkg/servers"
	"orderstock/stock-service/deduct/strategy"
)

// ladderFlags are the flags of ladder, scale and compare.
type ladderFlags struct {
	mysql string
	out   string
	cfg   ladder.Config
	resultFlags
}

func (f *ladderFlags) add(p *pflag.FlagSet) {
	p.StringVar(&f.mysql, "mysql", "auto",
		"the database: docker ("+servers.MySQLImage+"), local (the installed one), or auto (docker if it is there)")
	p.DurationVar(&f.cfg.Warmup, "warmup", 500*time.Millisecond, "load before each measured turn")
	p.DurationVar(&f.cfg.Measure, "window", 3*time.Second, "time of each measured turn")
	p.StringVar(&f.out, "out", "out", "folder of the results")
	p.Uint64Var(&f.cfg.Seed, "seed", 0, "makes the same orders again; 0: random")
	f.flags(p)
}

// measure measures on new servers, and prints, gives and judges the result, as far as there is one.
func (f *ladderFlags) measure(
	c *cobra.Command, on func(context.Context, ladder.Config) (*ladder.Result, error),
) (result *ladder.Result, err error) {
	f.cfg.Table, f.cfg.Progress = f.text(c), command.Progress(c.ErrOrStderr())
	err = f.cfg.OnServers(c.Context(), f.mysql, func(cfg ladder.Config) (err error) {
		result, err = on(c.Context(), cfg)
		return err
	})
	return result, err
}

// give prints, saves and judges the result, as far as there is one. err is why it is not complete, or nil.
func (f *ladderFlags) give(c *cobra.Command, result *ladder.Result, err error) error {
	if result == nil || len(result.Rows)+len(result.Survival) == 0 {
		return err
	}
	return errors.Join(err, result.Sheet().Text(f.text(c)),
		f.save(c, filepath.Join(f.out, result.Kind+".json"), result), result.Judge())
}

func ladderCommand() *cobra.Command {
	var (
		f     ladderFlags
		quick bool
		only  ladder.Plan
	)
	c := &cobra.Command{
		Use:   "ladder",
		Short: "Compare the deduction strategies",
		Long: `Starts MySQL, Redis and ZooKeeper, then measures every strategy with the same
load: sales a second and latency by clients, on one hot product and on many, on
the deduction call alone and on whole orders. All strategies take turns at each
load. Every row gets the verifier's verdict. "direct" is the limit: the same
statements, sent to MySQL by this process. Then a stock service is killed under
each strategy, and Redis is flushed, and the verifier says what survived. Only
ratios between rows of one run mean anything.

Writes out/ladder.json, out/ladder.svg and, as a report, out/ladder.html.`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			plan := ladder.Full()
			if quick {
				plan = ladder.Quick()
				if !c.Flags().Changed("window") {
					f.cfg.Measure = ladder.QuickWindow
				}
			}
			plan = plan.Only(only.Strategies, only.Clients, only.Replicas)
			if err := plan.Check(); err != nil {
				return err
			}
			result, err := f.measure(c, func(ctx context.Context, cfg ladder.Config) (*ladder.Result, error) {
				return cfg.Run(ctx, plan)
			})
			return f.give(c, result, err)
		},
	}
	f.add(c.Flags())
	c.Flags().Lookup("window").Usage = "time of each measurement, over all rounds (with --quick " +
		ladder.QuickWindow.String() + "); fast strategies get twice as much"
	c.Flags().BoolVar(&quick, "quick", false,
		"only case-study, conditional-update, grouped-rows, grouped and direct, 64 and 256 clients, one hot product;"+
			" and grouped and grouped-rows with three replicas")
	c.Flags().Var(config.NewListFlag(&only.Strategies), "strategies",
		"only these strategies: "+strings.Join(append(strategy.Names(), ladder.Direct), ", "))
	c.Flags().IntSliceVar(&only.Clients, "clients", nil, "only these numbers of clients")
	c.Flags().IntSliceVar(&only.Replicas, "replicas", nil, "only these numbers of stock services")
	return c
}
