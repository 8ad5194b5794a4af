package main

import (
	"context"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"orderstock/loadtest/ladder"
	"orderstock/pkg/command"
)

// ladderFlags are the flags of ladder and compare.
type ladderFlags struct {
	MySQL  string        `flag:"mysql" default:"auto" help:"the database: docker (mysql:9.7), local (the installed one), or auto (docker if it is there)"`
	Warmup time.Duration `flag:"warmup" default:"500ms" help:"load before each measured turn"`
	Window time.Duration `flag:"window" default:"3s" help:"time of each measured turn"`
	Delay  time.Duration `flag:"commit-delay" bounds:"0s 1s" help:"how long the database delays each commit, like a replicated primary"`
	Seed   uint64        `flag:"seed" help:"makes the same orders again; 0: random"`
	Out    string        `flag:"out" default:"out" help:"folder of the results"`
	resultFlags
}

// measure measures on new servers, and prints, saves and judges the result, as far as there is one.
func (f *ladderFlags) measure(
	c *cobra.Command, on func(context.Context, ladder.Config) (*ladder.Result, error),
) error {
	var result *ladder.Result
	err := ladder.Config{
		Warmup: f.Warmup, Measure: f.Window, CommitDelay: f.Delay, Seed: f.Seed,
		Progress: command.Progress(c.ErrOrStderr()),
	}.OnServers(c.Context(), f.MySQL, func(cfg ladder.Config) (err error) {
		result, err = on(c.Context(), cfg)
		return err
	})
	if result == nil || len(result.Rows)+len(result.Survival) == 0 {
		return err
	}
	return f.give(c, filepath.Join(f.Out, result.Kind+".json"), result, err)
}

func ladderCommand() *cobra.Command {
	var f struct {
		ladderFlags
		Quick      bool     `flag:"quick" help:"only case-study, conditional-update, grouped-rows, grouped and direct, 64 and 256 clients, one hot product; and grouped and grouped-rows with three stock services"`
		Strategies []string `flag:"strategies" help:"only these strategies: {strategies}, direct"`
		Clients    []int    `flag:"clients" help:"only these numbers of clients"`
		Replicas   []int    `flag:"stock-services" help:"only these numbers of stock services"`
	}
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
			if f.Quick {
				plan = ladder.Quick()
				if !c.Flags().Changed("window") {
					f.Window = ladder.QuickWindow
				}
			}
			plan = plan.Only(f.Strategies, f.Clients, f.Replicas)
			if err := plan.Check(); err != nil {
				return command.Misuse(err)
			}
			return f.measure(c, func(ctx context.Context, cfg ladder.Config) (*ladder.Result, error) {
				return cfg.Run(ctx, plan)
			})
		},
	}
	f.Window = ladder.Window
	addFlags(c.Flags(), &f)
	c.Flags().Lookup("window").Usage += "; with --quick " + ladder.QuickWindow.String()
	return c
}
