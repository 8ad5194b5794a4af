package main

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"orderstock/pkg/command"
	"orderstock/pkg/servers"
)

// TestNoProgramLinksTheTests looks for test dependencies in the released programs.
func TestNoProgramLinksTheTests(t *testing.T) {
	t.Parallel()
	for _, tags := range []string{"nomsgpack", "nomsgpack,faults"} {
		out, err := exec.CommandContext(t.Context(), "go", "list", "-deps", "-tags", tags, "orderstock/cmd/...").Output()
		if err != nil {
			t.Fatal(err)
		}
		for dep := range strings.Lines(string(out)) {
			if dep = strings.TrimSpace(dep); dep == "testing" || dep == "go.uber.org/goleak" {
				t.Errorf("with the tags %q the programs link %s", tags, dep)
			}
		}
	}
}

func TestRunPassesTheExitCodeOn(t *testing.T) {
	t.Parallel()
	err := run(t.Context(), append(os.Environ(), "CODE=7"), "sh", "-c", "exit $CODE")
	if exit, ok := errors.AsType[*command.ExitError](err); !ok || exit.Code != 7 {
		t.Errorf("run of a program that exits with 7: %v", err)
	}
	if err := run(t.Context(), nil, "true"); err != nil {
		t.Error(err)
	}
	if err := run(t.Context(), nil, "no-such-program"); err == nil {
		t.Error("a program that is not there is no error")
	}
}

// TestRunInterruptsTheWholeGroup ends the context while a program waits for
// its child, as go test does for a test program.
func TestRunInterruptsTheWholeGroup(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	var begin time.Time
	go func() {
		awaitFile(filepath.Join(dir, "ready"))
		begin = time.Now()
		cancel()
	}()
	err := run(ctx, append(os.Environ(), "D="+dir), "sh", "-c", `trap ": >$D/outer; exit 3" INT; `+
		`sh -c 'trap ": >$D/inner; exit 0" INT; : >$D/ready; while :; do sleep 0.02; done' & wait; wait`)
	<-ctx.Done()
	if exit, ok := errors.AsType[*command.ExitError](err); !ok || exit.Code != 3 {
		t.Errorf("error %v; want the program's exit code, 3", err)
	}
	if took := time.Since(begin); took > 10*time.Second {
		t.Errorf("took %s to end after an interrupt", took)
	}
	if _, err := os.Stat(filepath.Join(dir, "outer")); err != nil {
		t.Errorf("the program was not interrupted: %v", err)
	}
}

// A program may take its time after the first interrupt. A second one reaches it, too.
func TestRunPassesASecondInterruptOn(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		awaitFile(filepath.Join(dir, "ready"))
		cancel()
		awaitFile(filepath.Join(dir, "first"))
		_ = syscall.Kill(os.Getpid(), syscall.SIGINT) // run listens by now
	}()
	err := run(ctx, append(os.Environ(), "D="+dir), "sh", "-c",
		`trap 'trap "exit 4" INT; : >$D/first' INT; : >$D/ready; while :; do sleep 0.02; done`)
	if exit, ok := errors.AsType[*command.ExitError](err); !ok || exit.Code != 4 {
		t.Errorf("error %v; want the exit code after the second interrupt, 4", err)
	}
}

// A program that is deaf to interrupts is killed by the third one.
func TestRunKillsAtAThirdInterrupt(t *testing.T) {
	dir := t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	over := make(chan struct{})
	var interrupting sync.WaitGroup
	interrupting.Go(func() {
		awaitFile(filepath.Join(dir, "ready"))
		cancel()
		awaitFile(filepath.Join(dir, "deaf"))
		for { // run listens by now
			_ = syscall.Kill(os.Getpid(), syscall.SIGINT)
			select {
			case <-over:
				return
			case <-time.After(100 * time.Millisecond):
			}
		}
	})
	keep := make(chan os.Signal, 1) // the test program itself is not to end
	signal.Notify(keep, os.Interrupt)
	defer signal.Stop(keep)
	began := time.Now()
	err := run(ctx, append(os.Environ(), "D="+dir), "sh", "-c",
		`trap ': >$D/deaf' INT; : >$D/ready; while :; do sleep 0.02; done`)
	close(over)
	interrupting.Wait()
	if took := time.Since(began); err == nil || took > grace/2 {
		t.Errorf("ended after %s with %v; want it killed", took, err)
	}
}

// awaitFile waits until the file is there, for a minute at most.
func awaitFile(file string) {
	for range 6000 {
		if _, err := os.Stat(file); err == nil {
			return
		}
		time.Sleep(10 * time.Millisecond) // a poll of another process
	}
}

