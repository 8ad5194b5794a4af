package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"orderstock/loadtest/history"
	"orderstock/loadtest/stack"
	"orderstock/pkg/command"
	"orderstock/pkg/servers"
)

func demoCommand() *cobra.Command {
	var (
		size size
		out  string
	)
	cmd := &cobra.Command{
		Use:   "demo [-- flags of loadtest fire]",
		Short: "Bring everything up, fire orders, print the verdict, stop everything; the exit code is the verdict's",
		RunE: func(cmd *cobra.Command, args []string) error {
			return demo(cmd.Context(), &size, out, args)
		},
	}
	size.flags(cmd)
	cmd.Flags().StringVar(&out, "out", "out", "folder for the verdict, the history and the logs")
	return cmd
}

func demo(ctx context.Context, size *size, out string, fire []string) (err error) {
	say := command.Progress(os.Stderr)
	root, err := stack.ModuleRoot()
	if err != nil {
		return err
	}
	if err := size.check(say); err != nil {
		return err
	}
	if err := history.Clear(filepath.Join(out, "verdict.json"), filepath.Join(out, "history.jsonl")); err != nil {
		return err
	}
	if err := prepare(ctx, root, say); err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "orderstock-demo-")
	if err != nil {
		return fmt.Errorf("demo: %w", err)
	}
	defer func() { err = errors.Join(err, keepLogs(dir, filepath.Join(out, "logs")), os.RemoveAll(dir)) }()
	cfg := size.config(root, dir)
	cfg.Progress = say
	st, err := stack.Up(ctx, cfg)
	if err != nil {
		return err
	}
	defer func() {
		ctx, cancel := stopping(ctx)
		defer cancel()
		say("stopping everything")
		err = errors.Join(err, st.Stop(ctx))
		say("logs are in " + filepath.Join(out, "logs"))
	}()

	loadtest := filepath.Join(binDir(root), "loadtest")
	say("firing: loadtest fire " + strings.Join(fire, " "))
	env := servers.Environment(assignments(st.LoadtestEnv()))
	err = run(ctx, env, loadtest, append([]string{"fire", "--out", out}, fire...)...) // verifies at its end
	for _, dead := range st.Dead() {
		say(dead.Name() + " died during the run; see its log")
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
