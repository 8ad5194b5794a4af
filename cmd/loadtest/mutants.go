package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"orderstock/loadtest/mutants"
	"orderstock/pkg/command"
)

func mutantsCommand() *cobra.Command {
	var (
		cfg  mutants.Config
		list bool
		out  string
		to   resultFlags
	)
	cmd := &cobra.Command{
		Use:   "mutants",
		Short: "Run broken variants of the services; each must be caught",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := fromEnvironment(cmd.Flags(), "only", "tries", "changes"); err != nil {
				return err
			}
			if list {
				_, err := fmt.Fprintln(cmd.OutOrStdout(), strings.Join(mutants.Names(), "\n"))
				return err
			}
			return runMutants(cmd, cfg, out, to)
		},
	}
	f := cmd.Flags()
	f.StringVar(&cfg.Only, "only", "", "run the rows whose name holds this (ONLY)")
	f.IntVar(&cfg.Tries, "tries", 0, "seeds for an absorbed variant, 3 by default (TRIES)")
	f.IntVar(&cfg.Changes, "changes", 0,
		"random changes to the books and answers of good runs, 24000 by default (CHANGES)")
	f.StringVar(&out, "out", "out", "folder for mutants.json")
	f.Uint64Var(&cfg.Seed, "seed", 1, "the first seed")
	f.BoolVar(&list, "list", false, "print the names of the mutants and end")
	to.flags(f)
	return cmd
}

func runMutants(cmd *cobra.Command, cfg mutants.Config, out string, to resultFlags) error {
	cfg.Print = to.text(cmd)
	report, err := mutants.Execute(cmd.Context(), cfg)
	if err != nil {
		return err
	}
	if err := to.save(cmd, filepath.Join(out, "mutants.json"), report); err != nil {
		return err
	}
	if !report.OK() {
		return command.Fail(errors.New("a mutant was not caught as it should be"))
	}
	return nil
}
