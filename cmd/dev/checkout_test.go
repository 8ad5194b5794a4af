package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestACheckoutForWindowsKeepsLineEnds: a carriage return breaks the scripts and the settings that containers read.
func TestACheckoutForWindowsKeepsLineEnds(t *testing.T) {
	t.Parallel()
	source, checkout := t.TempDir(), filepath.Join(t.TempDir(), "checkout")
	git := func(args ...string) {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), "git", args...)
		cmd.Dir = source
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	want := map[string][]byte{}
	for _, name := range []string{".gitattributes", ".compose/redis.sh", ".compose/sentinel.sh", ".compose/haproxy.cfg"} {
		text, err := os.ReadFile(filepath.Join("../..", name))
		if err != nil {
			t.Fatal(err)
		}
		want[name] = text
		if err := os.MkdirAll(filepath.Dir(filepath.Join(source, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(source, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	git("init", "-q")
	git("add", "-A")
	git("-c", "user.name=test", "-c", "user.email=test@localhost", "commit", "-qm", "files")
	git("-c", "core.autocrlf=true", "clone", "-q", source, checkout)
	for name, text := range want {
		if got, err := os.ReadFile(filepath.Join(checkout, name)); err != nil || !bytes.Equal(got, text) {
			t.Errorf("%s differs in the checkout: %v", name, err)
		}
	}
}

// TestContainersReadNoFileWithTheRightsOfTheCheckout: under umask 077 they exclude the container's user. So the compose
// files mount none, and the copies in images belong to that user.
func TestContainersReadNoFileWithTheRightsOfTheCheckout(t *testing.T) {
	t.Parallel()
	mount := regexp.MustCompile(`(?m)^ *- *["']?[.~/$][^ :]*:/.*|^ *(source|file): *[.~/$].*`)
	for _, file := range []string{"docker-compose.yml", ".compose/cluster.yml"} {
		text, err := os.ReadFile(filepath.Join("../..", file))
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range mount.FindAllString(string(text), -1) {
			t.Errorf("%s mounts a file: %s", file, found)
		}
	}
	files, err := filepath.Glob("../../.compose/*.Dockerfile")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d Dockerfiles: %v", len(files), err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			copies := strings.HasPrefix(line, "COPY ") || strings.HasPrefix(line, "ADD ")
			if copies && !strings.HasPrefix(line, "COPY --chown=") {
				t.Errorf("%s: %swant the owner who reads it", file, line)
			}
		}
	}
}
