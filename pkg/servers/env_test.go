package servers_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"orderstock/pkg/servers"
)

// TestNoSettingOfTheShellIsPassedOn, by its name or as the name of a file. The code names all settings in tags.
func TestNoSettingOfTheShellIsPassedOn(t *testing.T) {
	tag := regexp.MustCompile(`env:"([A-Z_0-9]+)`)
	names := []string{"MUTANT"}
	err := filepath.WalkDir("../..", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".go") {
			return err
		}
		text, err := os.ReadFile(path)
		for _, found := range tag.FindAllStringSubmatch(string(text), -1) {
			names = append(names, found[1])
		}
		return err
	})
	if err != nil || len(names) < 50 {
		t.Fatalf("%d settings: %v", len(names), err)
	}
	passed := []string{"ZOOKEEPER_HOME", servers.EnvMySQLD, servers.EnvTestMySQL}
	for _, name := range slices.Concat(names, passed) {
		t.Setenv(name, "the shell's")
		t.Setenv(name+"_FILE", "the shell's")
	}
	environment := servers.Environment("STOCK_URLS=ours")
	for _, name := range names {
		shared := strings.HasPrefix(name, "OTEL_") || name == "GOMAXPROCS"
		if slices.Contains(environment, name+"=the shell's") != shared {
			t.Errorf("%s: passed on is %v, want %v", name, !shared, shared)
		}
		if !shared && slices.Contains(environment, name+"_FILE=the shell's") {
			t.Errorf("%s_FILE is passed on", name)
		}
	}
	for _, name := range passed {
		if !slices.Contains(environment, name+"=the shell's") {
			t.Errorf("%s is not passed on", name)
		}
	}
	if !slices.Contains(environment, "STOCK_URLS=ours") {
		t.Error("the program's setting is missing")
	}
}
