package readme

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// The reading order names at most fifty files, in order, each with functions that are there.
func TestTheReadingOrderIsTrue(t *testing.T) {
	const folder = "../../../order-service"
	text, err := os.ReadFile(filepath.Join(folder, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, list, _ := strings.Cut(string(text), "## Reading order")
	list, _, _ = strings.Cut(list, "\n## ")
	entry := regexp.MustCompile("(?m)^[0-9]+\\. \\[`[^`]+`\\]\\(([^)]+)\\)([^:\n]*): .+$")
	seen := map[string]bool{}
	for _, found := range entry.FindAllStringSubmatch(list, -1) {
		file, functions := found[1], found[2]
		code, err := os.ReadFile(filepath.Join(folder, file))
		if err != nil || seen[file] {
			t.Errorf("%s: named twice, or %v", file, err)
		}
		seen[file] = true
		for _, name := range strings.FieldsFunc(functions, func(r rune) bool { return strings.ContainsRune("`, ", r) }) {
			if !regexp.MustCompile(`(?m)^func (\([^)]*\) )?` + name + `[\[(]`).Match(code) {
				t.Errorf("%s has no function %s", file, name)
			}
		}
	}
	lines := strings.Count(strings.TrimSpace(list), "\n") - 1 // without the sentence above the list
	if len(seen) < 20 || len(seen) > 50 || len(seen) != lines {
		t.Errorf("%d files are named in %d lines", len(seen), lines)
	}
}
