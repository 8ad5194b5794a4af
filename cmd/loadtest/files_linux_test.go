package main

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"

	"orderstock/loadtest/system"
	"orderstock/loadtest/system/systemtest"
	"orderstock/pkg/command"
)

// A client with file descriptors for a part of its connections proves nothing, and says so, unless it may raise its
// limit itself.
func TestTooFewFileDescriptors(t *testing.T) {
	st := systemtest.Up(t, systemtest.Build(t), func(c *system.Config) { c.OrderServices, c.StockServices = 1, 1 })
	fire := func(limited string, flags ...string) (exit int, output string) {
		t.Helper()
		self, err := os.Executable()
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		args := []string{"-c", limited + ` "$0" "$@"`, self, "fire", "--orders", "1000", "--out", t.TempDir()}
		cmd := exec.CommandContext(ctx, "sh", append(args, flags...)...)
		cmd.Env = append(append(os.Environ(), asCommand+"=1"), system.Assignments(st.LoadtestEnv())...)
		out, err := cmd.CombinedOutput()
		if failed, ok := errors.AsType[*exec.ExitError](err); ok {
			return failed.ExitCode(), string(out)
		} else if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		return command.Passed, string(out)
	}
	// A slow machine may have too little calm for a pass, but the client had all that it needed.
	exit, out := fire("ulimit -Sn 128; exec", "--concurrency", "500")
	if exit != command.Passed && exit != command.Unknown || strings.Contains(out, "ulimit -n") ||
		!strings.Contains(out, "orders=1000 ") {
		t.Errorf("with a low soft limit: exit code %d\n%s", exit, out)
	}
	hard := "ulimit -n 128; exec"
	if os.Geteuid() == 0 { // who could raise it
		if _, err := exec.LookPath("setpriv"); err != nil {
			t.Fatalf("%v: install util-linux", err)
		}
		hard += " setpriv --bounding-set=-sys_resource"
	}
	exit, out = fire(hard, "--concurrency", "1000")
	if exit != command.Unknown || !strings.Contains(out, "ulimit -n") {
		t.Errorf("with a low hard limit: exit code %d, want %d and what to raise\n%s", exit, command.Unknown, out)
	}
	// What never left the client is not repeated until its patience is over.
	if !regexp.MustCompile(`repeated=\d{1,4} `).MatchString(out) {
		t.Errorf("want fewer than 10,000 calls without an end, of 1000 orders\n%s", out)
	}
}
