package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"orderstock/loadtest/stack"
	"orderstock/pkg/command"
	"orderstock/pkg/compile"
)

func demoCommand() *cobra.Command {
	var (
		cfg stack.Config
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

func demo(cmd *cobra.Command, cfg stack.Config, r *firing) (err error) {
	ctx := cmd.Context()
	root, err := stack.ModuleRoot()
	if err != nil {
		return err
	}
	if err := errors.Join(cfg.Check(), r.judging.Validate(), r.to.clear()); err != nil {
		return err
	}
	cfg.Bin = filepath.Join(root, "bin")
	to := compile.Options{Root: root, Bin: cfg.Bin, Progress: cfg.Progress}
	if err := compile.Programs(ctx, to, "order-service", "stock-service"); err != nil {
		return err
	}
	if cfg.Dir, err = os.MkdirTemp("", "orderstock-demo-"); err != nil {
		return fmt.Errorf("demo: %w", err)
	}
	logs := filepath.Join(filepath.Dir(r.to.verdict()), "logs")
	defer func() { err = errors.Join(err, keepLogs(cfg.Dir, logs), os.RemoveAll(cfg.Dir)) }()
	st, err := stack.Up(ctx, cfg)
	if err != nil {
		return err
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 40*time.Second)
		defer cancel()
		cfg.Progress("stopping everything")
		err = errors.Join(err, st.Stop(ctx))
		cfg.Progress("logs are in " + logs)
	}()
	target, databases := st.Target(), st.Databases()
	r.where.OrderURLs, r.where.StockURLs, r.where.StockToken = target.OrderURLs, target.StockURLs, target.StockToken
	r.where.OrderDSN, r.where.StockDSN = databases.OrderDSN, databases.StockDSN
	cfg.Progress("firing orders")
	err = r.run(cmd) // judges at its end
	for _, dead := range st.Dead() {
		cfg.Progress(dead.Name() + " died during the run; see its log")
	}
	return err
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
