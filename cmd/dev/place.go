package main

import (
	"context"
	"fmt"
	"path/filepath"

	"orderstock/loadtest/stack"
	"orderstock/pkg/command"
	"orderstock/pkg/servers"
)

// binDir is where the binaries are built to, and runDir where a stack that was
// left running keeps its state, data and logs.
func binDir(root string) string { return filepath.Join(root, "bin") }
func runDir(root string) string { return filepath.Join(root, ".run") }

// prepare installs missing programs and compiles the binaries of the module in the folder root.
func prepare(ctx context.Context, root string, say func(string)) error {
	if err := install(ctx, say, servers.Missing()); err != nil {
		return err
	}
	say("compiling the services into " + binDir(root))
	defer command.StillCompiling(say)()
	if err := stack.Build(ctx, root, binDir(root), nil, "order-service", "stock-service", "loadtest"); err != nil {
		return fmt.Errorf("prepare: %w", err)
	}
	return nil
}
