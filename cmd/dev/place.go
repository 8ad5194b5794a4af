package main

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"orderstock/loadtest/stack"
	"orderstock/pkg/servers"
)

// binDir is where the binaries are built to, and runDir where a stack that was
// left running keeps its state, data and logs.
func binDir(root string) string { return filepath.Join(root, "bin") }
func runDir(root string) string { return filepath.Join(root, ".run") }

// every calls do again and again until the function that it returns is called.
func every(pause time.Duration, do func()) (stop func()) {
	tick, stopped, ended := time.NewTicker(pause), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for {
			select {
			case <-tick.C:
				do()
			case <-stopped:
				return
			}
		}
	}()
	return func() { tick.Stop(); close(stopped); <-ended }
}

// prepare installs what is missing and compiles the binaries of the module in the folder root.
func prepare(ctx context.Context, root string, say func(string)) error {
	if err := install(ctx, say, servers.Missing()); err != nil {
		return err
	}
	say("compiling the services into " + binDir(root))
	defer every(10*time.Second, func() { say("still compiling; the first time takes minutes") })()
	if err := stack.Build(ctx, root, binDir(root), nil, "order-service", "stock-service", "loadtest"); err != nil {
		return fmt.Errorf("prepare: %w", err)
	}
	return nil
}
