package main

import (
	"context"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"orderstock/loadtest/ladder"
)

func compareCommand() *cobra.Command {
	var f struct {
		ladderFlags
		Paths   []string `flag:"paths" help:"what to measure: deduct, order"`
		Goods   int      `flag:"goods" default:"1" bounds:"1 1000" help:"products in demand, all equally"`
		Items   int      `flag:"items-max" default:"1" bounds:"1 100" help:"most products in one order"`
		Stocks  int      `flag:"replicas" default:"1" bounds:"1 100" help:"stock services"`
		Clients int      `flag:"clients" default:"256" bounds:"1 10000" help:"concurrent clients"`
		Legs    int      `flag:"legs" default:"10" bounds:"2 10000" help:"how often each load is measured, with new services"`
	}
	f.Paths = []string{ladder.PathDeduct, ladder.PathOrder}
	var (
		oldSide, newSide []string
		before, after    ladder.Side
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
			if before, err = ladder.ParseSide(oldSide); err != nil {
				return fmt.Errorf("--old %w", err)
			}
			if after, err = ladder.ParseSide(newSide); err != nil {
				return fmt.Errorf("--new %w", err)
			}
			for _, path := range f.Paths {
				if !slices.Contains([]string{ladder.PathDeduct, ladder.PathOrder}, path) {
					return fmt.Errorf("--paths %s: want %s or %s", path, ladder.PathDeduct, ladder.PathOrder)
				}
			}
			return nil
		},
		RunE: func(c *cobra.Command, _ []string) error {
			var loads []ladder.Load
			for _, path := range f.Paths {
				loads = append(loads, ladder.Load{Path: path, Goods: f.Goods, Items: f.Items, Clients: f.Clients})
			}
			result, err := f.measure(c, func(ctx context.Context, cfg ladder.Config) (*ladder.Result, error) {
				return cfg.Compare(ctx, before, after, f.Stocks, loads, f.Legs)
			})
			return f.give(c, result, err)
		},
	}
	f.flags(c.Flags())
	addFlags(c.Flags(), &f)
	c.Flags().StringArrayVar(&oldSide, "old", nil, "the one side: a folder of programs, or NAME=VALUE; several times")
	c.Flags().StringArrayVar(&newSide, "new", nil, "the other side")
	return c
}
