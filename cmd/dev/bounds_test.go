package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"

	"github.com/goccy/go-yaml"
)

// TestContainersAreBounded: each keeps a bounded log, and may open as many files as its server wants, but not more.
func TestContainersAreBounded(t *testing.T) {
	t.Parallel()
	front, err := os.ReadFile(filepath.Join(root, ".compose/haproxy.cfg"))
	if err != nil {
		t.Fatal(err)
	}
	global := regexp.MustCompile(`(?m)^global\n\s+maxconn (\d+)$`).FindSubmatch(front)
	if global == nil {
		t.Fatal("haproxy.cfg has no global maxconn")
	}
	connections, err := strconv.Atoi(string(global[1]))
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]bool{}
	for _, file := range []string{"docker-compose.yml", ".compose/cluster.yml"} {
		var compose struct {
			Services map[string]struct {
				Ulimits struct{ Nofile int }
				Logging struct{ Options map[string]string }
			}
		}
		text, err := os.ReadFile(filepath.Join(root, file))
		if err == nil {
			err = yaml.UnmarshalWithOptions(text, &compose, yaml.AllowDuplicateMapKey())
		}
		if err != nil {
			t.Fatal(err)
		}
		for name, s := range compose.Services {
			if known[name] { // the second file adds to it
				continue
			}
			known[name] = true
			if s.Logging.Options["max-size"] == "" || s.Logging.Options["max-file"] == "" {
				t.Errorf("%s: the log of %s has no bound", file, name)
			}
			// haproxy wants two for each connection, and some for its checks.
			if want := 2*connections + 100; s.Ulimits.Nofile < want {
				t.Errorf("%s: %s may open %d files, want %d", file, name, s.Ulimits.Nofile, want)
			}
		}
	}
	if len(known) < 15 {
		t.Errorf("the files have %d services", len(known))
	}
}
