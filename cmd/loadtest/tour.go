package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"orderstock/loadtest/catalogue"
	"orderstock/loadtest/console"
	"orderstock/pkg/command"
	"orderstock/pkg/config"
)

// tourConfig has the flags of tour.
type tourConfig struct {
	letters  []string
	seed     string
	out, bin string
	resultFlags
}

func tourCommand() *cobra.Command {
	var cfg tourConfig
	cmd := &cobra.Command{
		Use:   "tour",
		Short: "Play the published faults one after the other, each broken and fixed",
		Long: `Play the published faults one after the other, each broken and fixed.

A broken variant has three seeds to go wrong. The exit code is 0 if each broken
variant did and each fixed one passed, 1 if a fixed one did not pass, 2 if a
broken one was not caught this time. A fault that costs time shows if the fixed
variant has at least 1.2 times the rate of the broken one.

Writes out/tour.json and, as a report, out/tour.html.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			for _, letter := range cfg.letters {
				if _, err := catalogue.Find(letter); err != nil { // before minutes of compiling
					return err
				}
			}
			return tour(cmd, cfg)
		},
	}
	f := cmd.Flags()
	cfg.letters = catalogue.Letters()
	f.Var(config.NewListFlag(&cfg.letters), "faults", "letters of the faults to play")
	f.StringVar(&cfg.seed, "seed", "", "the first seed of each variant (default 42)")
	f.StringVar(&cfg.out, "out", "out", "folder that keeps the runs")
	f.StringVar(&cfg.bin, "bin", "bin/faults", "folder for the services that can be broken")
	cfg.flags(f)
	return cmd
}

// tour plays both variants of the faults, prints the outcomes and gives them.
func tour(cmd *cobra.Command, cfg tourConfig) error {
	var pairs console.Tour
	err := withConsole(cmd, cfg.out, cfg.bin, func(ctx context.Context, c *console.Console) error {
		say := command.Progress(cmd.ErrOrStderr())
		for _, letter := range cfg.letters {
			say("playing fault " + letter + ", broken and fixed")
			pair, err := c.PlayBoth(ctx, letter, cfg.seed)
			if err != nil {
				return err
			}
			say(fmt.Sprintf("%s, broken: %s; fixed: %s", pair.Letter, pair.Broken.Says, pair.Fixed.Says))
			pairs = append(pairs, pair)
		}
		return nil
	})
	if len(pairs) > 0 {
		err = errors.Join(err, pairs.Sheet().Text(cfg.text(cmd)),
			cfg.save(cmd, filepath.Join(cfg.out, "tour.json"), pairs))
	}
	if err != nil {
		return err
	}
	return exit(console.Judge(pairs), nil)
}
