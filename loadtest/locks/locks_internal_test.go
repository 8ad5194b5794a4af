package locks

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"orderstock/loadtest/history"
	"orderstock/pkg/servers/serverstest"
)

// TestMain lets the test binary be the worker that Run starts, or a process that has started one.
func TestMain(m *testing.M) {
	if len(os.Args) == 3 && os.Args[1] == "parent" {
		p, err := Start(context.Background(), []string{os.Args[0], "worker"}, Worker{
			Lock: zklockLock, Servers: []string{os.Args[2]}, Goroutines: 1, Paths: 1,
		})
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(p.cmd.Process.Pid)
		<-p.ended
		return
	}
	if len(os.Args) == 3 && os.Args[1] == "worker" {
		if err := Work(context.Background(), os.Args[2], os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, "worker:", err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// measure measures every lock in one shape, in a longer window if a slow machine does too little in the first.
func measure(t *testing.T, shape string) *Result {
	t.Helper()
	for window := 600 * time.Millisecond; ; window *= 4 {
		result, err := Run(t.Context(), Config{
			Plan:    Plan{Locks: Names, Shapes: []string{shape}, Rounds: 1, Window: window, Warmup: 200 * time.Millisecond},
			Servers: serverstest.ZooKeeper(t).Addr(), Worker: []string{os.Args[0], "worker"}, Table: t.Output(),
			Progress: func(doing string) { t.Log(doing) },
		})
		if err != nil {
			t.Fatal(err)
		}
		few := func(r Row) bool { return r.PerSecond*window.Seconds() < 20 || r.P50 <= 0 }
		if 4*window > 10*time.Second || !slices.ContainsFunc(result.Rows, few) {
			return result
		}
	}
}

// TestRun measures every lock, Curator's too, for a moment, and reads the file.
// It takes 15 s: each of seven locks starts two processes.
func TestRun(t *testing.T) {
	result := measure(t, "2x4x1")
	out := filepath.Join(t.TempDir(), "out", "lock-bench.json")
	if err := history.SaveJSON(out, result); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	var file Result
	if err := json.Unmarshal(text, &file); err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, r := range file.Rows {
		names = append(names, r.Lock)
		if r.Processes != 2 || r.Contenders != 4 || r.Paths != 1 || r.PerSecond <= 0 || r.P50 <= 0 ||
			r.P99 < r.P50 || r.Processor <= 0 {
			t.Errorf("row %+v", r)
		}
		queued := r.Lock == noHandoffLock || r.Lock == clientLock || r.Lock == curatorLock
		if queued && (r.WakeupsPerRelease < 0.5 || r.WakeupsPerRelease > 1.1) {
			t.Errorf("%s: %.2f wake-ups for each release", r.Lock, r.WakeupsPerRelease)
		}
	}
	if !slices.Equal(names, Names) {
		t.Errorf("rows of %q", names)
	}
}

// TestLone measures how long one contender waits beside a crowd.
func TestLone(t *testing.T) {
	result := measure(t, "1+8x1ms")
	if len(result.Rows) != 3 {
		t.Errorf("rows of %d locks", len(result.Rows))
	}
	for _, r := range result.Rows {
		if r.Contenders != 9 || r.Hold != 1 || r.P50 <= 0 || r.Longest < r.P50 {
			t.Errorf("row %+v", r)
		}
	}
}

// A run that is interrupted returns what it has measured.
func TestInterruptedRun(t *testing.T) {
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	result, err := Run(ctx, Config{
		Plan:    Plan{Locks: []string{rawLock, clientLock}, Shapes: []string{"2x2x1"}, Rounds: 10_000, Window: time.Second},
		Servers: serverstest.ZooKeeper(t).Addr(), Worker: []string{os.Args[0], "worker"}, Table: t.Output(),
		Progress: func(doing string) {
			if strings.Contains(doing, "round 2 of 10000") {
				interrupt()
			}
		},
	})
	if !errors.Is(err, context.Canceled) || result == nil || len(result.Rows) != 2 {
		t.Fatalf("the result %+v, %v", result, err)
	}
	if result.Rows[0].PerSecond <= 0 && result.Rows[1].PerSecond <= 0 {
		t.Errorf("nothing was measured in a second: %+v", result.Rows)
	}
}

func TestPlan(t *testing.T) {
	for _, bad := range []string{
		"", "1", "1x1", "0x1x1", "2x3x1", "4x2x1", "1x1x0", "axbxc", "1+x1ms", "1+64", "1+8x0s",
	} {
		if s, err := parseShapes([]string{bad}); err == nil {
			t.Errorf("shape %q is %v", bad, s)
		}
	}
	if s, err := parseShapes([]string{"4x64x1"}); err != nil || s[0] != (shape{processes: 4, contenders: 64, paths: 1}) {
		t.Errorf("%v, %v", s, err)
	}
	if s, err := parseShapes([]string{"1+64x1ms"}); err != nil || !s[0].lone() || s[0].String() != "1+64x1ms" {
		t.Errorf("%v, %v", s, err)
	}
}

// TestWorkersDieWithTheirParent, also one that waits for a ZooKeeper, which dies at the same time, and not for orders.
func TestWorkersDieWithTheirParent(t *testing.T) {
	t.Parallel()
	silent, err := net.Listen("tcp", "127.0.0.1:0") // accepts connections, and no session
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = silent.Close() }()
	parent := exec.CommandContext(t.Context(), os.Args[0], "parent", silent.Addr().String())
	out, err := parent.StdoutPipe()
	if err == nil {
		err = parent.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	var pid int
	if _, err := fmt.Fscanln(out, &pid); err != nil {
		t.Fatal(err)
	}
	_, _ = parent.Process.Kill(), parent.Wait()
	// It is gone, or a zombie of a process 1 that waits for no child.
	over := func() bool {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		return err != nil || strings.Contains(string(stat), ") Z ")
	}
	for limit := time.Now().Add(10 * time.Second); !over(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(limit) {
			t.Errorf("the worker outlives its parent: %v", syscall.Kill(pid, syscall.SIGKILL))
			return
		}
	}
}
