package judge_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"orderstock/loadtest/judge"
	"orderstock/loadtest/judge/shop"
	"orderstock/loadtest/system"
	"orderstock/loadtest/system/systemtest"
	"orderstock/loadtest/verify"
)

// Our own services pass in all phases, by the file in the folder example; without protection they do not.
func TestOurServices(t *testing.T) {
	t.Parallel()
	bin := systemtest.Build(t)
	for strategy, want := range map[string]verify.Outcome{"": verify.Pass, "unsafe": verify.Violation} {
		t.Run("strategy "+strategy, func(t *testing.T) {
			t.Parallel()
			st := systemtest.Up(t, bin, func(c *system.Config) { c.Strategy = strategy })
			cfg := judge.Config{File: example(t, st), Clients: 20}
			if strategy == "unsafe" {
				cfg.Phases, cfg.File.Settle = []string{judge.Together}, shop.Duration(3*time.Second)
			}
			r := run(t, cfg)
			if r.Outcome != want || want == verify.Pass && (r.Phases[3].Kills == 0 || r.Phases[4].Cancelled == 0) {
				t.Errorf("%s; want %s\n%s", r, want, text(r))
			}
		})
	}
}

// example returns the file for a stack, of which a killed service is started again by the test.
func example(t *testing.T, st *system.System) *shop.File {
	t.Helper()
	file, err := os.ReadFile(filepath.Join("example", "orderstock.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	env := st.LoadtestEnv()
	before, _, _ := strings.Cut(string(file), "service:")
	f := parse(t, t.TempDir(), strings.NewReplacer(
		"http://127.0.0.1:8080", st.Orders[0].URL(), "http://127.0.0.1:8081", st.Stocks[0].URL(),
		"{{env.SERVICE_TOKEN}}", env["SERVICE_TOKEN"],
		"{{env.VERIFY_STOCK_DSN}}", env["VERIFY_STOCK_DSN"], "{{env.VERIFY_ORDER_DSN}}", env["VERIFY_ORDER_DSN"],
	).Replace(before)+`service: {kill: "true", start: "true", ready: /readyz}`)
	f.Service.Kill, f.Service.Start = restarter(t, st.Orders[0])
	f.Settle = shop.Duration(time.Minute) // on a busy machine; what is right takes no longer than it needs
	return f
}

// restarter returns a command that kills the service, and one that waits for its next process: the test starts it.
func restarter(t *testing.T, s *system.Service) (kill, start string) {
	t.Helper()
	pid := filepath.Join(t.TempDir(), "pid")
	write := func() {
		err := os.WriteFile(pid+".new", []byte(strconv.Itoa(s.Pid())), 0o600)
		if err := errors.Join(err, os.Rename(pid+".new", pid)); err != nil {
			t.Error(err)
		}
	}
	write()
	ended := make(chan struct{})
	t.Cleanup(func() { <-ended })
	go func() {
		defer close(ended)
		for {
			select {
			case <-t.Context().Done():
				return
			case <-s.Done():
			}
			if t.Context().Err() != nil {
				return
			}
			if err := s.Launch(); err != nil {
				t.Error(err)
				return
			}
			write()
		}
	}()
	return fmt.Sprintf("cp %[1]s %[1]s.killed; kill -9 $(cat %[1]s)", pid),
		fmt.Sprintf("while cmp -s %[1]s %[1]s.killed; do sleep 0.01; done", pid)
}
