package main

import (
	"cmp"
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"orderstock/loadtest/tables"
	"orderstock/loadtest/system"
	"orderstock/pkg/command"
)

// folders are for runs that are played.
type folders struct {
	Out string `flag:"out" default:"out" help:"folder that keeps the runs"`
	Bin string `flag:"bin" default:"bin/faults" help:"folder for the services that can be broken"`
}

// tourConfig has the flags of tour.
type tourConfig struct {
	folders
	resultFlags
	Letters []string `flag:"faults" help:"letters of the faults to play"`
	Seed    uint64   `flag:"seed" help:"the first seed of each variant; 0: 42"`
}

func tourCommand() *cobra.Command {
	cfg := tourConfig{Letters: tables.Letters()}
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
			for _, letter := range cfg.Letters {
				if _, err := tables.Find(letter); err != nil { // before minutes of compiling
					return command.Misuse(err)
				}
			}
			return tour(cmd, cfg)
		},
	}
	addFlags(cmd.Flags(), &cfg)
	return cmd
}

// tour plays both variants of the faults, prints the outcomes and gives them.
func tour(cmd *cobra.Command, cfg tourConfig) error {
	var pairs tables.Pairs
	err := withPlayer(cmd, cfg.folders, func(p *tables.Player) error {
		say := command.Progress(cmd.ErrOrStderr())
		for _, letter := range cfg.Letters {
			f, err := tables.Find(letter)
			if err != nil {
				return err
			}
			say("playing fault " + letter + ", broken and fixed")
			pair, err := p.Both(cmd.Context(), f, cfg.Seed)
			if err = cmp.Or(err, cmd.Context().Err()); err != nil {
				return err
			}
			say(fmt.Sprintf("%s, broken: %s; fixed: %s", pair.Letter, pair.Broken.Sentence, pair.Fixed.Sentence))
			pairs = append(pairs, pair)
		}
		return nil
	})
	if len(pairs) == 0 {
		return err
	}
	return cfg.give(cmd, filepath.Join(cfg.Out, "tour.json"), pairs, err)
}

// withPlayer calls do with a player in a new system that can be broken.
func withPlayer(cmd *cobra.Command, in folders, do func(*tables.Player) error) error {
	return withLab(cmd, in.Bin, func(l *system.System) error {
		p, err := tables.NewPlayer(l, in.Out)
		if err != nil {
			return err
		}
		p.Progress = cmd.ErrOrStderr()
		return do(p)
	})
}
