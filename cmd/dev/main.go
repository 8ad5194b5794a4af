// Command dev runs the whole of orderstock on this machine without
// containers: servers, services, the load tester and its verdict. The Makefile
// calls it.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	err := newCommand().ExecuteContext(ctx)
	stop()
	if code, ok := errors.AsType[exitCode](err); ok {
		os.Exit(int(code))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "dev:", err)
		os.Exit(exitFailed)
	}
}

// exitCode ends the program with the code of a command that it ran, which has
// said already what is wrong.
type exitCode int

func (c exitCode) Error() string { return fmt.Sprintf("exit status %d", int(c)) }

// exitFailed says that no verdict was reached; 1 is a verdict of VIOLATION.
const exitFailed = 2
