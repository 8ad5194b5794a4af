package main

import (
	"github.com/spf13/cobra"

	"orderstock/cmd/dev/readme"
)

func readmeCommand() *cobra.Command {
	var root, out string
	cmd := &cobra.Command{
		Use:   "readme",
		Short: "Fill the tables of the documents from the code and from the results of runs",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return readme.Fill(cmd.Context(), root, out)
		},
	}
	cmd.Flags().StringVar(&root, "root", ".", "folder of the module")
	cmd.Flags().StringVar(&out, "out", "out", "folder of the results; a table whose results are not there stays as it is")
	return cmd
}
