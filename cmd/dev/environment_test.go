package main

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
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

// TestComposeSaysTheStrategy to those that judge, as it does to the services: the verdict depends on it.
func TestComposeSaysTheStrategy(t *testing.T) {
	text, err := os.ReadFile("../../docker-compose.yml")
	if err != nil {
		t.Fatal(err)
	}
	var compose struct {
		Services map[string]struct {
			Environment map[string]any `yaml:"environment"`
		} `yaml:"services"`
	}
	if err := yaml.UnmarshalWithOptions(text, &compose, yaml.AllowDuplicateMapKey()); err != nil {
		t.Fatal(err)
	}
	want := compose.Services["stock-service"].Environment["STOCK_STRATEGY"]
	for _, judge := range []string{"loadtest", "console"} {
		if got := compose.Services[judge].Environment["STOCK_STRATEGY"]; got != want || want == nil {
			t.Errorf("%s has the strategy %v, the stock services have %v", judge, got, want)
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
