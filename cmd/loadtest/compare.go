package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"orderstock/loadtest/fire"
	"orderstock/loadtest/history"
	"orderstock/loadtest/ladder"
	"orderstock/loadtest/trial"
	"orderstock/pkg/command/flagset"
)

func compareCommand() *cobra.Command {
	var f struct {
		ladderFlags
		Paths   []string     `flag:"paths" help:"what to measure: deduct, order"`
		Goods   int          `flag:"goods" default:"1" bounds:"1 1000" help:"products in demand, all equally"`
		Items   int          `flag:"items-max" default:"1" bounds:"1 100" help:"most products in one order"`
		Stocks  int          `flag:"stock-services" default:"1" bounds:"1 100" help:"stock services"`
		Clients int          `flag:"clients" default:"256" bounds:"1 10000" help:"concurrent clients"`
		Old     flagset.Each `flag:"old" help:"the one side: a folder of programs, or NAME=VALUE; several times"`
		New     flagset.Each `flag:"new" help:"the other side"`
		Legs    int          `flag:"legs" default:"10" bounds:"2 10000" help:"how often each load is measured, with new services"`
	}
	f.Paths = []string{string(history.PathDeduct), string(history.PathOrder)}
	var sides [2]trial.Experiment
	c := &cobra.Command{
		Use:   "compare",
		Short: "Compare two builds, or two settings of the services, by turns",
		Long: `Compares the sales a second of two builds, or of two settings, under the default
strategy: on the same servers, by turns, in legs, each with new services and
databases. The error of a ratio is the spread of the legs. A side is a folder with
the programs of a build, settings NAME=VALUE of both services, or both; a side that
is left out is this build.

Writes out/compare.json and, as a report, out/compare.html.`,
		Example: `  loadtest bench compare --old ../before/bin
  loadtest bench compare --old STOCK_PARTITIONS=1 --new STOCK_PARTITIONS=16 --goods 100
  loadtest bench compare --old ../before/bin --paths order --goods 100 --items-max 3 --stock-services 3
  loadtest bench compare --old STOCK_PARTITIONS=1 --new STOCK_PARTITIONS=8 --goods 100 --commit-delay 5ms`,
		Args: cobra.NoArgs,
		PreRunE: func(*cobra.Command, []string) (err error) {
			if sides[0], err = ladder.ParseSide(f.Old); err != nil {
				return fmt.Errorf("--old %w", err)
			}
			if sides[1], err = ladder.ParseSide(f.New); err != nil {
				return fmt.Errorf("--new %w", err)
			}
			for _, path := range f.Paths {
				if path := history.Path(path); path != history.PathDeduct && path != history.PathOrder {
					return fmt.Errorf("--paths %s: want %s or %s", path, history.PathDeduct, history.PathOrder)
				}
			}
			return nil
		},
		RunE: func(c *cobra.Command, _ []string) error {
			var loads []fire.Config
			for _, path := range f.Paths {
				loads = append(loads, fire.Config{
					Path: history.Path(path), Concurrency: f.Clients, Mix: fire.Mix{Goods: f.Goods, ItemsMax: f.Items},
				})
			}
			for i := range sides {
				sides[i].Services.Replicas = f.Stocks
			}
			return f.measure(c, func(ctx context.Context, cfg ladder.Config) (*ladder.Result, error) {
				return cfg.Compare(ctx, sides, loads, f.Legs)
			})
		},
	}
	addFlags(c.Flags(), &f)
	return c
}
