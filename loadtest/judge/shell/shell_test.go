package shell_test

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"orderstock/loadtest/judge/shell"
	"orderstock/pkg/servers"
)

func TestInputOutputAndErrors(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if out, err := shell.Run(t.Context(), dir, "cat; pwd; echo no >&2", "in\n"); err != nil || out != "in\n"+dir+"\n" {
		t.Errorf("printed %q, %v", out, err)
	}
	for line, want := range map[string]string{
		"echo out; echo err >&2; exit 3": "exit status 3: err", "echo out; exit 4": "exit status 4: out",
	} {
		if out, err := shell.Run(t.Context(), dir, line, ""); err == nil || err.Error() != want || out != "" {
			t.Errorf("%s: %q, %v; want %s", line, out, err, want)
		}
	}
}

// A command that leaves a process behind, as one that starts a server does, is over when it has ended itself.
func TestAProcessLeftBehindIsNotWaitedFor(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	out, err := shell.Run(ctx, dir, "sleep 600 & echo $!", "")
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(out))
	if err != nil || !servers.Group(pid).Alive() {
		t.Fatalf("%v; process %q was ended with the command", err, out)
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Error(err)
	}
}

// All processes of a command end with the context.
func TestTheProcessesEndWithTheContext(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	fifo := filepath.Join(dir, "alive")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		_, err := shell.Run(ctx, dir, "exec 3>alive; (sleep 600; true) & wait", "")
		ended <- err
	}()
	reader, err := os.Open(fifo) // returns once the command has it open
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	if err := <-ended; err == nil {
		t.Error("no error, although the context ended")
	}
	if _, err := reader.Read(make([]byte, 1)); err == nil { // the end of the file, once no process has it
		t.Error("the command wrote")
	}
}
