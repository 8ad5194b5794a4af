package service

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"net"
	"os"
	"runtime/debug"
	"strings"

	"github.com/KimMachineGun/automemlimit/memlimit"
	"github.com/spf13/cobra"

	"orderstock/pkg/command"
	"orderstock/pkg/httpapi"
)

// Program is a service with settings of type S, as its command line sees it.
type Program[S any] struct {
	Name, Short string
	// Environment lists the variables that it reads, for the help.
	Environment string
	// Read returns the settings, or an error that names each wrong one.
	Read func() (S, error)
	// Serve serves until ctx ends.
	Serve func(ctx context.Context, settings S) error
	// Check, if not nil, finds wrong settings that Read does not, before Serve is called.
	Check func(settings S) error
	// Listens returns where the service listens, and whether it speaks HTTPS there, for the health check.
	Listens func(settings S) (addr string, https bool)
}

// Command returns a service's command: "serve", which is the default, "check", which fails if a setting is wrong, and
// "health", which asks the service on this machine whether it is ready.
func Command[S any](p Program[S]) *cobra.Command {
	with := func(do func(ctx context.Context, settings S) error) func(*cobra.Command, []string) error {
		return func(cmd *cobra.Command, _ []string) error {
			settings, err := p.Read()
			if err != nil {
				return err
			}
			return do(cmd.Context(), settings)
		}
	}
	check := func(_ context.Context, settings S) error {
		if p.Check == nil {
			return nil
		}
		return command.Misuse(p.Check(settings))
	}
	run := with(func(ctx context.Context, settings S) error {
		if err := check(ctx, settings); err != nil {
			return err
		}
		return p.Serve(ctx, settings)
	})
	health := with(func(ctx context.Context, settings S) error {
		addr, https := p.Listens(settings)
		host, port, err := net.SplitHostPort(addr)
		if err != nil {
			return fmt.Errorf("read LISTEN_ADDR: %w", err)
		}
		url := "http://" + net.JoinHostPort(cmp.Or(host, "127.0.0.1"), port) + "/readyz"
		if https {
			url = "https" + strings.TrimPrefix(url, "http")
		}
		return command.Fail(httpapi.AskHealth(ctx, url))
	})
	root := &cobra.Command{
		Use: p.Name, Short: p.Short, Long: p.Short + ".\n\nEnvironment:\n" + p.Environment, Args: cobra.NoArgs, RunE: run,
	}
	root.SetErr(command.Stderr())
	root.AddCommand(
		&cobra.Command{Use: "serve", Short: "Serve until SIGTERM (default)", Args: cobra.NoArgs, RunE: run},
		&cobra.Command{
			Use: "check", Short: "Exit 0 if the settings are valid; otherwise name the wrong ones and exit 64",
			Args: cobra.NoArgs, RunE: with(check),
		},
		&cobra.Command{
			Use: "health", Short: "Exit 0 if the service on this machine is ready, 1 if it is not",
			Args: cobra.NoArgs, RunE: health,
		},
	)
	return root
}

// gcPercent replaces GOGC if that is not set. Little memory lives longer than its request, so collecting less often
// costs about 30 MB and saves processor time.
const gcPercent = 400

// begin sets up the process of a service and returns its log, which also becomes slog's default.
func begin(name string, s Settings) *slog.Logger {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	log := slog.New(slog.NewJSONHandler(command.Stderr(), &slog.HandlerOptions{Level: s.LogLevel})).With("service", name)
	slog.SetDefault(log)
	if _, err := memlimit.Set(); err != nil {
		log.Warn("no memory limit", "error", err.Error())
	}
	log.Info("starting", "version", command.Version())
	return log
}
