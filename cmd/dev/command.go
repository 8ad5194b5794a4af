package main

import "github.com/spf13/cobra"

func newCommand() *cobra.Command {
	root := &cobra.Command{
		Use:   "dev",
		Short: "Run orderstock with real servers on this machine",
		Long: `Run orderstock with real servers on this machine.

Exit code: 0 the work is done, 1 a part of the stack is not ready (status), 2 it
failed, 64 wrong usage.`,
	}
	root.AddCommand(
		upCommand(), downCommand(), statusCommand(),
		testCommand(), readmeCommand())
	return root
}
