package main

import (
	"errors"
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"orderstock/loadtest/catalogue"
	"orderstock/loadtest/system"
	"orderstock/pkg/command"
	"orderstock/pkg/config"
)

// tourConfig has the flags of tour.
type tourConfig struct {
	letters  []string
	seed     uint64
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
	f.Uint64Var(&cfg.seed, "seed", 0, "the first seed of each variant; 0: 42")
	f.StringVar(&cfg.out, "out", "out", "folder that keeps the runs")
	f.StringVar(&cfg.bin, "bin", "bin/faults", "folder for the services that can be broken")
	cfg.flags(f)
	return cmd
}

// tour plays both variants of the faults, prints the outcomes and gives them.
func tour(cmd *cobra.Command, cfg tourConfig) error {
	var pairs catalogue.Pairs
	err := withPlayer(cmd, cfg.out, cfg.bin, func(p *catalogue.Player) error {
		say := command.Progress(cmd.ErrOrStderr())
		for _, letter := range cfg.letters {
			f, err := catalogue.Find(letter)
			if err != nil {
				return err
			}
			say("playing fault " + letter + ", broken and fixed")
			pair, err := p.Both(cmd.Context(), f, cfg.seed)
			if err != nil {
				return err
			}
			say(fmt.Sprintf("%s, broken: %s; fixed: %s", pair.Letter, pair.Broken.Sentence, pair.Fixed.Sentence))
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
	return exit(pairs.Outcome(), nil)
}

// withPlayer calls do with a player in a new system that can be broken.
func withPlayer(cmd *cobra.Command, out, bin string, do func(*catalogue.Player) error) error {
	return withLab(cmd, bin, func(l *system.System) error {
		p, err := catalogue.NewPlayer(l, out)
		if err != nil {
			return err
		}
		p.Progress = cmd.ErrOrStderr()
		return do(p)
	})
}
