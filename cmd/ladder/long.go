package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"orderstock/loadtest"
	"orderstock/loadtest/ladder"
)

func newGrowthCommand(f *flags) *cobra.Command {
	var orders int
	var strategy string
	c := &cobra.Command{
		Use:   "growth",
		Short: "Compare orders a second over empty and over grown tables",
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return withServers(c.Context(), *f, func(cfg ladder.Config) error {
				g, err := ladder.MeasureGrowth(c.Context(), cfg, strategy, orders)
				if err != nil {
					return err
				}
				fmt.Println(g.Server)
				fmt.Println(g.Empty.Line())
				fmt.Println(g.Grown.Line())
				fmt.Println(g.Ratio.Line())
				err = loadtest.SaveJSON(filepath.Join(f.out, "ladder-growth.json"), g)
				if f.check && !g.Ratio.OK {
					err = errors.Join(err, missed(g.Ratio))
				}
				return errors.Join(err, passed(g.Empty.Verdict), passed(g.Grown.Verdict))
			})
		},
	}
	c.Flags().IntVar(&orders, "orders", 1_000_000, "settled orders to fill in, of three items each")
	c.Flags().StringVar(&strategy, "strategy", ladder.Default, "the stock service's strategy")
	return c
}

func newSoakCommand(f *flags) *cobra.Command {
	var length time.Duration
	var rate float64
	var strategy string
	c := &cobra.Command{
		Use:   "soak",
		Short: "Watch the services' memory under long load",
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return withServers(c.Context(), *f, func(cfg ladder.Config) error {
				s, err := ladder.MeasureSoak(c.Context(), cfg, strategy, length, rate)
				if err != nil {
					return err
				}
				fmt.Printf("%.0f minutes at %.0f orders/s; verdict %s\n", s.Minutes, s.DonePerS, s.Verdict)
				for _, service := range s.Services {
					fmt.Printf("%-10s %4d MiB after a fifth of the time, %4d MiB at the end: ratio %.2f, want 0.9 to 1.1\n", service.Name, service.Early>>20, service.End>>20, service.Ratio)
					if f.check && (service.Ratio < 0.9 || service.Ratio > 1.1) {
						err = errors.Join(err, fmt.Errorf("missed: memory of %s: ratio %.2f", service.Name, service.Ratio))
					}
				}
				return errors.Join(err, loadtest.SaveJSON(filepath.Join(f.out, "ladder-soak.json"), s), passed(s.Verdict))
			})
		},
	}
	c.Flags().DurationVar(&length, "length", 10*time.Minute, "how long to fire")
	c.Flags().Float64Var(&rate, "rate", 500, "orders a second")
	c.Flags().StringVar(&strategy, "strategy", ladder.Default, "the stock service's strategy")
	return c
}

func newReplicasCommand(f *flags) *cobra.Command {
	var n, clients, legs int
	c := &cobra.Command{
		Use:   "replicas",
		Short: "Compare several stock services with one, closely",
		Long: `Compares what several stock services get done with what one does, under the
default strategy, on one hot goods: the deduction call alone and whole orders.
They do the same work, so a few turns cannot tell them apart: this takes many,
in legs of about a minute for each path. Every leg has services and databases
of its own, and the error of the ratio is that of the legs.

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
			return withServers(c.Context(), *f, func(cfg ladder.Config) error {
				r, err := ladder.MeasureReplicas(c.Context(), cfg, n, clients, legs)
				for _, p := range r.Paths {
					if f.check && len(p.One) > 0 && !p.Ratio.OK {
						err = errors.Join(err, missed(p.Ratio))
					}
				}
				for _, row := range r.Wrong() {
					err = errors.Join(err, passed(row.Verdict))
				}
				if len(r.Paths) == 0 || len(r.Paths[0].One) == 0 {
					return err // nothing was measured
				}
				return errors.Join(err, loadtest.SaveJSON(filepath.Join(f.out, "ladder-replicas.json"), r))
			})
		},
	}
	c.Flags().IntVar(&n, "replicas", 3, "stock services to compare with one")
	c.Flags().IntVar(&clients, "clients", 256, "concurrent clients")
	c.Flags().IntVar(&legs, "legs", 30, "legs on each path")
	return c
}

func passed(verdict string) error {
	if verdict != "pass" {
		return fmt.Errorf("verdict %s", verdict)
	}
	return nil
}
