package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"time"

	"orderstock/pkg/command"
	"orderstock/pkg/servers"
)

// grace is how long a program may continue after an interrupt. "loadtest fire" awaits the calls in flight and judges.
const grace = time.Minute

// run runs a program with the output of this one, in that environment, or in this one's if it is nil. If ctx ends, run
// interrupts the program's process group, once more at a second interrupt, and kills it at a third or after the grace
// period. An exit code other than 0 is returned as an ExitError.
func run(ctx context.Context, env []string, name string, args ...string) error {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Env = env
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	servers.Lead(cmd) // go test and its test programs are interrupted together
	group := func() servers.Group { return servers.Group(cmd.Process.Pid) }
	again := make(chan os.Signal, 1)
	ended := make(chan struct{})
	cmd.Cancel = func() error {
		signal.Notify(again, os.Interrupt, syscall.SIGTERM)
		go func() {
			for _, send := range []func(servers.Group) error{servers.Group.Interrupt, servers.Group.Kill} {
				select {
				case <-again:
					_ = send(group()) // the program may have just ended
				case <-ended:
					return
				}
			}
		}()
		return group().Interrupt()
	}
	cmd.WaitDelay = grace
	err := cmd.Run()
	close(ended)
	signal.Stop(again)
	if cmd.Process != nil {
		_ = group().Kill() // processes left behind; usually none
	}
	if exit, ok := errors.AsType[*exec.ExitError](err); ok && exit.Exited() {
		return &command.ExitError{Code: exit.ExitCode()}
	}
	if err == nil || cmd.ProcessState != nil && cmd.ProcessState.Success() { // also if it was interrupted
		return nil
	}
	return fmt.Errorf("run %s: %w", name, err)
}
