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

func passed(verdict string) error {
	if verdict != "pass" {
		return fmt.Errorf("verdict %s", verdict)
	}
	return nil
}
