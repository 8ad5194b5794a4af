package main

import (
	"github.com/spf13/cobra"

	"orderstock/loadtest/catalogue"
	"orderstock/loadtest/trial"
)

func mutantsCommand() *cobra.Command {
	var cfg struct {
		trial.Suite
		Only    string `flag:"only" env:"ONLY" help:"run the rows whose name holds this"`
		Changes int    `flag:"changes" env:"CHANGES" default:"24000" help:"random changes to the books and answers of good runs"`
		List    bool   `flag:"list" help:"print the names of the mutants and end"`
		resultFlags
	}
	cmd := &cobra.Command{
		Use:   "mutants",
		Short: "Run broken variants of the services; each must be caught",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if cfg.List {
				return listNames(cmd, catalogue.Mutants())
			}
			if cfg.Table = "mutants"; cfg.Only != "" {
				cfg.Table += "-only" // a part is not mistaken for the whole
			}
			cfg.Experiments = catalogue.Select(cfg.Only, cfg.Changes)
			return runSuite(cmd, cfg.Suite, cfg.resultFlags)
		},
	}
	addFlags(cmd.Flags(), &cfg)
	return cmd
}
