package main

import (
	"github.com/spf13/cobra"

	"orderstock/cmd/dev/readme"
	"orderstock/pkg/command/flagset"
)

func readmeCommand() *cobra.Command {
	var cfg struct {
		Root string `flag:"root" default:"." help:"folder of the module"`
		Out  string `flag:"out" default:"out" help:"folder of the results; a table whose results are not there stays as it is"`
	}
	cmd := &cobra.Command{
		Use:   "readme",
		Short: "Fill the tables of the documents from the code and from the results of runs",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return readme.Fill(cmd.Context(), cfg.Root, cfg.Out)
		},
	}
	flagset.Add(cmd.Flags(), &cfg)
	return cmd
}
