package faultpoint_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"orderstock/loadtest/faultpoint"
	"orderstock/pkg/servers"
	"orderstock/pkg/servers/serverstest"
)

// victim is a process built with the tag "faults" that passes commit/before at each GET /step.
type victim struct {
	t    *testing.T
	base string
	log  string
	cmd  *exec.Cmd
	done chan struct{} // closed when the process has ended
}

func buildVictim(t *testing.T) string {
	t.Helper()
	bin := filepath.Join(t.TempDir(), "victim")
	cmd := exec.CommandContext(t.Context(), "go", "build", "-tags", "nomsgpack,faults", "-o", bin, "./testdata/victim")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("build victim: %v\n%s", err, out)
	}
	return bin
}

func start(t *testing.T, bin string, env ...string) *victim {
	t.Helper()
	v := &victim{
		t: t, log: filepath.Join(t.TempDir(), "fired"), cmd: exec.CommandContext(t.Context(), bin),
		done: make(chan struct{}),
	}
	v.cmd.Env = append(append(os.Environ(), faultpoint.LogEnv+"="+v.log), env...)
	out, err := v.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := v.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	addr, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	v.base = "http://" + strings.TrimSpace(addr)
	go func() { _ = v.cmd.Wait(); close(v.done) }()
	t.Cleanup(func() { _ = v.cmd.Process.Kill(); <-v.done })
	return v
}

func (v *victim) arm(rule map[string]any) {
	v.t.Helper()
	body, err := json.Marshal([]map[string]any{rule})
	if err != nil {
		v.t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(v.t.Context(), http.MethodPut, v.base+"/faults", bytes.NewReader(body))
	if err != nil {
		v.t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		v.t.Fatal(err)
	}
	if err := resp.Body.Close(); err != nil || resp.StatusCode != http.StatusOK {
		v.t.Fatalf("arm: %s %v", resp.Status, err)
	}
}

// step passes the point once and returns the answer's code and body; 0 if the process did not answer before ctx ended.
func (v *victim) step(ctx context.Context) (int, string) {
	v.t.Helper()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, v.base+"/step", nil)
	if err != nil {
		return 0, err.Error()
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, err.Error()
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return 0, err.Error()
	}
	return resp.StatusCode, strings.TrimSpace(string(body))
}

// held passes the point once, waits until the condition holds there, and sees that the call is not answered. The
// channel gets the code of its answer.
func (v *victim) held(ctx context.Context, what string, is func() bool) <-chan int {
	v.t.Helper()
	answered := make(chan int, 1)
	go func() {
		code, _ := v.step(ctx)
		answered <- code
	}()
	serverstest.Eventually(v.t, what, is)
	select {
	case code := <-answered:
		v.t.Fatalf("%s, and answers %d", what, code)
	case <-time.After(300 * time.Millisecond):
	}
	return answered
}

// hasFired reports whether a rule has struck.
func (v *victim) hasFired() bool { return v.fired() != "" }

// passed counts the answers of the step.
func (v *victim) passed() (n int) {
	v.t.Helper()
	resp, err := http.Get(v.base + "/passed")
	if err == nil {
		_, err = fmt.Fscan(resp.Body, &n)
		err = errors.Join(err, resp.Body.Close())
	}
	if err != nil {
		v.t.Fatal(err)
	}
	return n
}

func (v *victim) fired() string {
	v.t.Helper()
	data, err := os.ReadFile(v.log)
	if err != nil && !os.IsNotExist(err) {
		v.t.Fatal(err)
	}
	return strings.TrimSpace(string(data))
}

// always returns the setting for what always happens before the commit.
func always(r faultpoint.Rule) string {
	r.Step, r.When = faultpoint.Commit, faultpoint.Before
	return faultpoint.AlwaysEnv + "=" + faultpoint.Always(r)[faultpoint.AlwaysEnv]
}

