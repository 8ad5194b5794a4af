package main

import "github.com/spf13/cobra"

func newCommand() *cobra.Command {
	root := &cobra.Command{
		Use:   "dev",
		Short: "Run orderstock with real servers on this machine",
	}
	root.AddCommand(
		upCommand(), downCommand(), statusCommand(),
		testCommand(), readmeCommand())
	return root
}
