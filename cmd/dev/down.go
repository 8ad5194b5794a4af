package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"
	"github.com/spf13/cobra"

	"orderstock/loadtest/system"
	"orderstock/pkg/servers"
)

func downCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "down",
		Short: "Stop the stack of up; repeatable",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			root, err := system.ModuleRoot()
			if err != nil {
				return err
			}
			err = down(cmd.Context(), runDir(root))
			if errors.Is(err, errDown) {
				_, _ = fmt.Fprintln(cmd.OutOrStdout(), "nothing is up")
				return nil
			}
			return err
		},
	}
}

func down(ctx context.Context, dir string) error {
	s, err := readState(dir)
	if err != nil {
		return err
	}
	if err := servers.Group(s.Pid).Terminate(); err != nil {
		return fmt.Errorf("stop process %d: %w", s.Pid, err)
	}
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	f := flock.New(lockPath(dir))
	if _, err := f.TryLockContext(ctx, 100*time.Millisecond); err != nil {
		return fmt.Errorf("process %d does not end; see %s: %w", s.Pid, filepath.Join(dir, "stack.log"), err)
	}
	return f.Unlock()
}
