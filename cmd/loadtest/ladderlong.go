package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"orderstock/loadtest/history"
	"orderstock/loadtest/ladder"
)

func growthCommand(f *ladderFlags) *cobra.Command {
	var orders int
	var strategy string
	c := &cobra.Command{
		Use:   "growth",
		Short: "Compare orders a second over empty and over grown tables",
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return f.onServers(c, func(cfg ladder.Config) error {
				g, err := ladder.MeasureGrowth(c.Context(), cfg, strategy, orders)
				if err != nil {
					return err
				}
				return errors.Join(g.Write(cfg.Table), history.SaveJSON(filepath.Join(f.out, "ladder-growth.json"), g),
					failed(g.Judge(f.check)))
			})
		},
	}
	c.Flags().IntVar(&orders, "orders", 1_000_000, "settled orders to fill in, of three items each")
	c.Flags().StringVar(&strategy, "strategy", ladder.Default, "the stock service's strategy")
	return c
}

func soakCommand(f *ladderFlags) *cobra.Command {
	var length time.Duration
	var rate float64
	var strategy string
	c := &cobra.Command{
		Use:   "soak",
		Short: "Watch the services' memory under long load",
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return f.onServers(c, func(cfg ladder.Config) error {
				soak, err := ladder.MeasureSoak(c.Context(), cfg, strategy, length, rate)
				if err != nil {
					return err
				}
				return errors.Join(soak.Write(cfg.Table), history.SaveJSON(filepath.Join(f.out, "ladder-soak.json"), soak),
					failed(soak.Judge(f.check)))
			})
		},
	}
	c.Flags().DurationVar(&length, "length", 10*time.Minute, "how long to fire")
	c.Flags().Float64Var(&rate, "rate", 500, "orders a second")
	c.Flags().StringVar(&strategy, "strategy", ladder.Default, "the stock service's strategy")
	return c
}

func replicasCommand(f *ladderFlags) *cobra.Command {
	var n, clients, legs int
	c := &cobra.Command{
		Use:   "replicas",
		Short: "Compare several stock services with one, closely",
		Long: `Compares the throughput of several stock services with one's, under the
default strategy, on one hot product: the deduction call alone and whole orders.
They do the same work, so a few turns cannot distinguish them: this takes many,
in legs of about a minute for each path. Every leg has separate services and
databases, and the error of the ratio is the spread of the legs.

Writes out/ladder-replicas.json.`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			for _, v := range []struct {
				name               string
				value, least, most int
			}{{"replicas", n, 2, 100}, {"clients", clients, 1, 10_000}, {"legs", legs, 2, 10_000}} {
				if v.value < v.least || v.value > v.most {
					return fmt.Errorf("--%s %d: want %d to %d", v.name, v.value, v.least, v.most)
				}
			}
			return f.onServers(c, func(cfg ladder.Config) error {
				paths, err := ladder.MeasureReplicas(c.Context(), cfg, n, clients, legs)
				if err != nil && len(paths) > 0 && len(paths[0].A) == 0 {
					return err
				}
				for _, path := range paths {
					err = errors.Join(err, failed(path.Judge(f.check)))
				}
				return errors.Join(err, history.SaveJSON(filepath.Join(f.out, "ladder-replicas.json"), paths))
			})
		},
	}
	c.Flags().IntVar(&n, "replicas", 3, "stock services to compare with one")
	c.Flags().IntVar(&clients, "clients", 256, "concurrent clients")
	c.Flags().IntVar(&legs, "legs", 30, "legs on each path")
	return c
}
