package main

import (
	"errors"
	"path/filepath"

	"github.com/spf13/cobra"

	"orderstock/loadtest/history"
	"orderstock/loadtest/ladder"
)

func tracedCommand(f *ladderFlags) *cobra.Command {
	var (
		share          float64
		clients, pairs int
	)
	c := &cobra.Command{
		Use:   "traced",
		Short: "Compare orders a second with a share of them traced with those without tracing",
		Long: `Compares whole orders under the default strategy, on one hot product, at services
that trace a share of them and at services without tracing, in turns. The services
restart for each turn.

Writes out/ladder-traced.json.`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if share <= 0 || share > 1 || pairs < 2 || clients < 1 {
				return errors.New("want a --share above 0 and up to 1, 2 --pairs or more, and 1 client or more")
			}
			return f.onServers(c, func(cfg ladder.Config) error {
				t, err := ladder.MeasureTraced(c.Context(), cfg, share, clients, pairs)
				if err != nil {
					return err
				}
				return errors.Join(history.SaveJSON(filepath.Join(f.out, "ladder-traced.json"), t), failed(t.Judge(f.check)))
			})
		},
	}
	c.Flags().Float64Var(&share, "share", 0.01, "share of the orders that are traced")
	c.Flags().IntVar(&clients, "clients", 256, "concurrent clients")
	c.Flags().IntVar(&pairs, "pairs", 16, "pairs of turns, each with separate services")
	return c
}