func TestActions(t *testing.T) {
	bin := buildVictim(t)

	t.Run("a slow point delays each arrival, whatever is armed", func(t *testing.T) {
		v := start(t, bin, always(faultpoint.Rule{Action: faultpoint.Delay, DelayMS: 200}))
		for _, want := range []int{http.StatusOK, http.StatusInternalServerError} {
			begin := time.Now()
			code, _ := v.step(t.Context())
			if took := time.Since(begin); took < 200*time.Millisecond || code != want {
				t.Errorf("answers %d after %v, want %d after 200 ms", code, took, want)
			}
			v.arm(map[string]any{"step": "commit", "when": "before", "action": "error"})
		}
	})

	t.Run("kill ends the process by SIGKILL and leaves a line behind", func(t *testing.T) {
		v := start(t, bin)
		v.arm(map[string]any{"step": "commit", "when": "before", "action": "kill", "skip": 1})
		if code, body := v.step(t.Context()); code != http.StatusOK {
			t.Fatalf("the skipped arrival answers %d %s", code, body)
		}
		if code, _ := v.step(t.Context()); code != 0 {
			t.Fatalf("the second arrival answers %d, want a dead process", code)
		}
		<-v.done
		if ws := v.cmd.ProcessState.Sys().(syscall.WaitStatus); !ws.Signaled() || ws.Signal() != syscall.SIGKILL {
			t.Errorf("ended by %v, want SIGKILL", v.cmd.ProcessState)
		}
		if got := v.fired(); got != "commit before kill" {
			t.Errorf("log says %q", got)
		}
	})

	t.Run("a process that was struck to die gives no more answers", func(t *testing.T) {
		kept := filepath.Join(t.TempDir(), "events")
		v := start(t, bin, faultpoint.EventsEnv+"="+kept)
		if err := syscall.Mkfifo(kept, 0o600); err != nil { // it writes its events there once there is a reader
			t.Fatal(err)
		}
		v.arm(map[string]any{"step": "commit", "when": "before", "action": "kill"})
		v.held(t.Context(), "the kill has struck", v.hasFired)
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		defer cancel()
		req, err := http.NewRequestWithContext(ctx, http.MethodDelete, v.base+"/faults", nil)
		if err != nil {
			t.Fatal(err)
		}
		if resp, err := http.DefaultClient.Do(req); err == nil {
			_ = resp.Body.Close()
			t.Error("it lets itself be disarmed, and dies then")
		}
		if _, err := os.ReadFile(kept); err != nil {
			t.Error(err)
		}
		<-v.done
	})

	t.Run("stop freezes the process until it is continued", func(t *testing.T) {
		v := start(t, bin)
		v.arm(map[string]any{"step": "commit", "when": "before", "action": "stop"})
		answered := v.held(t.Context(), "the process is stopped", servers.Group(v.cmd.Process.Pid).Paused)
		if err := v.cmd.Process.Signal(syscall.SIGCONT); err != nil {
			t.Fatal(err)
		}
		if code := <-answered; code != http.StatusOK {
			t.Errorf("after it was continued: %d", code)
		}
	})

	t.Run("error fails the step as often as requested", func(t *testing.T) {
		v := start(t, bin)
		v.arm(map[string]any{"step": "commit", "when": "before", "action": "error", "times": 2})
		for i, want := range []int{500, 500, 200} {
			if code, body := v.step(t.Context()); code != want {
				t.Errorf("arrival %d answers %d %s, want %d", i, code, body, want)
			}
		}
		if got := strings.Count(v.fired(), "commit before error"); got != 2 {
			t.Errorf("%d lines in the log, want 2", got)
		}
	})

	t.Run("another point is left alone", func(t *testing.T) {
		v := start(t, bin)
		v.arm(map[string]any{"step": "commit", "when": "after", "action": "error"})
		if code, body := v.step(t.Context()); code != http.StatusOK {
			t.Errorf("answers %d %s", code, body)
		}
	})

	t.Run("delay makes the step take longer", func(t *testing.T) {
		v := start(t, bin)
		v.arm(map[string]any{"step": "commit", "when": "before", "action": "delay", "delay_ms": 200})
		began := time.Now()
		if code, _ := v.step(t.Context()); code != http.StatusOK || time.Since(began) < 200*time.Millisecond {
			t.Errorf("answers %d after %s", code, time.Since(began))
		}
	})

	t.Run("a delay that outlasts its caller lets the step go on then", func(t *testing.T) {
		v := start(t, bin)
		v.arm(map[string]any{"step": "commit", "when": "before", "action": "delay", "delay_ms": 1, "outlast": true})
		ctx, giveUp := context.WithCancel(t.Context())
		defer giveUp()
		answered := v.held(ctx, "the step is delayed", v.hasFired)
		giveUp()
		<-answered
		serverstest.Eventually(t, "the step goes on", func() bool { return v.passed() == 1 })
	})

	t.Run("a hold lasts until the process has other rules", func(t *testing.T) {
		v := start(t, bin)
		v.arm(map[string]any{"step": "commit", "when": "before", "action": "hold", "delay_ms": 600_000})
		answered := v.held(t.Context(), "the step is held", v.hasFired)
		if code, _ := v.step(t.Context()); code != http.StatusOK || v.passed() != 1 {
			t.Errorf("another arrival is answered %d, and %d have passed, want it alone", code, v.passed())
		}
		v.arm(map[string]any{"step": "commit", "when": "after", "action": "error"})
		select {
		case code := <-answered:
			if code != http.StatusOK {
				t.Errorf("the one that was held is answered %d", code)
			}
		case <-time.After(20 * time.Second):
			t.Error("the one that was held is not let go")
		}
	})

	t.Run("a point holds each arrival until the next", func(t *testing.T) {
		v := start(t, bin, always(faultpoint.Rule{Action: faultpoint.Meet}))
		short, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		defer cancel()
		if code, body := v.step(short); code != 0 {
			t.Fatalf("lets a first arrival go: %d %s", code, body)
		}
		answers := make(chan int, 4)
		for range cap(answers) {
			go func() {
				code, _ := v.step(t.Context())
				answers <- code
			}()
		}
		for range cap(answers) {
			if code := <-answers; code != http.StatusOK {
				t.Errorf("one of four that meet by twos is answered %d", code)
			}
		}
	})

	t.Run("call notifies the harness before the step continues", func(t *testing.T) {
		var told atomic.Int32
		harness := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { told.Add(1) }))
		defer harness.Close()
		v := start(t, bin)
		v.arm(map[string]any{"step": "commit", "when": "before", "action": "call", "url": harness.URL})
		if code, body := v.step(t.Context()); code != http.StatusOK || told.Load() != 1 {
			t.Errorf("answers %d %s, harness called %d times", code, body, told.Load())
		}
	})
}

