package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"time"

	"orderstock/pkg/command"
)

// run runs a program with this one's output and the given variables added to
// its environment. When ctx ends, its process group is interrupted, and after
// 15 s killed. An exit code other than 0 is returned as an ExitError.
func run(ctx context.Context, env map[string]string, name string, args ...string) error {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Env = os.Environ()
	for k, v := range env {
		cmd.Env = append(cmd.Env, k+"="+v)
	}
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // go test and its test programs are interrupted together
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGINT) }
	cmd.WaitDelay = 15 * time.Second
	err := cmd.Run()
	if cmd.Process != nil {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // what it left behind; mostly nothing
	}
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("run %s: %w", name, context.Cause(ctx))
	}
	if exit, ok := errors.AsType[*exec.ExitError](err); ok && exit.Exited() {
		return &command.ExitError{Code: exit.ExitCode()}
	}
	if err != nil {
		return fmt.Errorf("run %s: %w", name, err)
	}
	return nil
}
