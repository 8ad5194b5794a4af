package main

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// TestExampleOfTheEnvironment: a copy of .env.example changes nothing.
func TestExampleOfTheEnvironment(t *testing.T) {
	defaults := map[string]string{}
	for _, file := range []string{"../../docker-compose.yml", "../../.compose/cluster.yml"} {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile(`\$\{([A-Z_]+):?-([^}]*)\}`).FindAllStringSubmatch(string(text), -1) {
			defaults[m[1]] = m[2]
		}
		for _, m := range regexp.MustCompile(`(?m)^ +([A-Z_]+):$`).FindAllStringSubmatch(string(text), -1) {
			defaults[m[1]] = "" // taken from the environment
		}
	}
	text, err := os.ReadFile("../../.env.example")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		name, value, found := strings.Cut(strings.TrimSpace(line), "=")
		if !found || strings.HasPrefix(line, "#") {
			continue
		}
		if want, known := defaults[name]; !known || value != want {
			t.Errorf("%s=%s, and without it %q (read: %v)", name, value, want, known)
		}
	}
}

// TestATestGetsNoSettingOfTheShell, but the addresses of its servers.
func TestATestGetsNoSettingOfTheShell(t *testing.T) {
	t.Setenv("STOCK_URLS", "http://127.0.0.1:1")
	cmd := testCommand()
	cmd.SetArgs([]string{"--", "sh", "-c", `[ -z "$STOCK_URLS" ] && [ "$ORDERSTOCK_TEST_REDIS" ]`})
	if err := cmd.ExecuteContext(t.Context()); err != nil {
		t.Error(err)
	}
}
