package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"orderstock/loadtest/system"
	"orderstock/pkg/command"
	"orderstock/pkg/servers/programs"
)

// judgeCommand runs the program judge, which is compiled at its first use.
func judgeCommand() *cobra.Command {
	return &cobra.Command{
		Use:                "judge FILE",
		Short:              "Judge any shop with an ordering API, described by a file: does it oversell, double or forget?",
		DisableFlagParsing: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			program, err := judgeProgram(cmd)
			if err != nil {
				return err
			}
			judge := exec.CommandContext(cmd.Context(), program, args...)
			judge.Args[0] = "loadtest judge"
			judge.Stdin, judge.Stdout, judge.Stderr = os.Stdin, cmd.OutOrStdout(), cmd.ErrOrStderr()
			judge.Cancel = func() error { return judge.Process.Signal(os.Interrupt) } // it stops what it has started
			judge.WaitDelay = time.Minute
			err = judge.Run()
			if ended, ok := errors.AsType[*exec.ExitError](err); ok && ended.Exited() {
				return &command.ExitError{Code: ended.ExitCode()} // it has said why
			}
			return err
		},
	}
}

// judgeProgram returns the path of the program, which is next to this one.
func judgeProgram(cmd *cobra.Command) (path string, err error) {
	self, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("find the program judge: %w", err)
	}
	path = filepath.Join(filepath.Dir(self), "judge")
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	root, err := system.ModuleRoot()
	if err != nil {
		return "", fmt.Errorf("there is no program %s; compile it with: make build", path)
	}
	fmt.Fprintln(cmd.ErrOrStderr(), "compiling "+path)
	return path, programs.Compile(cmd.Context(), programs.Source{Root: root, Bin: filepath.Dir(self)}, "judge")
}
