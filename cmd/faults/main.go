// Faults runs the fault matrix: every step of the protocol under every fault,
// and every fault around the system, alone and in pairs.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	cmd := newCommand()
	if err := cmd.ExecuteContext(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "faults:", err)
		stop()
		os.Exit(exitCode(err)) //nolint:gocritic // stop was called
	}
}
