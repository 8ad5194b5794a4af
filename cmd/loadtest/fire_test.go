package main

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"orderstock/loadtest/history"
	"orderstock/loadtest/system"
	"orderstock/loadtest/system/systemtest"
	"orderstock/loadtest/verify"
	"orderstock/pkg/command"
	"orderstock/stock-service/deduct"
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

// One stock replica is dead from the start, and the run is interrupted: the run so far is judged nevertheless, also
// later, and is no pass.
func TestAnInterruptedRunIsJudged(t *testing.T) {
	st := systemtest.Up(t, systemtest.Build(t), func(c *system.Config) { c.OrderServices = 1 })
	if err := st.Stocks[1].Kill(); err != nil {
		t.Fatal(err)
	}
	for name, value := range st.LoadtestEnv() {
		t.Setenv(name, value)
	}
	folder := earlierRun(t)
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	db, err := sql.Open("mysql", st.Databases().OrderDSN)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	go func() {
		defer interrupt()
		for n := 0; n < 20 && ctx.Err() == nil; time.Sleep(20 * time.Millisecond) { // a poll of another process
			err := db.QueryRowContext(ctx, "SELECT COUNT(*) FROM orders").Scan(&n)
			if err != nil && ctx.Err() == nil {
				t.Error(err)
				return
			}
		}
	}()
	out, errs, exit := program(ctx, "fire", "--rate", "50", "--orders", "100000", "--goods", "4", "--out", folder)
	want := []string{ // a busy machine may give more reasons
		"\nunknown: the run was interrupted, and only what it had done by then was judged\n", "\nVERDICT: UNKNOWN ",
	}
	if exit != command.Unknown || !hasAll(out, want) {
		t.Fatalf("exit code %d\n%s%s", exit, out, errs)
	}
	if out, errs, exit := program(t.Context(), "verify", "--out", folder); exit != command.Unknown ||
		!hasAll(out, want) {
		t.Errorf("judged again: exit code %d\n%s%s", exit, out, errs)
	}
	h, err := history.Open(filepath.Join(folder, "history.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	if h.Strategy != deduct.Default {
		t.Errorf("the history says that the strategy was %q", h.Strategy)
	}
	text, err := os.ReadFile(filepath.Join(folder, "verdict.json"))
	if err != nil {
		t.Fatal(err)
	}
	var v verify.Verdict
	if err := json.Unmarshal(text, &v); err != nil {
		t.Fatal(err)
	}
	named := map[int64]bool{} // by answers; all orders but those that a busy machine refused
	for _, c := range h.Calls {
		if c.Order != 0 {
			named[c.Order] = true
		}
	}
	if v.Outcome != verify.Unknown || v.Violated() != nil || v.Orders < len(named) || v.Orders > h.Orders() ||
		v.Orders == 0 || v.Orders > 1000 {
		t.Errorf("%s; want the %d orders that answers named, of %d, and no violation", &v, len(named), h.Orders())
	}
}

// "loadtest fire | head" and "loadtest fire > /dev/full" are judged like any other run.
func TestARunIsJudgedIfNobodyReads(t *testing.T) {
	st := systemtest.Up(t, systemtest.Build(t), func(c *system.Config) { c.OrderServices, c.StockServices = 1, 1 })
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = full.Close() }()
	reader, closed, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = closed.Close() }()
	if err := reader.Close(); err != nil {
		t.Fatal(err)
	}
	type run struct {
		name           string
		stdout, stderr *os.File
		exit           int
	}
	// fire fires, and returns the verdict, or why there is none.
	fire := func(c run) (v verify.Verdict, err error) {
		folder := t.TempDir()
		cmd := exec.CommandContext(t.Context(), os.Args[0], "fire", "--orders", "50", "--concurrency", "8", "--out", folder)
		cmd.Env = append(append(os.Environ(), asCommand+"=1"), system.Assignments(st.LoadtestEnv())...)
		cmd.Stdout = c.stdout
		var said bytes.Buffer
		if cmd.Stderr = &said; c.stderr != nil {
			cmd.Stderr = c.stderr
		}
		failed := cmd.Run()
		text, err := os.ReadFile(filepath.Join(folder, "verdict.json"))
		if err == nil {
			err = json.Unmarshal(text, &v)
		}
		told := v.Outcome != verify.Unknown // else a machine stood still, and the exit code says so
		if told && (cmd.ProcessState == nil || cmd.ProcessState.ExitCode() != c.exit) {
			t.Errorf("%s: %v, %s; want exit code %d", c.name, failed, &said, c.exit)
		}
		return v, err
	}
	for _, c := range []run{
		{"closed", closed, nil, command.Passed},
		{"both closed", closed, closed, command.Passed},
		{"full", full, nil, command.Unknown},
	} {
		v, err := fire(c)
		for range 2 {
			if err == nil && v.Outcome == verify.Unknown {
				v, err = fire(c)
			}
		}
		if err != nil || v.Outcome != verify.Pass || v.Orders != 50 {
			t.Errorf("%s: %v, %s; want a pass on 50 orders", c.name, err, &v)
		}
	}

	// Something else than the service is found out before any order is sent.
	for name, value := range st.LoadtestEnv() {
		t.Setenv(name, value)
	}
	for _, url := range []string{
		st.Orders[0].URL() + "/v1", st.Stocks[0].URL(), "http://" + st.Redis.Addr(), "http://" + st.Orders[0].OpsAddr,
	} {
		for flag, service := range map[string]string{"--url": "order service", "--stock-url": "stock service"} {
			wrong := url
			if url == st.Stocks[0].URL() && flag == "--stock-url" {
				wrong = st.Orders[0].URL()
			}
			folder := t.TempDir()
			_, errs, exit := program(t.Context(), "fire", flag, wrong, "--out", folder)
			if want := wrong + " is not the address of an orderstock " + service; exit != command.Unknown ||
				!strings.Contains(errs, want) {
				t.Errorf("exit code %d, printed %q; want %d and %q", exit, errs, command.Unknown, want)
			}
			if left, err := os.ReadDir(folder); err != nil || len(left) > 0 {
				t.Errorf("%v, %v are left", left, err)
			}
		}
	}
}

func TestFireWithNothingUp(t *testing.T) {
	folder := earlierRun(t)
	began := time.Now()
	_, errs, exit := program(t.Context(), "fire", "--stock-url", "http://127.0.0.1:1", "--out", folder)
	if exit != command.Unknown || !strings.Contains(errs, "make up") {
		t.Errorf("exit code %d, printed %q; want %d and what to do", exit, errs, command.Unknown)
	}
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("reported after %s", took)
	}
	if left, err := os.ReadDir(folder); err != nil || len(left) > 0 {
		t.Errorf("%v, %v are left of an earlier run", left, err)
	}
}
