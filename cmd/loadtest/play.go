package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"orderstock/loadtest/console"
	"orderstock/pkg/command"
)

func playCommand() *cobra.Command {
	var (
		fixed          bool
		seed, out, bin string
	)
	cmd := &cobra.Command{
		Use:   "play FAULT",
		Short: "Play a published fault, A to Q, broken or fixed; the exit code is the verdict's",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			variant := console.Broken
			if fixed {
				variant = console.Fixed
			}
			if err := console.Known(args[0]); err != nil { // before minutes of compiling
				return err
			}
			l, err := startLab(cmd, bin)
			if err != nil {
				return err
			}
			defer func() { err = errors.Join(err, l.close()) }()
			c, err := console.Lab(l.Lab, out)
			if err != nil {
				return err
			}
			ctx, cancel := context.WithCancel(cmd.Context())
			defer cancel()
			ran := make(chan error, 1)
			go func() { ran <- c.Run(ctx) }()
			v, err := play(ctx, cmd, c, args[0], variant, seed)
			cancel()
			if err = errors.Join(err, <-ran); err != nil {
				return err
			}
			if err := v.Write(cmd.OutOrStdout(), false); err != nil {
				return err
			}
			if code := v.Outcome.ExitCode(); code != command.Passed {
				return &command.ExitError{Code: code} // the verdict was printed
			}
			return nil
		},
	}
	f := cmd.Flags()
	f.BoolVar(&fixed, "fixed", false, "play the product instead of the broken variant")
	f.StringVar(&seed, "seed", "", "seed of the orders (default 42; a broken variant that is not caught is tried with the two after it)")
	f.StringVar(&out, "out", "out", "folder that keeps the runs")
	f.StringVar(&bin, "bin", "bin/faults", "folder for the services that can be broken")
	return cmd
}

func play(ctx context.Context, cmd *cobra.Command, c *console.Console, fault string, variant console.Variant, seed string) (*console.Verdict, error) {
	say := command.Progress(cmd.ErrOrStderr())
	run, err := c.Play(fault, variant, seed)
	if err != nil {
		return nil, err
	}
	say(fmt.Sprintf("playing %s, %s, seed %s", run.Title, run.Variant, run.Seed))
	return c.Await(ctx)
}
