package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"orderstock/loadtest/ladder"
	"orderstock/pkg/command"
)

// TestCompareOnRealServers compares two settings for a moment.
// It takes 20 s: each leg starts four services.
func TestCompareOnRealServers(t *testing.T) {
	out := t.TempDir()
	args := []string{
		"bench", "compare", "--mysql", "local", "--paths", "order", "--new", "STOCK_GROUP=1",
		"--legs", "2", "--clients", "4", "--window", "1s", "--warmup", "200ms", "--out", out,
	}
	said, exit := execute(t, args...)
	if exit == command.Unknown { // a machine that stands still for a second leaves too little calm
		said, exit = execute(t, args...)
	}
	data, err := os.ReadFile(filepath.Join(out, "compare.json"))
	if err != nil {
		t.Fatal(err)
	}
	var kept ladder.Result
	if err := json.Unmarshal(data, &kept); err != nil {
		t.Fatal(err)
	}
	if len(kept.Rows) != 2 {
		t.Fatalf("kept %+v", kept)
	}
	if of := kept.Rows[1]; exit != command.Passed || of.Ratio.Value <= 0 || of.P99.Value <= 0 || len(of.Legs) != 2 ||
		!strings.Contains(said, "STOCK_GROUP=1 / this build") || !strings.Contains(said, of.Ratio.String()) {
		t.Errorf("exit code %d, kept %+v, printed %q", exit, of, said)
	}
}
