package main

import (
	"context"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"orderstock/loadtest/ladder"
	"orderstock/pkg/config"
)

func compareCommand() *cobra.Command {
	var (
		f              ladderFlags
		before, after  []string
		paths          = []string{ladder.PathDeduct, ladder.PathOrder}
		load           ladder.Load
		replicas, legs int
		oldSide, newer ladder.Side
	)
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
  loadtest bench compare --old ../before/bin --paths order --goods 100 --items-max 3 --replicas 3`,
		Args: cobra.NoArgs,
		PreRunE: func(*cobra.Command, []string) (err error) {
			if oldSide, err = ladder.ParseSide(before); err != nil {
				return fmt.Errorf("--old %w", err)
			}
			if newer, err = ladder.ParseSide(after); err != nil {
				return fmt.Errorf("--new %w", err)
			}
			for _, path := range paths {
				if !slices.Contains([]string{ladder.PathDeduct, ladder.PathOrder}, path) {
					return fmt.Errorf("--paths %s: want %s or %s", path, ladder.PathDeduct, ladder.PathOrder)
				}
			}
			return nil
		},
		RunE: func(c *cobra.Command, _ []string) error {
			var loads []ladder.Load
			for _, load.Path = range paths {
				loads = append(loads, load)
			}
			result, err := f.measure(c, func(ctx context.Context, cfg ladder.Config) (*ladder.Result, error) {
				return cfg.Compare(ctx, oldSide, newer, replicas, loads, legs)
			})
			return f.give(c, result, err)
		},
	}
	p := c.Flags()
	f.add(p)
	p.StringArrayVar(&before, "old", nil, "the one side: a folder of programs, or NAME=VALUE; several times")
	p.StringArrayVar(&after, "new", nil, "the other side")
	p.Var(config.NewListFlag(&paths), "paths", "what to measure: deduct, order")
	within(p, &load.Goods, "goods", 1, 1, 1000, "products in demand, all equally")
	within(p, &load.Items, "items-max", 1, 1, 100, "most products in one order")
	within(p, &replicas, "replicas", 1, 1, 100, "stock services")
	within(p, &load.Clients, "clients", 256, 1, 10_000, "concurrent clients")
	within(p, &legs, "legs", 10, 2, 10_000, "how often each load is measured, with new services")
	return c
}
