package main

import (
	"os"
	"os/exec"
	"regexp"
	"slices"
	"testing"
)

// TestTargetsDemandNoMoreThanTheyUse: a C compiler, a browser and the like are for tests.
func TestTargetsDemandNoMoreThanTheyUse(t *testing.T) {
	t.Parallel()
	const root = "../../.."
	makefile, err := os.ReadFile(root + "/Makefile")
	if err != nil {
		t.Fatal(err)
	}
	forTests := []string{"install", "test", "check", "test-console", "test-cluster"}
	targets := regexp.MustCompile(`(?m)^([a-z-]+):.*## `).FindAllSubmatch(makefile, -1)
	uses := map[string]int{}
	for _, target := range targets {
		name := string(target[1])
		cmd := exec.CommandContext(t.Context(), "make", "-n", name)
		cmd.Dir = root
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("make -n %s: %v", name, err)
		}
		if use := regexp.MustCompile(`cmd/dev/setup -for (\w+)`).FindSubmatch(out); use != nil {
			uses[string(use[1])]++
			if (string(use[1]) == "tests") != slices.Contains(forTests, name) {
				t.Errorf("make %s installs what %s need", name, use[1])
			}
		}
	}
	if uses["servers"] < 8 || uses["tests"] != len(forTests) {
		t.Errorf("the targets install for %v", uses)
	}
}
