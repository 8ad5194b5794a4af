package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/caarlos0/env/v11"
	"github.com/spf13/cobra"

	"orderstock/loadtest/mutants"
	"orderstock/pkg/command"
)

// mutantsConfig is read from the environment first, then from the flags.
type mutantsConfig struct {
	// Only is a part of the names of the mutants to run.
	Only string `env:"ONLY"`
	// Tries is the number of seeds that an absorbed variant runs with; 0 is 3.
	Tries int `env:"TRIES"`
	// Changes is the number of random changes to good runs; 0 is 24,000.
	Changes int `env:"CHANGES"`
	// Seed is the first seed; 0 is 1.
	Seed uint64
	Out  string
	List bool
	json asJSON
}

var errNotCaught = errors.New("a mutant was not caught as it should be")

func mutantsCommand() *cobra.Command {
	cfg, envErr := env.ParseAs[mutantsConfig]()
	cmd := &cobra.Command{
		Use:   "mutants",
		Short: "Run broken variants of the services; each must be caught",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if envErr != nil {
				return fmt.Errorf("read configuration: %w", envErr)
			}
			return runMutants(cmd, cfg)
		},
	}
	cmd.Flags().StringVar(&cfg.Only, "only", cfg.Only, "run the rows whose name holds this (ONLY)")
	cmd.Flags().IntVar(&cfg.Tries, "tries", cfg.Tries, "seeds for an absorbed variant, 3 by default (TRIES)")
	cmd.Flags().IntVar(&cfg.Changes, "changes", cfg.Changes,
		"random changes to the books and answers of good runs, 24000 by default (CHANGES)")
	cmd.Flags().StringVar(&cfg.Out, "out", "out", "folder for mutants.json")
	cmd.Flags().Uint64Var(&cfg.Seed, "seed", 1, "the first seed")
	cfg.json.flag(cmd)
	cmd.Flags().BoolVar(&cfg.List, "list", false, "print the names of the mutants and end")
	return cmd
}

func runMutants(cmd *cobra.Command, cfg mutantsConfig) error {
	if cfg.List {
		_, err := fmt.Fprintln(cmd.OutOrStdout(), strings.Join(mutants.Names(), "\n"))
		return err
	}
	report, err := mutants.Execute(cmd.Context(), mutants.Config{
		Only: cfg.Only, Tries: cfg.Tries, Changes: cfg.Changes, Seed: cfg.Seed, Out: cfg.Out, Print: cfg.json.text(cmd),
	})
	if report != nil {
		err = errors.Join(err, cfg.json.print(cmd, report))
	}
	if err != nil {
		return err
	}
	if !report.OK() {
		return command.Fail(errNotCaught)
	}
	return nil
}
