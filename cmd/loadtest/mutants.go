package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"orderstock/loadtest/tables"
	"orderstock/loadtest/trial"
	"orderstock/pkg/command"
)

func mutantsCommand() *cobra.Command {
	var cfg struct {
		trial.Suite
		Only string `flag:"only" env:"ONLY" help:"run the rows whose name holds this"`
		List bool   `flag:"list" help:"print the names of the rows, of those of --only if it is given, and end"`
		resultFlags
	}
	cmd := &cobra.Command{
		Use:   "mutants",
		Short: "Run broken variants of the services; each must be caught",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg.Experiments = tables.Select(cfg.Only)
			if len(cfg.Experiments) == 0 {
				return command.Misuse(fmt.Errorf("no mutant has %q in its name; --list prints the names", cfg.Only))
			}
			if cfg.List {
				return listNames(cmd, cfg.Experiments)
			}
			if cfg.Table = "mutants"; cfg.Only != "" {
				cfg.Table += "-only" // a part is not mistaken for the whole
			}
			return runSuite(cmd, cfg.Suite, cfg.resultFlags)
		},
	}
	addFlags(cmd.Flags(), &cfg)
	return cmd
}
