// Package command runs the project's programs from their command lines, and gives them all the same exit codes.
package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"runtime/debug"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"orderstock/pkg/config"
)

// The exit codes of all programs.
const (
	Passed  = 0  // The check holds, or the work is done.
	Failed  = 1  // The check does not hold.
	Unknown = 2  // Not determined: an error, or an interrupt.
	Misused = 64 // Wrong usage: the command line, a setting or a given file cannot be used. Nothing was done.
)

// Codes describes the exit codes of a check, for the help.
const Codes = "Exit code: 0 everything holds, 1 violation, 2 cannot tell, 64 wrong usage."

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

// Fail returns err, the finding of a check, as an ExitError with the code Failed. It returns nil for nil.
func Fail(err error) error {
	if err == nil {
		return nil
	}
	return &ExitError{Failed, err}
}

// Misuse returns err, about a command line, a setting or a given file that cannot be used, as an ExitError with the
// code Misused. It returns nil for nil.
func Misuse(err error) error {
	if err == nil {
		return nil
	}
	return &ExitError{Misused, err}
}

// sameSignal is how long a further SIGINT or SIGTERM is taken for the first one: the terminal sends it to a program and
// to its parent, which passes it on.
const sameSignal = 500 * time.Millisecond

// Main runs the program: cmd, with a context that ends on SIGINT, on SIGTERM and on the other signals. A second SIGINT
// or SIGTERM ends the program at once, unless cmd waits for it. Main does not return.
func Main(cmd *cobra.Command, others ...os.Signal) {
	background := context.Background() //nolint:forbidigo // where all contexts begin
	ctx, again := signal.NotifyContext(background, os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, func() { time.AfterFunc(sameSignal, again) })
	if len(others) > 0 {
		ctx, _ = signal.NotifyContext(ctx, others...) // until the end: a closed terminal may send its signal twice
	}
	code := Run(ctx, cmd)
	again()
	Stderr().Flush(lastWords)
	os.Exit(code)
}

// Run executes cmd and returns the program's exit code: Passed, the code of an ExitError, Misused for an error before a
// command's RunE is called or a config.EnvironmentError, or Unknown for any other error. It prints the error after the
// program's name; once ctx has ended, it prints "interrupted" in place of the errors that this caused. A command line
// that names no command gets the help and the code Misused. The flag --version prints the version.
func Run(ctx context.Context, cmd *cobra.Command) int {
	cmd.SilenceUsage, cmd.SilenceErrors, cmd.Version = true, true, Version()
	cmd.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return flagError(err) })
	begun := false
	noteBegin(cmd, &begun)
	ran, err := cmd.ExecuteContextC(ctx)
	if err == nil && !ran.Runnable() && !ran.Flags().Changed("help") && !ran.Flags().Changed("version") {
		err = errors.New("no command given")
	}
	if err == nil {
		return Passed
	}
	text := unprinted(err, ctx.Err() != nil)
	if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		text = errors.Join(errors.New("interrupted"), text)
	}
	if text != nil {
		fmt.Fprintf(cmd.ErrOrStderr(), "%s: %v\n", cmd.Name(), text)
	}
	if exit, ok := errors.AsType[*ExitError](err); ok {
		return exit.Code
	}
	if _, wrong := errors.AsType[*config.EnvironmentError](err); wrong || !begun {
		return Misused
	}
	return Unknown
}

// wants describes the values that a flag takes, by its type.
var wants = map[string]string{
	"int": "a whole number", "int64": "a whole number", "uint64": "a whole number, 0 or more", "float64": "a number",
	"duration": "a time such as 500ms, 30s or 2m", "bool": "true or false",
	"intSlice": "whole numbers, separated by commas",
}

// flagError returns err in words that name the values which a flag takes if a parser refused one, and otherwise err.
func flagError(err error) error {
	wrong, is := errors.AsType[*pflag.InvalidValueError](err)
	if !is {
		return err
	}
	want, known := wants[wrong.GetFlag().Value.Type()]
	if cause := wrong.Unwrap(); !known || cause == nil || strings.HasPrefix(cause.Error(), "want ") {
		return err
	}
	return fmt.Errorf("invalid argument %q for \"--%s\" flag: want %s", wrong.GetValue(), wrong.GetFlag().Name, want)
}

// noteBegin makes the commands set begun when their RunE is called: the command line was right until then.
func noteBegin(cmd *cobra.Command, begun *bool) {
	if run := cmd.RunE; run != nil {
		cmd.RunE = func(cmd *cobra.Command, args []string) error {
			*begun = true
			return run(cmd, args)
		}
	}
	for _, c := range cmd.Commands() {
		noteBegin(c, begun)
	}
}

// unprinted returns err without the joined errors that the command has already printed or, after an interrupt, that are
// due to it; nil if nothing is left.
func unprinted(err error, interrupted bool) error {
	if all, joined := err.(interface{ Unwrap() []error }); joined {
		var left []error
		for _, e := range all.Unwrap() {
			left = append(left, unprinted(e, interrupted))
		}
		return errors.Join(left...)
	}
	if interrupted && errors.Is(err, context.Canceled) {
		return nil
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