// TestEvents of a process have what was in hand, what struck, and for how long it was held. They outlive a kill from
// inside, and their times are the machine's, so that the events of two processes are in order.
func TestEvents(t *testing.T) {
	bin := buildVictim(t)
	kept := faultpoint.EventsEnv + "=" + filepath.Join(t.TempDir(), "events")
	v := start(t, bin, kept)
	pass := func(flag string) { _, _ = http.Get(v.base + "/step?flag=" + flag) } // the last one gets no answer
	pass("first")
	v.arm(map[string]any{"step": "commit", "when": "before", "action": "delay", "delay_ms": 200})
	pass("held")
	v.arm(map[string]any{"step": "commit", "when": "before", "action": "kill"})
	pass("killed")
	<-v.done
	v = start(t, bin, kept)
	pass("after")
	resp, err := http.Get(v.base + "/events")
	if err != nil {
		t.Fatal(err)
	}
	var events []faultpoint.Event
	if err := errors.Join(json.NewDecoder(resp.Body).Decode(&events), resp.Body.Close()); err != nil {
		t.Fatal(err)
	}
	var got []string
	for i, e := range events {
		got = append(got, fmt.Sprint(e.Step, " ", e.When, " ", e.Flag, " ", e.Action))
		if i > 0 && e.At <= events[i-1].At {
			t.Errorf("%+v comes after %+v", e, events[i-1])
		}
		if held := e.Held >= 200*time.Millisecond; held != (e.Flag == "held") {
			t.Errorf("%+v: held for %s", e, e.Held)
		}
	}
	want := []string{
		"commit before first ", "commit before held delay", "commit before killed kill", "commit before after ",
	}
	if !slices.Equal(got, want) {
		t.Errorf("the events are %q, want %q", got, want)
	}
}

// A release binary links nothing of the load tester, and so no kill point. The
// build with the tag does, which shows that this test can fail.
func TestReleaseBinariesHoldNoKillPoint(t *testing.T) {
	for _, service := range []string{"order-service", "stock-service"} {
		t.Run(service, func(t *testing.T) {
			if got := harness(t, service); len(got) != 0 {
				t.Errorf("the release binary links %v", got)
			}
			if !slices.Contains(harness(t, service, "-tags", "nomsgpack,faults"), "orderstock/loadtest/faultpoint") {
				t.Error("the build with the tag faults links no kill points")
			}
		})
	}
}

// harness lists the packages of the load tester that a service's binary links.
func harness(t *testing.T, service string, flags ...string) []string {
	t.Helper()
	args := append(append([]string{"list", "-deps"}, flags...), "orderstock/cmd/"+service)
	out, err := exec.CommandContext(t.Context(), "go", args...).Output()
	if err != nil {
		t.Fatalf("go %v: %v", args, err)
	}
	var found []string
	for path := range strings.Lines(string(out)) {
		if strings.HasPrefix(path, "orderstock/loadtest") {
			found = append(found, strings.TrimSpace(path))
		}
	}
	return found
}
