package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// A failed installation is reported at once, and not when the compiler has ended.
func TestFailedInstallationEndsTheCompilation(t *testing.T) {
	path := t.TempDir()
	for name, script := range map[string]string{
		"apt-get": "echo no such mirror; exit 100",
		"go":      "exec /bin/sleep 60",
	} {
		if err := os.WriteFile(filepath.Join(path, name), []byte("#!/bin/sh\n"+script+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", path) // so that the servers are missing
	t.Chdir(t.TempDir())
	began := time.Now()
	err := setup(t.Context(), []string{"-for", "servers", "order-service"})
	if err == nil || strings.Contains(err.Error(), "build order-service") {
		t.Errorf("%v; want the error of the installation", err)
	}
	if took := time.Since(began); took > 30*time.Second {
		t.Errorf("it was reported after %s", took)
	}
}
