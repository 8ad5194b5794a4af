package main

import "path/filepath"

// binDir is the folder of the binaries, and runDir the folder where a running stack keeps its state, data and logs.
func binDir(root string) string { return filepath.Join(root, "bin") }
func runDir(root string) string { return filepath.Join(root, ".run") }
