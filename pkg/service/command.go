package service

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"os"
	"runtime/debug"

	"github.com/KimMachineGun/automemlimit/memlimit"
	"github.com/spf13/cobra"

	"orderstock/pkg/command"
	"orderstock/pkg/httpapi"
)

// Command returns a service's command: "serve", which is the default, and "health", which asks the
// service that listens at the address on this machine whether it is ready.
func Command(name, short string, serve func(context.Context) error, listenAddr func() (string, error)) *cobra.Command {
	run := func(cmd *cobra.Command, _ []string) error { return serve(cmd.Context()) }
	health := func(cmd *cobra.Command, _ []string) error {
		addr, err := listenAddr()
		if err != nil {
			return err
		}
		_, port, err := net.SplitHostPort(addr)
		if err != nil {
			return fmt.Errorf("read LISTEN_ADDR: %w", err)
		}
		return command.Fail(httpapi.Healthcheck(cmd.Context(), "http://"+net.JoinHostPort("127.0.0.1", port)+"/readyz"))
	}
	root := &cobra.Command{Use: name, Short: short, Args: cobra.NoArgs, RunE: run}
	root.AddCommand(
		&cobra.Command{Use: "serve", Short: "Serve until SIGTERM (default)", Args: cobra.NoArgs, RunE: run},
		&cobra.Command{Use: "health", Short: "Exit 0 if the service on this machine is ready, 1 if it is not", Args: cobra.NoArgs, RunE: health},
	)
	return root
}

// gcPercent is the garbage collector's, where GOGC says nothing: little lives beyond its request, so
// that collecting less often costs some 30 MB and saves processor time.
const gcPercent = 400

// Begin sets the process up and returns its log, which is also slog's default from now on. The
// process keeps its memory below GOMEMLIMIT or, where that is not set, below nine tenths of what
// its cgroup allows.
func Begin(name string, s Settings) *slog.Logger {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	log := slog.New(slog.NewJSONHandler(os.Stderr, &slog.HandlerOptions{Level: s.LogLevel})).With("service", name)
	slog.SetDefault(log)
	if _, err := memlimit.Set(); err != nil {
		log.Warn("no memory limit", "error", err.Error())
	}
	return log
}
