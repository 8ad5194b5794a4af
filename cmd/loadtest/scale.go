package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"orderstock/loadtest/ladder"
	"orderstock/loadtest/system"
	"orderstock/pkg/config"
	"orderstock/stock-service/deduct"
)

// The parts of the measurement.
const (
	scaleHolders = "holders"
	scaleFailing = "failing"
	scaleCompose = "compose"
)

func scaleCommand() *cobra.Command {
	var (
		f     ladderFlags
		plan  ladder.ScalePlan
		parts = []string{scaleHolders, scaleFailing, scaleCompose}
	)
	c := &cobra.Command{
		Use:   "scale",
		Short: "Measure what more holders and more replicas add",
		Long: `Measures deductions of many products with 1, 2, 4 and 8 locks, without delay and
with delayed commits, like a replicated primary's; a minute of orders with a holder
killed or paused in the middle; and the compose file's stack against the same
services without containers. All legs take turns. Only ratios of one run mean anything.

Writes out/scale.json, out/scale.svg and, as a report, out/scale.html.`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return measureScale(c, &f, plan, parts) },
	}
	p := c.Flags()
	f.add(p)
	within(p, &plan.Legs, "legs", 4, 2, 10_000, "how often all take turns, 2 at least")
	p.IntSliceVar(&plan.Holders, "holders", []int{1, 2, 4, 8},
		"numbers of partitions; the others are compared with the first")
	p.DurationSliceVar(&plan.Delays, "delays", []time.Duration{0, 5 * time.Millisecond, 20 * time.Millisecond},
		"how long the database delays a commit")
	p.IntSliceVar(&plan.Groups, "groups", []int{32, deduct.MaxGroup},
		"the most operations of one transaction: with small groups the holders wait for commits side by side, "+
			"with large ones each commit serves more")
	p.IntVar(&plan.Products, "products", 100, "products in demand, all equally")
	p.IntVar(&plan.Clients, "clients", 2000,
		"clients of the many products; if they fill only a few groups, one holder is as fast as several")
	p.IntVar(&plan.Replicas, "replicas", 2, "stock services")
	p.Var(config.NewListFlag(&parts), "parts", "what to measure")
	return c
}

func measureScale(c *cobra.Command, f *ladderFlags, plan ladder.ScalePlan, parts []string) error {
	for _, part := range parts {
		if !slices.Contains([]string{scaleHolders, scaleFailing, scaleCompose}, part) {
			return fmt.Errorf("--parts %s: want %s, %s or %s", part, scaleHolders, scaleFailing, scaleCompose)
		}
	}
	if len(plan.Holders) == 0 || slices.Min(plan.Holders) < 1 {
		return errors.New("--holders must be numbers above 0")
	}
	if len(plan.Groups) == 0 || slices.Min(plan.Groups) < 1 || slices.Max(plan.Groups) > deduct.MaxGroup {
		return fmt.Errorf("--groups must be numbers from 1 to %d", deduct.MaxGroup)
	}
	if slices.Contains(parts, scaleCompose) {
		if _, err := system.NewCompose(c.Context(), ""); err != nil {
			return fmt.Errorf("%w, or leave compose out of --parts", err)
		}
	}
	result, err := f.measure(c, func(ctx context.Context, cfg ladder.Config) (r *ladder.Result, err error) {
		return cfg.Scale(ctx, plan, slices.Contains(parts, scaleHolders), slices.Contains(parts, scaleFailing))
	})
	if err == nil && slices.Contains(parts, scaleCompose) {
		more, failed := f.cfg.Compose(c.Context(), plan.Legs)
		result.Rows, err = append(result.Rows, more...), failed
	}
	return f.give(c, result, err)
}
