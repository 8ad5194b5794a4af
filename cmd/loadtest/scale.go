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
	"orderstock/stock-service/deduct"
)

// The parts of the measurement.
const (
	scaleHolders = "holders"
	scaleFailing = "failing"
	scaleCompose = "compose"
)

func scaleCommand() *cobra.Command {
	var f scaleFlags
	f.Parts = []string{scaleHolders, scaleFailing, scaleCompose}
	f.Holders, f.Groups = []int{1, 2, 4, 8}, []int{32, deduct.MaxGroup}
	f.Delays = []time.Duration{0, 5 * time.Millisecond, 20 * time.Millisecond}
	c := &cobra.Command{
		Use:   "scale",
		Short: "Measure what more holders and more replicas add",
		Long: `Measures deductions of many products with 1, 2, 4 and 8 locks, without delay and
with delayed commits, like a replicated primary's; a minute of orders with a holder
killed or paused in the middle; and the compose file's stack against the same
services without containers. All legs take turns. Only ratios of one run mean anything.

Writes out/scale.json, out/scale.svg and, as a report, out/scale.html.`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return f.run(c) },
	}
	addFlags(c.Flags(), &f)
	return c
}

// scaleFlags are the flags of scale.
type scaleFlags struct {
	ladderFlags
	ladder.ScalePlan
	Parts []string `flag:"parts" help:"what to measure"`
}

func (f *scaleFlags) run(c *cobra.Command) error {
	for _, part := range f.Parts {
		if !slices.Contains([]string{scaleHolders, scaleFailing, scaleCompose}, part) {
			return fmt.Errorf("--parts %s: want %s, %s or %s", part, scaleHolders, scaleFailing, scaleCompose)
		}
	}
	if len(f.Holders) == 0 || slices.Min(f.Holders) < 1 {
		return errors.New("--holders must be numbers above 0")
	}
	if len(f.Groups) == 0 || slices.Min(f.Groups) < 1 || slices.Max(f.Groups) > deduct.MaxGroup {
		return fmt.Errorf("--groups must be numbers from 1 to %d", deduct.MaxGroup)
	}
	if slices.Contains(f.Parts, scaleCompose) {
		if _, err := system.NewCompose(c.Context(), ""); err != nil {
			return fmt.Errorf("%w, or leave compose out of --parts", err)
		}
	}
	result, err := &ladder.Result{Kind: "scale"}, error(nil)
	holders, fails := slices.Contains(f.Parts, scaleHolders), slices.Contains(f.Parts, scaleFailing)
	if holders || fails {
		result, err = f.measure(c, func(ctx context.Context, cfg ladder.Config) (r *ladder.Result, err error) {
			return cfg.Scale(ctx, f.ScalePlan, holders, fails)
		})
	}
	if err == nil && slices.Contains(f.Parts, scaleCompose) {
		err = f.config(c).Compose(c.Context(), f.Legs, result)
	}
	return f.give(c, result, err)
}
