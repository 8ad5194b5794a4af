package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"orderstock/loadtest/ladder"
	"orderstock/pkg/commalist"
	"orderstock/pkg/command"
	"orderstock/stock-service/deduct/strategy"
)

// ladderFlags are the flags of ladder and of its subcommands. scale has some of them, too.
type ladderFlags struct {
	mysql string
	out   string
	check bool
	cfg   ladder.Config
}

// onServers calls measure with the servers up, and prints to the command's output.
func (f ladderFlags) onServers(c *cobra.Command, measure func(ladder.Config) error) error {
	f.cfg.Table = c.OutOrStdout()
	f.cfg.Progress = func(doing string) { fmt.Fprintln(c.ErrOrStderr(), "  ..", doing) }
	return ladder.OnServers(c.Context(), f.mysql, f.cfg, measure)
}

// failed gives the error of a measurement that missed its target the exit code Failed.
func failed(err error) error {
	if _, ok := errors.AsType[ladder.Failure](err); ok {
		return command.Fail(err)
	}
	return err
}

func ladderCommand() *cobra.Command {
	var (
		f     ladderFlags
		quick bool
		plan  ladder.Plan
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
			f.cfg.Plan = ladder.Full()
			if quick {
				f.cfg.Plan = ladder.Quick()
				if !c.Flags().Changed("window") {
					f.cfg.Measure = ladder.QuickWindow
				}
			}
			if len(plan.Strategies) > 0 {
				f.cfg.Plan = f.cfg.Plan.Only(plan.Strategies)
			}
			if len(plan.Clients) > 0 {
				f.cfg.Plan.Clients = plan.Clients
			}
			if len(plan.Replicas) > 0 {
				f.cfg.Plan.Replicas, f.cfg.Plan.LockCost = plan.Replicas, false
			}
			return measureLadder(c, f)
		},
	}
	p := c.PersistentFlags()
	p.StringVar(&f.mysql, "mysql", "auto",
		"the database: docker ("+ladder.Image+"), local (the installed one), or auto (docker if it is there)")
	p.DurationVar(&f.cfg.Warmup, "warmup", 500*time.Millisecond,
		"load before each measured turn of a row")
	p.DurationVar(&f.cfg.Measure, "window", 3*time.Second,
		"time of each measurement, over all rounds (with --quick "+ladder.QuickWindow.String()+"); "+
			"fast strategies get twice as much, and more for the closest comparisons")
	p.StringVar(&f.out, "out", "out", "folder of the results")
	p.BoolVar(&f.check, "check", false, "fail if the default strategy missed a figure that it is held to")
	c.AddCommand(growthCommand(&f), soakCommand(&f), replicasCommand(&f), tracedCommand(&f))
	c.Flags().BoolVar(&quick, "quick", false,
		"only case-study, conditional-update, grouped-rows, grouped and direct, 64 and 256 clients, one hot product;"+
			" and grouped and grouped-rows with three replicas")
	c.Flags().Var(commalist.NewFlag(&plan.Strategies), "strategies",
		"only these strategies: "+strings.Join(append(strategy.Names(), ladder.Direct), ", "))
	c.Flags().IntSliceVar(&plan.Clients, "clients", nil, "only these numbers of clients")
	c.Flags().IntSliceVar(&plan.Replicas, "replicas", nil, "only these numbers of stock services")
	c.AddCommand(watchedCommand(&f))
	return c
}

func measureLadder(c *cobra.Command, f ladderFlags) error {
	if err := f.cfg.Plan.Check(); err != nil {
		return err
	}
	var result *ladder.Result
	err := f.onServers(c, func(cfg ladder.Config) (err error) {
		result, err = ladder.Run(c.Context(), cfg)
		if len(result.Rows) == 0 {
			return err
		}
		if saveErr := result.Save(f.out); saveErr != nil {
			return errors.Join(err, saveErr)
		}
		sheet, sheetErr := result.Sheet()
		if sheetErr == nil {
			sheetErr = intoFile(filepath.Join(f.out, "ladder.html"), sheet.Write)
		}
		if sheetErr != nil {
			return errors.Join(err, sheetErr)
		}
		fmt.Fprintln(c.OutOrStdout(), "written:", filepath.Join(f.out, "ladder.json"), filepath.Join(f.out, "ladder.svg"),
			filepath.Join(f.out, "ladder.html"))
		return err
	})
	if err != nil {
		return err
	}
	for _, r := range result.Ratios {
		fmt.Fprintln(c.OutOrStdout(), r.Line())
	}
	return failed(result.Judge(f.check))
}
