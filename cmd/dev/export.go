package main

import (
	"github.com/spf13/cobra"

	"orderstock/cmd/dev/export"
)

func exportCommand() *cobra.Command {
	var root, module, dir string
	cmd := &cobra.Command{
		Use:   "export-zklock",
		Short: "Write pkg/zklock as a module of its own",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return export.Module(cmd.Context(), root, module, dir)
		},
	}
	cmd.Flags().StringVar(&root, "root", ".", "folder of this repository")
	cmd.Flags().StringVar(&module, "module", "", "the new module's path, such as example.com/you/zklock")
	cmd.Flags().StringVar(&dir, "dir", "", "folder to write to; it must not exist or be empty")
	for _, required := range []string{"module", "dir"} {
		if err := cmd.MarkFlagRequired(required); err != nil {
			panic(err) // there is such a flag
		}
	}
	return cmd
}
