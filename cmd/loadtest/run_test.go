package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"orderstock/loadtest/ladder"
	"orderstock/loadtest/tables"
	"orderstock/loadtest/trial"
	"orderstock/loadtest/verify"
	"orderstock/pkg/command"
)

// A broken variant that costs only time, H's, is said to be slow if its books are right. Nothing else is.
func TestRunOfTimeIsSlow(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		fault   string
		side    tables.Side
		verdict verify.Outcome
		want    string
	}{
		{"H", tables.Broken, verify.Pass, "SLOW"},
		{"H", tables.Fixed, verify.Pass, "PASS"},
		{"H", tables.Broken, verify.Violation, "VIOLATION"},
		{"H", tables.Broken, verify.Unknown, "UNKNOWN"},
		{"A", tables.Broken, verify.Pass, "PASS"},
	} {
		var out strings.Builder
		show(&out, tables.Run{
			Fault: test.fault, Variant: test.side, Seed: 42, Verdict: test.verdict, Sentence: "9 orders a second",
		}, nil)
		if want := "seed 42: 9 orders a second: " + test.want + "\n"; !strings.HasSuffix(out.String(), want) {
			t.Errorf("%s, %s, %s: %q, want %q", test.fault, test.side, test.verdict, &out, want)
		}
	}
}

// The last line of a run is the verdict, and the exit code the verdict's.
func TestRunEndsInItsVerdict(t *testing.T) {
	t.Parallel()
	broken := tables.Run{Fault: "A", Variant: tables.Broken, Seed: 44, Attempt: 3, Attempts: 3}
	once := tables.Run{Fault: "A", Variant: tables.Fixed, Seed: 42, Attempt: 1, Attempts: 1}
	const missed = "not caught this time, with the seeds 42, 43, 44\n"
	for _, test := range []struct {
		run     tables.Run
		outcome verify.Outcome
		exit    int
		missed  bool
	}{
		{broken, verify.Violation, command.Failed, false},
		{broken, verify.Pass, command.Passed, true},
		{broken, verify.Unknown, command.Unknown, false},
		{once, verify.Pass, command.Passed, false},
		{once, verify.Violation, command.Failed, false},
	} {
		var out bytes.Buffer
		if test.run.Verdict = test.outcome; test.missed {
			test.run.Verdict = trial.NotCaught
		}
		err := conclude(&out, &tables.Record{
			Run: test.run, Verdict: &verify.Verdict{Outcome: test.outcome, Orders: 7},
		})
		exit := command.Passed
		if failed, ok := errors.AsType[*command.ExitError](err); ok {
			exit, err = failed.Code, failed.Err
		}
		if err != nil || exit != test.exit {
			t.Errorf("%s, %s: exit code %d, %v; want %d", test.run.Variant, test.outcome, exit, err, test.exit)
		}
		lines := strings.Split(strings.TrimSpace(out.String()), "\n")
		want := "VERDICT: " + strings.ToUpper(string(test.outcome)) + " orders=7"
		if last := lines[len(lines)-1]; !strings.HasPrefix(last, want) {
			t.Errorf("%s, %s: the last line is %q", test.run.Variant, test.outcome, last)
		}
		if strings.Contains(out.String(), missed) != test.missed {
			t.Errorf("%s, %s: printed %q; that it was not caught: %t", test.run.Variant, test.outcome, &out, test.missed)
		}
	}
}

// Each experiment runs with each seed, and the last line says how many runs were as expected.
func TestSeveralRunsAreCounted(t *testing.T) {
	t.Parallel()
	lost := errors.New("no server")
	for _, test := range []struct {
		ends []error // of the runs with the seeds from 42 on
		exit int     // that is expected of each
		says string
		want int
	}{
		{[]error{nil}, 0, "", command.Passed},
		{[]error{nil, nil}, 0, "2 of 2 runs as expected\n", command.Passed},
		{[]error{nil, exit(verify.Unknown), nil}, 0, "2 of 3 runs as expected\n", command.Unknown},
		{
			[]error{exit(verify.Violation), exit(verify.Violation), nil},
			command.Failed, "2 of 3 runs as expected\n", command.Failed,
		},
		{[]error{exit(verify.Violation), lost, nil}, 0, "", command.Unknown},
	} {
		var out bytes.Buffer
		cmd := &cobra.Command{RunE: func(cmd *cobra.Command, _ []string) error {
			return runAll(cmd, []*experiment{{
				first: 42, runs: len(test.ends), exit: test.exit,
				run: func(_ *cobra.Command, seed uint64) error { return test.ends[seed-42] },
			}}, &out)
		}}
		cmd.SetArgs([]string{})
		cmd.SetErr(io.Discard)
		if code := command.Run(t.Context(), cmd); code != test.want || out.String() != test.says {
			t.Errorf("%v: exit code %d, printed %q; want %d and %q", test.ends, code, &out, test.want, test.says)
		}
	}
}

