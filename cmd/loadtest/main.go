// Command loadtest fires orders at the services and judges what came of them.
// It exits with 0 when everything holds, 1 on a violation, and 2 when it cannot tell.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

// verdictError carries the exit code of a verdict that is not a pass; the
// verdict itself has been printed.
type verdictError int

func (e verdictError) Error() string { return fmt.Sprintf("verdict with exit code %d", int(e)) }

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := newCommand(os.Stdout, os.Stderr).ExecuteContext(ctx)
	stop()
	var verdict verdictError
	switch {
	case err == nil:
	case errors.As(err, &verdict):
		os.Exit(int(verdict))
	default:
		fmt.Fprintln(os.Stderr, "loadtest:", err)
		os.Exit(2)
	}
}
