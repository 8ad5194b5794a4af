// Package command runs the project's programs from their command lines.
package command

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
)

// Main runs the program: cmd, with a context that ends on SIGINT and SIGTERM. It does not return.
// An error is printed after the program's name, and the exit code is then 1.
func Main(cmd *cobra.Command) {
	cmd.SilenceUsage, cmd.SilenceErrors = true, true
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM) //nolint:forbidigo // where all contexts begin
	err := cmd.ExecuteContext(ctx)
	stop()
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", cmd.Name(), err)
		os.Exit(1)
	}
	os.Exit(0)
}
