package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"orderstock/pkg/servers/programs"
)

// binDir is the folder of the binaries, and runDir the folder where a running stack keeps its state, data and logs.
func binDir(root string) string { return filepath.Join(root, "bin") }
func runDir(root string) string { return filepath.Join(root, ".run") }

// prepare installs missing programs while it compiles the binaries of the module in the folder root.
func prepare(ctx context.Context, root string, say func(string)) error {
	installed := make(chan error, 1)
	go func() { installed <- programs.Install(ctx, say, programs.Missing()) }()
	say("compiling the services into " + binDir(root))
	err := programs.Compile(ctx, programs.Source{Root: root, Bin: binDir(root), Progress: say},
		"order-service", "stock-service", "loadtest")
	if err := errors.Join(err, <-installed); err != nil {
		return fmt.Errorf("prepare: %w", err)
	}
	return nil
}
