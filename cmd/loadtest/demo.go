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
		cfg system.Config
		r   firing
	)
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Bring everything up, fire orders, print the verdict, stop everything; the exit code is the verdict's",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg.Progress = command.Progress(cmd.ErrOrStderr())
			return demo(cmd, cfg, &r)
		},
	}
	cfg.Flags(cmd.Flags())
	r.flags(cmd)
	return cmd
}

func demo(cmd *cobra.Command, cfg system.Config, r *firing) (err error) {
	if err := errors.Join(cfg.Check(), r.config().Validate(), r.load.Validate()); err != nil {
		return command.Misuse(err)
	}
	if err := r.clear(); err != nil {
		return err
	}
	if cfg.Dir, err = os.MkdirTemp("", "orderstock-demo-"); err != nil {
		return fmt.Errorf("demo: %w", err)
	}
	defer func() {
		logs := filepath.Join(filepath.Dir(r.verdict()), "logs")
		err = errors.Join(err, keepLogs(cfg.Dir, logs), os.RemoveAll(cfg.Dir))
		if _, missing := os.Stat(logs); missing == nil {
			cfg.Progress("logs are in " + logs)
		}
	}()
	return system.With(cmd.Context(), cfg, func(s *system.System) error {
		r.load.Target, r.databases = s.Target(), s.Databases()
		cfg.Progress("firing orders")
		err := r.run(cmd) // judges at its end
		for _, dead := range s.Dead() {
			cfg.Progress(dead.Name() + " died during the run; see its log")
		}
		cfg.Progress("stopping everything")
		return err
	})
}

// keepLogs copies every log under dir into the folder to, which it makes for the first.
func keepLogs(dir, to string) error {
	if err := os.RemoveAll(to); err != nil {
		return fmt.Errorf("keep logs: %w", err)
	}
	return filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(path) != ".log" {
			return err
		}
		text, err := os.ReadFile(path)
		if err = errors.Join(err, os.MkdirAll(to, 0o755)); err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(to, filepath.Base(path)), text, 0o644)
	})
}
