package programs_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"orderstock/pkg/servers/programs"
)

const root = "../../.."

// TestOneSetOfFlags: what compiles anything in this project does so with the same settings.
func TestOneSetOfFlags(t *testing.T) {
	t.Parallel()
	settings := regexp.MustCompile(`(GOFLAGS|CGO_ENABLED)\s*:?=\s*("[^"]*"|-.*|\S+)`)
	for _, file := range []string{"Makefile", "Dockerfile", ".ci/run"} {
		text, err := os.ReadFile(filepath.Join(root, file))
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]string{}
		for _, m := range settings.FindAllStringSubmatch(string(text), -1) {
			if _, twice := got[m[1]]; !twice { // a target of the Makefile may differ afterwards
				got[m[1]] = strings.ReplaceAll(strings.Trim(m[2], `"`), "$(TAGS)", "nomsgpack")
			}
		}
		if got["GOFLAGS"] != programs.Flags || "CGO_ENABLED="+got["CGO_ENABLED"] != programs.CGO {
			t.Errorf("%s compiles with %v; want GOFLAGS=%s and %s", file, got, programs.Flags, programs.CGO)
		}
	}
}

// module writes a module with one command, and returns its folder.
func module(t *testing.T, text string) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "cmd", "hello"), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"go.mod": "module hello\n\ngo 1.26\n", "cmd/hello/main.go": text} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestProgramsAreWrittenToBin(t *testing.T) {
	t.Parallel()
	dir := module(t, "package main\n\nfunc main() { println(1) }\n")
	for _, first := range []bool{true, false} {
		bin := filepath.Join(dir, fmt.Sprint(first))
		if err := programs.Compile(t.Context(), programs.Source{Root: dir, Bin: bin, First: first}, "hello"); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(filepath.Join(bin, "hello")); err != nil {
			t.Error(err)
		}
	}
}

func TestAnErrorHoldsTheCompilersWords(t *testing.T) {
	t.Parallel()
	dir := module(t, "package main\n\nfunc main() { undefined() }\n")
	for _, first := range []bool{true, false} {
		to := programs.Source{Root: dir, Bin: filepath.Join(dir, "bin"), First: first}
		err := programs.Compile(t.Context(), to, "hello")
		if err == nil || !strings.HasPrefix(err.Error(), "build hello: ") ||
			!strings.Contains(err.Error(), "undefined: undefined") {
			t.Errorf("error %v", err)
		}
		err = programs.Compile(t.Context(), to, "no-such-command")
		if err == nil || !strings.Contains(err.Error(), "no-such-command") {
			t.Errorf("a command that is not there: %v", err)
		}
	}
}
