package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"orderstock/loadtest/stack"
	"orderstock/pkg/command"
	"orderstock/pkg/httpapi"
	"orderstock/pkg/servers/procgroup"
)

func downCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "down",
		Short: "Stop what up left running; doing it twice does no harm",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			root, err := stack.ModuleRoot()
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
	if err := procgroup.Terminate(s.Pid); err != nil {
		return fmt.Errorf("stop process %d: %w", s.Pid, err)
	}
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		if held, err := lockHeld(dir); err != nil || !held {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("process %d does not end; see %s: %w", s.Pid, filepath.Join(dir, "stack.log"), ctx.Err())
		case <-tick.C:
		}
	}
}

func statusCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "status",
		Short: "Print what up left running, and whether it is ready",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			root, err := stack.ModuleRoot()
			if err != nil {
				return err
			}
			s, err := readState(runDir(root))
			if err != nil {
				return err
			}
			if !s.print(cmd.Context(), cmd.OutOrStdout()) {
				return &command.ExitError{Code: command.Failed} // printed above
			}
			return nil
		},
	}
}

// print prints what runs where, and reports whether all services are ready.
func (s state) print(ctx context.Context, w io.Writer) (ready bool) {
	ready = true
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, p := range s.Programs {
		addr, status := p.Addr, ""
		if p.Ready != "" {
			addr, status = "http://"+p.Addr, http.StatusText(http.StatusOK)
			if err := httpapi.Healthcheck(ctx, p.Ready); err != nil {
				ready, status = false, err.Error()
			}
		}
		_, _ = fmt.Fprintf(table, "%s\t%s\t%s\t%s\n", p.Name, addr, status, p.Log)
	}
	_ = table.Flush() // what cannot be printed cannot be told of either
	_, _ = fmt.Fprint(w, "\nTo fire at it:  . .run/env && bin/loadtest fire\nTo stop it:     make down\n")
	return ready
}
