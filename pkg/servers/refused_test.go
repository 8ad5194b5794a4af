package servers_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"orderstock/pkg/servers"
	"orderstock/pkg/servers/serverstest"
)

// TestAttachedServerIsNotOurs: a server that somebody else started is not stopped, paused or started here.
func TestAttachedServerIsNotOurs(t *testing.T) {
	t.Parallel()
	s := servers.AttachRedis("127.0.0.1:1")
	for name, do := range map[string]func() error{
		"stop": func() error { return s.Stop(t.Context()) }, "kill": s.Kill, "pause": s.Pause, "resume": s.Resume,
		"restart": func() error { return s.Restart(t.Context()) }, "launch": s.Launch,
		"await": func() error { return s.AwaitReady(t.Context()) },
	} {
		if err := do(); !errors.Is(err, servers.ErrAttached) {
			t.Errorf("%s: %v; want ErrAttached", name, err)
		}
	}
	if s.Done() != nil {
		t.Error("the end of an unknown process is reported")
	}
}

// TestFailedStarts: the error names the server, and says why.
func TestFailedStarts(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	below := filepath.Join(file, "dir")
	start := func(spec servers.Spec) error {
		_, err := servers.Start(t.Context(), spec)
		return err
	}
	for name, test := range map[string]struct {
		err  error
		says string
	}{
		"a folder below a file": {start(servers.Spec{Name: "it", Path: "/bin/true", Dir: below}), "start it: mkdir"},
		"no such program": {
			start(servers.Spec{Name: "it", Path: "/bin/no-such-program", Dir: t.TempDir()}), "start it: fork/exec",
		},
	} {
		if test.err == nil || !strings.Contains(test.err.Error(), test.says) {
			t.Errorf("%s: %v; want %q", name, test.err, test.says)
		}
	}
	if _, err := servers.StartRedis(t.Context(), servers.Options{Dir: below}); err == nil {
		t.Error("Redis started in a folder below a file")
	}
	if _, err := servers.StartZooKeeper(t.Context(), servers.Options{Dir: below}); err == nil {
		t.Error("ZooKeeper started in a folder below a file")
	}
}

// TestLaunch starts a process again without waiting for it, and waits later.
func TestLaunch(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	up := filepath.Join(dir, "up")
	s, err := servers.Start(t.Context(), servers.Spec{
		Name: "stubborn", Path: "/bin/bash", Dir: dir, Args: []string{"-c", "trap '' TERM; : >up; sleep 60"},
		Ready: func(context.Context) error { _, err := os.Stat(up); return err },
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Launch(); err == nil || !strings.Contains(err.Error(), "runs already") {
		t.Errorf("a second launch: %v", err)
	}
	if err := s.Kill(); err != nil {
		t.Fatal(err)
	}
	<-s.Done()
	if err := os.Remove(up); err != nil {
		t.Fatal(err)
	}
	if err := s.Launch(); err != nil {
		t.Fatal(err)
	}
	if err := s.AwaitReady(t.Context()); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if err := s.Stop(ctx); err == nil || !strings.Contains(err.Error(), "killed, as it did not end by itself") {
		t.Errorf("the stop of a process that does not end: %v", err)
	}
}

func TestVersion(t *testing.T) {
	t.Parallel()
	version, err := serverstest.MySQL(t).Version(t.Context())
	if err != nil || !strings.Contains(version, ".") {
		t.Errorf("%q, %v", version, err)
	}
}
