package main

import (
	"context"
	"time"

	"github.com/spf13/cobra"
)

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

// stopping returns a context for the clean-up after ctx has ended.
func stopping(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), 40*time.Second)
}
