package main

import (
	"fmt"
	"net"

	"github.com/spf13/cobra"

	"orderstock/pkg/httpapi"
)

func newCommand() *cobra.Command {
	serve := func(cmd *cobra.Command, _ []string) error {
		cfg, err := readConfig()
		if err != nil {
			return err
		}
		return run(cmd.Context(), cfg, nil)
	}
	root := &cobra.Command{
		Use:           "order-service",
		Short:         "Take orders, and drive each of them to an end, exactly once",
		Args:          cobra.NoArgs,
		RunE:          serve,
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	root.AddCommand(
		&cobra.Command{Use: "serve", Short: "Serve until SIGTERM (default)", Args: cobra.NoArgs, RunE: serve},
		&cobra.Command{Use: "health", Short: "Exit 0 if the service on this machine is ready", Args: cobra.NoArgs, RunE: health},
	)
	return root
}

func health(cmd *cobra.Command, _ []string) error {
	cfg, err := readConfig()
	if err != nil {
		return err
	}
	_, port, err := net.SplitHostPort(cfg.ListenAddr)
	if err != nil {
		return fmt.Errorf("read LISTEN_ADDR: %w", err)
	}
	return httpapi.Healthcheck(cmd.Context(), "http://"+net.JoinHostPort("127.0.0.1", port)+"/readyz")
}
