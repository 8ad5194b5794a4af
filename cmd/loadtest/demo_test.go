package main

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"orderstock/loadtest/history"
	"orderstock/loadtest/verify"
	"orderstock/pkg/command"
	"orderstock/stock-service/deduct"
)

// The results of an earlier run are removed even if the demo ends before it fires.
func TestADemoRemovesTheEarlierVerdict(t *testing.T) {
	t.Parallel()
	out := earlierRun(t)
	ctx, interrupt := context.WithCancel(t.Context())
	interrupt()
	_, errs, exit := program(ctx, "demo", "--out", out)
	if exit != command.Unknown || !strings.HasSuffix(errs, "loadtest: interrupted\n") {
		t.Errorf("an interrupted demo: exit code %d, %s", exit, errs)
	}
	if left, err := os.ReadDir(out); err != nil || len(left) > 0 {
		t.Errorf("%v, %v are left of an earlier run", left, err)
	}
}

// An interrupt while the servers start is said, without their logs. Nothing is left of them.
func TestADemoIsInterruptedAtItsStart(t *testing.T) {
	out := t.TempDir()
	_, errs, exit := interruptedAt(t, "starting MySQL, Redis and ZooKeeper", "demo", "--out", out)
	if exit != command.Unknown || !strings.HasSuffix(errs, "\nloadtest: interrupted\n") || strings.Contains(errs, "INFO") {
		t.Errorf("exit code %d, printed %s", exit, errs)
	}
	if _, err := os.Stat(filepath.Join(out, "verdict.json")); err == nil {
		t.Error("there is a verdict")
	}
}

// An interrupted demo is judged, and is no pass.
func TestAnInterruptedDemoIsNoPass(t *testing.T) {
	out, errs, exit := interruptedAt(t, "orders/s", "demo", "--rate", "20", "--out", t.TempDir())
	if exit != command.Unknown || !strings.Contains(out, "unknown: the run was interrupted") ||
		!strings.Contains(out, "VERDICT: UNKNOWN") {
		t.Errorf("exit code %d\n%s%s", exit, out, errs)
	}
}

// The locks that were measured until an interrupt are printed, without the exit code of a whole measurement.
func TestAnInterruptedMeasurementOfLocksIsNoPass(t *testing.T) {
	out, errs, exit := interruptedAt(t, "starting the processes", "bench", "locks", "--locks", "raw", "--shapes", "1x1x1",
		"--out", "")
	if exit != command.Unknown {
		t.Errorf("exit code %d\n%s%s", exit, out, errs)
	}
}

// The first command of a reader judges each strategy by what it promises: the correct ones pass, also those whose
// callers may wait for longer than they have, and the unsafe one oversells. Its report says what verdict.json says.
// Each demo starts three servers and four services, which takes seconds. In a short run, one of each kind is tried.
func TestDemoJudgesEachStrategyByItsPromise(t *testing.T) {
	for _, s := range deduct.Strategies {
		if testing.Short() && s.Name != "sequential" && s.Name != deduct.Default && !s.Unsafe() {
			continue
		}
		t.Run(s.Name, func(t *testing.T) {
			out := t.TempDir()
			report := filepath.Join(out, "a", "report.html")
			// Many clients want one product: those of a slow strategy wait for longer than they have, on any machine.
			args := []string{
				"demo", "--strategy", s.Name, "--out", out, "--report", report,
				"--orders", "100", "--concurrency", "100", "--goods", "1", "--stock", "40", "--repeat", "0.3",
			}
			printed, errs, exit := program(t.Context(), args...)
			for range 2 { // a machine that stands still for a second may leave too little calm to tell
				if exit == command.Unknown && strings.Contains(printed, "too little to tell") {
					printed, errs, exit = program(t.Context(), args...)
				}
			}
			verdict, want := "VERDICT: PASS", command.Passed
			if s.Unsafe() {
				verdict, want = "VERDICT: VIOLATION", command.Failed
			}
			if exit != want || !strings.Contains(printed, verdict) {
				t.Errorf("exit code %d, want %d and %s\n%s%s", exit, want, verdict, printed, errs)
			}
			if s.Unsafe() && strings.Contains(printed, "oversold=0 ") {
				t.Errorf("it is accused of something else than that it oversells:\n%s", printed)
			}
			text, err := os.ReadFile(filepath.Join(out, "verdict.json"))
			if err != nil {
				t.Fatal(err)
			}
			var v verify.Verdict
			if err := json.Unmarshal(text, &v); err != nil || v.Orders != 100 || !strings.Contains(printed, v.String()) {
				t.Errorf("%v, verdict.json says %s, printed\n%s", err, &v, printed)
			}
			checkReport(t, report, &v)
			h, err := history.Open(filepath.Join(out, "history.jsonl"))
			if err != nil {
				t.Fatal(err)
			}
			if h.Strategy != s.Name {
				t.Errorf("the history says that the strategy was %q", h.Strategy)
			}
		})
	}
}
