package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"orderstock/loadtest/system"
	"orderstock/pkg/command"
)

func demoCommand() *cobra.Command {
	var (
		open system.Options
		cfg  system.Config
		r    firing
	)
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Bring everything up, fire orders, print the verdict, stop everything; the exit code is the verdict's",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			open.Progress = command.Progress(cmd.ErrOrStderr())
			cfg.Progress = open.Progress
			return demo(cmd, open, cfg, &r)
		},
	}
	cfg.Flags(cmd.Flags(), &open.Cluster)
	r.flags(cmd)
	return cmd
}

func demo(cmd *cobra.Command, open system.Options, cfg system.Config, r *firing) error {
	ctx := cmd.Context()
	if err := errors.Join(cfg.Check(), r.config().Validate(), r.clear()); err != nil {
		return err
	}
	return system.With(ctx, open, func(s *system.System) (err error) {
		logs := filepath.Join(filepath.Dir(r.verdict()), "logs")
		defer func() {
			err = errors.Join(err, keepLogs(s.Dir, logs))
			cfg.Progress("logs are in " + logs)
		}()
		return s.WithServices(ctx, cfg, func(st *system.Stack) error {
			target, databases := st.Target(), st.Databases()
			r.where.OrderURLs, r.where.StockURLs, r.where.StockToken = target.OrderURLs, target.StockURLs, target.StockToken
			r.where.OrderDSN, r.where.StockDSN = databases.OrderDSN, databases.StockDSN
			cfg.Progress("firing orders")
			err := r.run(cmd) // judges at its end
			for _, dead := range st.Dead() {
				cfg.Progress(dead.Name() + " died during the run; see its log")
			}
			cfg.Progress("stopping everything")
			return err
		})
	})
}

// keepLogs copies every log under dir into the folder to.
func keepLogs(dir, to string) error {
	if err := os.RemoveAll(to); err != nil {
		return fmt.Errorf("keep logs: %w", err)
	}
	if err := os.MkdirAll(to, 0o755); err != nil {
		return fmt.Errorf("keep logs: %w", err)
	}
	return filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(path) != ".log" {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(to, filepath.Base(path)), text, 0o644)
	})
}