// An interrupt between two runs is no pass, although all runs before it were.
func TestRunsThatWereNotMadeAreNoPass(t *testing.T) {
	t.Parallel()
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	var errs bytes.Buffer
	cmd := &cobra.Command{RunE: func(cmd *cobra.Command, _ []string) error {
		return runAll(cmd, []*experiment{{first: 42, runs: 3, run: func(*cobra.Command, uint64) error {
			interrupt()
			return nil
		}}}, io.Discard)
	}}
	cmd.SetArgs([]string{})
	cmd.SetErr(&errs)
	const want = "interrupted: 2 of 3 runs were not made"
	if code := command.Run(ctx, cmd); code != command.Unknown || !strings.Contains(errs.String(), want) {
		t.Errorf("exit code %d, printed %s", code, &errs)
	}
}

// What was measured until an interrupt has no verdict of a pass.
func TestAnInterruptedMeasurementIsNoPass(t *testing.T) {
	t.Parallel()
	for _, result := range []judged{
		&trial.Report{Verdict: verify.Pass}, tables.Pairs{{Title: "a fault", Kind: "books"}}[:0],
		&ladder.Result{Rows: []ladder.Row{{Strategy: ladder.Default, Verdict: verify.Pass}}},
	} {
		var out, errs bytes.Buffer
		cmd := &cobra.Command{RunE: func(cmd *cobra.Command, _ []string) error {
			return new(resultFlags).give(cmd, filepath.Join(t.TempDir(), "result.json"), result, context.Canceled)
		}}
		cmd.SetArgs([]string{})
		cmd.SetOut(&out)
		cmd.SetErr(&errs)
		if code := command.Run(t.Context(), cmd); code != command.Unknown || strings.Contains(out.String(), "PASS") {
			t.Errorf("%T: exit code %d, printed %s%s", result, code, &out, &errs)
		}
	}
}

// An experiment has its own first seed and, if it is broken, ends with a violation.
func TestFirstSeed(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name   string
		seeded bool
		first  uint64
		exit   int
	}{
		{"A/broken", false, 42, command.Failed},
		{"A/fixed", false, 42, command.Passed},
		{"A/here", false, 42, command.Passed},
		{"A", true, 7, command.Passed},
		{"commit/before/kill", false, 1, command.Passed},
		{"commit/before/kill@3", false, 3, command.Passed},
		{"no reconciler", true, 7, command.Passed},
	} {
		var cfg runConfig
		cfg.custom.Load.Mix.Seed = 7
		e, err := cfg.named(test.name, test.seeded)
		if err != nil || e.first != test.first || e.exit != test.exit {
			t.Errorf("%s: %+v, %v; want the first seed %d and exit code %d", test.name, e, err, test.first, test.exit)
		}
	}
}

// A published fault goes wrong on new servers and services, and the program exits with its verdict. Fault Q does so
// with few orders, and each time.
// It takes more than 10 s: the services with their broken variants are linked, and three servers and four services
// start.
func TestRunOnRealServers(t *testing.T) {
	report := filepath.Join(t.TempDir(), "a.html")
	out, exit := execute(t, "run", "Q/broken", "--seed", "42", "--json", "--report", report, "--out", t.TempDir())
	var v verify.Verdict
	if err := json.Unmarshal([]byte(out), &v); err != nil || exit != command.Failed || v.Outcome != verify.Violation {
		t.Errorf("%v, exit code %d, printed %s; want a violation as JSON", err, exit, out)
	}
	page, err := os.ReadFile(report)
	for _, want := range []string{"seed 42", " with a negative quantity put "} {
		if err != nil || !bytes.Contains(page, []byte(want)) {
			t.Errorf("report of %d bytes, %v; want one that says %q", len(page), err, want)
		}
	}
}
