package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"orderstock/loadtest/system"
	"orderstock/loadtest/trial"
	"orderstock/pkg/command"
	"orderstock/pkg/servers"
)

func upCommand() *cobra.Command {
	var (
		cfg   system.Config
		holds bool
	)
	cmd := &cobra.Command{
		Use:   "up",
		Short: "Bring everything up, leave it running and print the addresses",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if holds {
				return hold(cmd.Context(), cfg)
			}
			cfg.Progress = command.Progress(os.Stderr)
			if err := cfg.Check(); err != nil {
				return command.Misuse(err)
			}
			return up(cmd)
		},
	}
	cfg.Flags(cmd.Flags())
	cmd.Flags().BoolVar(&holds, "hold", false, "be the process that holds the stack")
	_ = cmd.Flags().MarkHidden("hold") // it is there
	return cmd
}

// up starts the process that holds the stack, and waits until it is ready.
func up(cmd *cobra.Command) error {
	ctx := cmd.Context()
	root, err := system.ModuleRoot()
	if err != nil {
		return err
	}
	dir := runDir(root)
	if held, err := lockHeld(dir); err != nil {
		return err
	} else if held {
		return errHeld
	}
	if err := os.RemoveAll(dir); err != nil {
		return fmt.Errorf("up: %w", err)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil { // it holds the services' passwords
		return fmt.Errorf("up: %w", err)
	}
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("up: %w", err)
	}
	logPath := filepath.Join(dir, "stack.log")
	log, err := os.Create(logPath)
	if err != nil {
		return fmt.Errorf("up: %w", err)
	}
	defer func() { _ = log.Close() }() // the holder has its own descriptor
	args := []string{"up", "--hold"}
	cmd.Flags().Visit(func(f *pflag.Flag) { args = append(args, "--"+f.Name+"="+f.Value.String()) })
	holder := exec.Command(self, args...) //nolint:noctx // outlives this process
	holder.Dir, holder.Stdout, holder.Stderr = root, log, log
	servers.Detach(holder)
	if err := holder.Start(); err != nil {
		return fmt.Errorf("up: %w", err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = holder.Wait() // its log has the error
	}()
	if err := follow(ctx, logPath, dir, ended); err != nil {
		_ = servers.Group(holder.Process.Pid).Terminate()
		<-ended
		return err
	}
	s, err := readState(dir)
	if err != nil {
		return err
	}
	s.print(ctx, cmd.OutOrStdout())
	return nil
}

// follow prints the holder's log until the stack is up.
func follow(ctx context.Context, logPath, dir string, ended <-chan struct{}) error {
	log, err := os.Open(logPath)
	if err != nil {
		return fmt.Errorf("up: %w", err)
	}
	defer func() { _ = log.Close() }()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		_, statErr := os.Stat(statePath(dir))
		if _, err := io.Copy(os.Stderr, log); err != nil {
			return fmt.Errorf("up: %w", err)
		}
		if statErr == nil {
			return nil
		}
		select {
		case <-ended:
			if _, err := io.Copy(os.Stderr, log); err != nil {
				return fmt.Errorf("up: %w", err)
			}
			return &command.ExitError{Code: command.Unknown} // the log says why
		case <-ctx.Done():
			return fmt.Errorf("up: %w", context.Cause(ctx))
		case <-tick.C:
		}
	}
}

// hold is the process that up leaves in the background: servers and services are its children, and end with it.
func hold(ctx context.Context, cfg system.Config) (err error) {
	root, err := system.ModuleRoot()
	if err != nil {
		return err
	}
	dir := runDir(root)
	held, free, err := lock(dir)
	if err != nil {
		return err
	} else if !free {
		return errHeld
	}
	defer func() { err = errors.Join(err, held.Unlock()) }()
	say := command.Progress(os.Stderr)
	cfg.Dir, cfg.Progress = filepath.Join(dir, "data"), say
	cfg.OrderPort, cfg.StockPort = 8080, 8081
	about, err := newPage()
	if err != nil {
		return err
	}
	cfg.StockEnv, cfg.OrderEnv = about.traced(), about.traced()
	cfg.OrderEnv["CONSOLE_URL"] = about.URL
	return system.With(ctx, cfg, func(s *system.System) (err error) {
		say("starting the console")
		page, err := startConsole(ctx, root, s.Dir, s, about)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, system.Stopping(ctx, page.Stop)) }()
		about.Pid = page.Pid()
		return keepUp(ctx, dir, s, about)
	})
}

// keepUp writes the stack's addresses for the other commands, and starts services again that end, until ctx ends.
func keepUp(ctx context.Context, dir string, st *system.System, page program) error {
	var one sync.Mutex
	write := func() error {
		one.Lock()
		defer one.Unlock()
		s := stateOf(st)
		s.Programs = append([]program{page}, s.Programs...)
		return s.write(dir)
	}
	if err := write(); err != nil {
		return err
	}
	var all sync.WaitGroup
	for _, service := range st.Replicas() {
		all.Go(func() { revive(ctx, service.Server, command.Progress(os.Stderr), write) })
	}
	all.Wait()
	return forget(dir)
}

// revivePause is the time between two attempts to start a service.
const revivePause = time.Second

// revive starts the service again whenever its process has ended, as compose does, until ctx ends.
// Then it calls began, as the service is another process now.
func revive(ctx context.Context, s *servers.Server, say func(string), began func() error) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.Done():
		}
		if trial.Sleep(ctx, revivePause) != nil {
			return
		}
		say(s.Name() + " has ended: starting it again")
		if err := errors.Join(s.Restart(ctx), began()); err != nil {
			say(err.Error())
		}
	}
}
