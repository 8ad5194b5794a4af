package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"orderstock/loadtest/history"
	"orderstock/loadtest/stack"
	"orderstock/loadtest/stack/stacktest"
	"orderstock/loadtest/verify"
	"orderstock/pkg/command"
)

// earlierRun leaves the files of an earlier run in a folder.
func earlierRun(t *testing.T) (folder string) {
	t.Helper()
	folder = t.TempDir()
	for _, name := range []string{"verdict.json", "history.jsonl"} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte("of an earlier run"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return folder
}

// One stock replica is dead from the start, and the run is interrupted: the run so far is judged nevertheless.
func TestAnInterruptedRunIsJudged(t *testing.T) {
	st := stacktest.Up(t, stacktest.Build(t), func(c *stack.Config) { c.OrderServices = 1 })
	if err := st.Stock[1].Kill(); err != nil {
		t.Fatal(err)
	}
	for name, value := range st.LoadtestEnv() {
		t.Setenv(name, value)
	}
	folder := earlierRun(t)
	ctx, interrupt := context.WithTimeout(t.Context(), 2*time.Second)
	defer interrupt()
	var stdout, stderr bytes.Buffer
	cmd := newCommand(&stdout, &stderr)
	cmd.SetArgs([]string{"fire", "--rate", "50", "--orders", "100000", "--goods", "4", "--out", folder})
	if exit := command.Run(ctx, cmd); exit != command.Passed {
		t.Fatalf("exit code %d\n%s%s", exit, &stdout, &stderr)
	}
	if text := stdout.String(); !strings.Contains(text, "\n12 of 12 invariants hold\nVERDICT: PASS ") {
		t.Errorf("printed %s", text)
	}
	h, err := history.Open(filepath.Join(folder, "history.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(folder, "verdict.json"))
	if err != nil {
		t.Fatal(err)
	}
	var v verify.Verdict
	if err := json.Unmarshal(text, &v); err != nil {
		t.Fatal(err)
	}
	if v.Outcome != verify.Pass || v.Orders != h.Orders() || v.Orders == 0 || v.Orders > 1000 {
		t.Errorf("%s; want a pass on the %d orders of the history", &v, h.Orders())
	}
}

func TestFireWithNothingUp(t *testing.T) {
	folder := earlierRun(t)
	began := time.Now()
	var stdout, stderr bytes.Buffer
	cmd := newCommand(&stdout, &stderr)
	cmd.SetArgs([]string{"fire", "--stock-url", "http://127.0.0.1:1", "--out", folder})
	if exit := command.Run(t.Context(), cmd); exit != command.Unknown || !strings.Contains(stderr.String(), "make up") {
		t.Errorf("exit code %d, printed %q; want %d and what to do", exit, &stderr, command.Unknown)
	}
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("reported after %s", took)
	}
	if left, err := os.ReadDir(folder); err != nil || len(left) > 0 {
		t.Errorf("%v, %v are left of an earlier run", left, err)
	}
}
