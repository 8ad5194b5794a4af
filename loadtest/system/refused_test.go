package system_test

import (
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"orderstock/loadtest/system"
	"orderstock/pkg/servers/serverstest"
)

// TestUpIsRefused: nothing is left running of a stack that does not come up, and the error says why.
func TestUpIsRefused(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	errRoute := errors.New("no way there")
	for says, change := range map[string]func(*system.Config){
		`strategy "groupde"`: func(c *system.Config) { c.Strategy = "groupde" },
		"not a directory":    func(c *system.Config) { c.Dir = filepath.Join(file, "dir") },
		errRoute.Error(): func(c *system.Config) {
			c.Route = func(string, system.Addresses) (system.Addresses, error) { return system.Addresses{}, errRoute }
		},
	} {
		cfg := config(t)
		change(&cfg)
		if _, err := system.Open(t.Context(), cfg); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%v; want %q", err, says)
		}
	}
}

// TestNoMetrics: an invalid address, no answer, and any other answer are errors.
func TestNoMetrics(t *testing.T) {
	t.Parallel()
	for _, url := range []string{"http://[::1", "http://127.0.0.1:1/metrics", "http://" + serverstest.Redis(t).Addr()} {
		if m, err := system.Metrics(t.Context(), http.DefaultClient, url); err == nil {
			t.Errorf("%s has the metrics %v", url, m)
		}
	}
}

func TestModuleRootOutsideOfIt(t *testing.T) { // not parallel: it changes the folder
	t.Chdir(t.TempDir())
	if root, err := system.ModuleRoot(); err == nil || !strings.Contains(err.Error(), "inside the repository") {
		t.Errorf("%q, %v", root, err)
	}
}
