package main

import (
	"cmp"

	"github.com/spf13/cobra"

	"orderstock/loadtest/mutants"
	"orderstock/loadtest/trial"
)

func mutantsCommand() *cobra.Command {
	var (
		suite   trial.Suite
		only    string
		changes int
		list    bool
		to      resultFlags
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
				return listNames(cmd, mutants.All())
			}
			suite.Table, suite.Experiments = "mutants", mutants.Select(only, cmp.Or(changes, 24_000))
			return runSuite(cmd, suite, to)
		},
	}
	f := cmd.Flags()
	f.StringVar(&only, "only", "", "run the rows whose name holds this (ONLY)")
	f.IntVar(&suite.Tries, "tries", 0, "seeds for an absorbed variant, 3 by default (TRIES)")
	f.IntVar(&changes, "changes", 0,
		"random changes to the books and answers of good runs, 24000 by default (CHANGES)")
	f.StringVar(&suite.Out, "out", "out", "folder for mutants.json")
	f.Uint64Var(&suite.FirstSeed, "seed", 1, "the first seed")
	f.BoolVar(&list, "list", false, "print the names of the mutants and end")
	to.flags(f)
	return cmd
}
