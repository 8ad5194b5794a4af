// Package command runs the project's programs from their command lines, and gives them all the same
// exit codes.
package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"

	"github.com/spf13/cobra"
)

// The exit codes of all programs.
const (
	Passed  = 0 // The check holds, or the work is done.
	Failed  = 1 // The check does not hold.
	Unknown = 2 // Not determined: an error, or wrong usage.
)

// ExitError is an error of a command that sets the program's exit code.
type ExitError struct {
	Code int
	// Err is printed. A nil Err prints nothing: the command has already printed the failure.
	Err error
}

func (e *ExitError) Error() string {
	if e.Err == nil {
		return fmt.Sprintf("exit status %d", e.Code)
	}
	return e.Err.Error()
}

func (e *ExitError) Unwrap() error { return e.Err }

// Fail returns err, the finding of a check, as an ExitError with the code Failed.
// It returns nil for nil.
func Fail(err error) error {
	if err == nil {
		return nil
	}
	return &ExitError{Failed, err}
}

// Main runs the program: cmd, with a context that ends on SIGINT, on SIGTERM and on the other signals.
// It does not return.
func Main(cmd *cobra.Command, others ...os.Signal) {
	signals := append([]os.Signal{os.Interrupt, syscall.SIGTERM}, others...)
	ctx, stop := signal.NotifyContext(context.Background(), signals...) //nolint:forbidigo // where all contexts begin
	code := Run(ctx, cmd)
	stop()
	Stderr().Flush(lastWords)
	os.Exit(code)
}

// Run executes cmd and returns the program's exit code: Passed, the code of an ExitError, or Unknown for
// any other error. It prints the error after the program's name. A command line that names no command
// gets the help and the code Unknown. The flag --version prints the version.
func Run(ctx context.Context, cmd *cobra.Command) int {
	cmd.SilenceUsage, cmd.SilenceErrors, cmd.Version = true, true, Version()
	ran, err := cmd.ExecuteContextC(ctx)
	if err == nil && !ran.Runnable() && !ran.Flags().Changed("help") && !ran.Flags().Changed("version") {
		err = errors.New("no command given")
	}
	if err == nil {
		return Passed
	}
	if text := unprinted(err); text != nil {
		fmt.Fprintf(cmd.ErrOrStderr(), "%s: %v\n", cmd.Name(), text)
	}
	if exit, ok := errors.AsType[*ExitError](err); ok {
		return exit.Code
	}
	return Unknown
}

// unprinted returns err without the joined errors that the command has already printed; nil if it has printed all.
func unprinted(err error) error {
	if all, joined := err.(interface{ Unwrap() []error }); joined {
		var left []error
		for _, e := range all.Unwrap() {
			left = append(left, unprinted(e))
		}
		return errors.Join(left...)
	}
	if exit, ok := errors.AsType[*ExitError](err); ok && exit.Err == nil {
		return nil
	}
	return err
}

// version is set by the Makefile: -ldflags "-X orderstock/pkg/command.version=…".
var version string

// Version returns the version that the program was built as, or else the one that the Go toolchain recorded.
func Version() string {
	if version != "" {
		return version
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	found := info.Main.Version
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			found = s.Value
		}
	}
	return cmp.Or(found, "(devel)")
}
