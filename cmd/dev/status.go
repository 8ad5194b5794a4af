package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"orderstock/loadtest/report"
	"orderstock/loadtest/system"
	"orderstock/pkg/command"
	"orderstock/pkg/httpapi"
	"orderstock/pkg/servers"
)

func statusCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "status",
		Short: "Print what up left running, a line each; exit 0 if all of it is ready, 1 if not",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			root, err := system.ModuleRoot()
			if err != nil {
				return err
			}
			s, err := readState(runDir(root))
			if errors.Is(err, errDown) {
				return command.Fail(err)
			} else if err != nil {
				return err
			}
			if !s.print(cmd.Context(), cmd.OutOrStdout()) {
				return &command.ExitError{Code: command.Failed} // printed above
			}
			return nil
		},
	}
}

// print prints each process and its address, and reports whether all are ready.
func (s state) print(ctx context.Context, w io.Writer) (ready bool) {
	ready = true
	table := report.NewTable("NAME", "STATE", "ADDRESS", "METRICS")
	for _, p := range s.Programs {
		state, metrics := p.state(ctx), ""
		ready = ready && state == "ready"
		if p.Ops != "" {
			metrics = p.Ops + "/metrics"
		}
		table.Add(state != "ready", p.Name, state, cmp.Or(p.page(), p.URL, p.Addr), metrics)
	}
	_ = table.Text(w) // if printing fails, the error could not be printed either
	fmt.Fprint(w, `
To fire at it:  . .run/env && bin/loadtest fire
To stop it:     make down
Its logs:       .run/data
`)
	return ready
}

// state returns a program's state in a word or two. It asks a service; a server must accept a connection. Another
// process that answers in its place counts for nothing.
func (p program) state(ctx context.Context) string {
	if !servers.Group(p.Pid).Alive() {
		return "down"
	}
	if p.URL == "" {
		ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
		defer cancel()
		conn, err := new(net.Dialer).DialContext(ctx, "tcp", p.Addr)
		if err != nil {
			return "down"
		}
		_ = conn.Close() // nothing was sent
		return "ready"
	}
	path := "/readyz"
	if p.Token != "" { // the console is ready while it answers
		path = "/healthz"
	}
	err := httpapi.AskHealth(ctx, p.URL+path)
	switch {
	case err == nil:
		return "ready"
	case errors.Is(err, syscall.ECONNREFUSED):
		return "down"
	case errors.Is(err, context.DeadlineExceeded):
		return "no answer"
	}
	return "not ready"
}
