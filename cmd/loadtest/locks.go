package main

import (
	"errors"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"orderstock/loadtest/locks"
	"orderstock/pkg/config"
)

func locksCommand() *cobra.Command {
	var (
		cfg   = locks.Config{Plan: locks.Full()}
		out   string
		quick bool
		to    resultFlags
	)
	cmd := &cobra.Command{
		Use:   "locks",
		Short: "Compare ZooKeeper locks",
		Long: `Starts a ZooKeeper of its own and runs, for each shape of contention and each
lock, processes of contenders that acquire and release without a pause. All
locks of a shape take turns over several rounds, each in another order, many
times in a round, so that a change in the machine's speed affects them all.

A latency is the time from the call to the grant; for "raw", which is a create
and a delete without any lock, it is the time of the pair. A wake-up is a watch
event that made a waiter look again.`,
		Example: `  loadtest bench locks            measure all, print the table
  loadtest bench locks --quick    a short look, for a change in hand
  loadtest bench locks --locks zklock,zk.Lock --shapes 4x64x1`,
		Args: cobra.NoArgs,
	}
	f := cmd.Flags()
	planFlags(f, &cfg.Plan)
	f.StringVar(&cfg.Servers, "zookeeper", "", "measure on this running server (host:port) and start none")
	f.StringVar(&out, "out", filepath.Join("out", "lock-bench.json"), "file for the figures; empty for none")
	f.BoolVar(&quick, "quick", false, "one short window each, without the many paths")
	to.flags(f)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if quick {
			plan, err := hurried(f)
			if err != nil {
				return err
			}
			cfg.Plan = plan
		}
		self, err := os.Executable()
		if err != nil {
			return err
		}
		text := to.text(cmd)
		cfg.Worker, cfg.Table = []string{self, "bench", "locks", "worker"}, text
		result, err := locks.Run(cmd.Context(), cfg)
		if err != nil {
			return err
		}
		return to.save(cmd, out, result)
	}
	cmd.AddCommand(locksChaosCommand())
	cmd.AddCommand(&cobra.Command{
		Use:    "worker lock servers path-prefix paths first-contender contenders [hold]",
		Short:  "Run one process of contenders, by commands on the standard input",
		Hidden: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			return locks.Work(cmd.Context(), args, cmd.InOrStdin(), cmd.OutOrStdout())
		},
	})
	return cmd
}

func planFlags(f *pflag.FlagSet, p *locks.Plan) {
	f.Var(config.NewListFlag(&p.Locks), "locks", "the locks to measure")
	f.Var(config.NewListFlag(&p.Shapes), "shapes",
		"processes x contenders x paths; or 1+contenders x time of holding, for how long one waits beside them")
	f.IntVar(&p.Rounds, "rounds", p.Rounds, "windows for each lock and shape")
	f.DurationVar(&p.Window, "window", p.Window, "length of one window, over all its turns")
	f.DurationVar(&p.Warmup, "warmup", p.Warmup,
		"run before each window, over all its turns; twice as long before the first turn")
}

// hurried returns the quick plan, with the values of the flags that were set.
func hurried(f *pflag.FlagSet) (locks.Plan, error) {
	p := locks.Quick()
	quick := pflag.NewFlagSet("quick", pflag.ContinueOnError)
	planFlags(quick, &p)
	var err error
	f.Visit(func(flag *pflag.Flag) {
		if quick.Lookup(flag.Name) != nil {
			err = errors.Join(err, quick.Set(flag.Name, flag.Value.String()))
		}
	})
	return p, err
}