func TestLockTellsOfAHolder(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "run")
	if held, err := lockHeld(dir); err != nil || held {
		t.Fatalf("held before anybody took it: %t, %v", held, err)
	}
	f, free, err := lock(dir)
	if err != nil || !free {
		t.Fatal(free, err)
	}
	if held, err := lockHeld(dir); err != nil || !held {
		t.Errorf("held while it is: %t, %v", held, err)
	}
	s := state{Pid: 1, Env: map[string]string{"B": "2", "A": "1"}}
	if err := s.write(dir); err != nil {
		t.Fatal(err)
	}
	if got, err := readState(dir); err != nil || got.Env["A"] != "1" {
		t.Errorf("state reads %v, %v", got, err)
	}
	if env, err := os.ReadFile(envPath(dir)); err != nil || string(env) != "export A='1'\nexport B='2'\n" {
		t.Errorf("environment file %q, %v", env, err)
	}
	if err := forget(dir); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(envPath(dir)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the environment file is there after the stack was forgotten: %v", err)
	}
	if err := f.Unlock(); err != nil {
		t.Fatal(err)
	}
	if _, err := readState(dir); !errors.Is(err, errDown) {
		t.Errorf("state without a holder: %v; want errDown", err)
	}
}

// A killed service runs again, and stays stopped once the stack is stopped.
func TestAKilledServiceStartsAgain(t *testing.T) {
	t.Parallel()
	sleep := servers.Spec{Name: "stock-1", Path: "sleep", Args: []string{"60"}, Dir: t.TempDir()}
	s, err := servers.Start(t.Context(), sleep)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Kill() })
	ctx, stop := context.WithCancel(t.Context())
	said, began, ended := make(chan string, 1), make(chan int, 1), make(chan struct{})
	go func() {
		defer close(ended)
		revive(ctx, s, func(text string) { said <- text }, func() error { began <- s.Pid(); return nil })
	}()
	first := s.Pid()
	if err := syscall.Kill(first, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if text := <-said; text != "stock-1 has ended: starting it again" {
		t.Error(text)
	}
	if pid := <-began; pid == 0 || pid == first {
		t.Errorf("began as process %d, and was %d", pid, first)
	}
	stop()
	<-ended
	if err := s.Kill(); err != nil || s.Running() {
		t.Errorf("%v; running: %t", err, s.Running())
	}
}

func TestStatusHasALineForEach(t *testing.T) {
	t.Parallel()
	serve := func(status int) string {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) }))
		t.Cleanup(s.Close)
		return s.URL
	}
	well, dead := serve(http.StatusOK), httptest.NewServer(nil)
	dead.Close()
	ended := exec.CommandContext(t.Context(), "true")
	if err := ended.Run(); err != nil {
		t.Fatal(err)
	}
	self := os.Getpid()
	s := state{Programs: []program{
		{Name: "order-1", Pid: self, URL: well, Ops: "http://127.0.0.1:9"},
		{Name: "redis", Pid: self, Addr: strings.TrimPrefix(well, "http://")},
	}}
	var out strings.Builder
	if !s.print(t.Context(), &out) {
		t.Errorf("not ready:\n%s", out.String())
	}
	s.Programs = append(s.Programs, program{Name: "order-2", Pid: self, URL: serve(http.StatusServiceUnavailable)},
		program{Name: "stock-1", Pid: self, URL: dead.URL},
		program{Name: "stock-2", Pid: ended.Process.Pid, URL: well}) // a stranger answers
	if s.print(t.Context(), &out) {
		t.Errorf("ready:\n%s", out.String())
	}
	for _, want := range []string{
		`order-1 +ready +` + well + ` +http://127.0.0.1:9/metrics`, `redis +ready +127`,
		`order-2 +not ready +http`, `stock-1 +down +http`, `stock-2 +down +http`,
	} {
		if !regexp.MustCompile(`(?m)^` + want).MatchString(out.String()) {
			t.Errorf("no line like %q in\n%s", want, out.String())
		}
	}
}

// The services of "up" send spans to the console, unless the environment says otherwise.
func TestWhereSpansGo(t *testing.T) {
	page := program{URL: "http://127.0.0.1:8090", Token: "abc"}
	for _, name := range []string{
		"OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_TRACES_EXPORTER", "OTEL_SDK_DISABLED",
	} {
		t.Setenv(name, "")
	}
	want := map[string]string{
		"CONSOLE_OTLP_ENDPOINT": page.URL, "OTEL_EXPORTER_OTLP_HEADERS": "Authorization=Bearer%20abc",
	}
	if got := page.traced(); !maps.Equal(got, want) {
		t.Errorf("the services get %v, want %v", got, want)
	}
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:4318")
	if got := page.traced(); len(got) > 0 {
		t.Errorf("the services get %v in addition to the user's endpoint", got)
	}
}

// A wrong strategy is refused before anything starts.
func TestStrategyIsChecked(t *testing.T) {
	t.Parallel()
	cmd := newCommand()
	var stderr strings.Builder
	cmd.SetErr(&stderr)
	cmd.SetArgs([]string{"up", "--strategy", "groupde"})
	exit := command.Run(t.Context(), cmd)
	if exit != command.Misused || !strings.Contains(stderr.String(), "want one of") {
		t.Errorf("exit code %d, printed %q", exit, &stderr)
	}
}
