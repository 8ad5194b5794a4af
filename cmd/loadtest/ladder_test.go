package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"orderstock/loadtest/ladder"
	"orderstock/pkg/command"
)

// TestComparisonsOnRealServers makes the two comparisons of the default strategy with itself, for a moment each: with a
// console that watches, and with all orders traced.
// It takes 40 s: each starts three servers and four services.
func TestComparisonsOnRealServers(t *testing.T) {
	out := t.TempDir()
	for name, of := range map[string][]string{"watched": nil, "traced": {"--share", "1"}} {
		args := append([]string{
			"bench", "ladder", name, "--mysql", "local", "--pairs", "2", "--clients", "4", "--window", "2s",
			"--warmup", "500ms", "--out", out,
		}, of...)
		said, exit := execute(t, args...)
		data, err := os.ReadFile(filepath.Join(out, "ladder-"+name+".json"))
		if err != nil {
			t.Fatal(err)
		}
		var kept struct {
			Ratio ladder.Ratio `json:"ratio"`
		}
		if err := json.Unmarshal(data, &kept); err != nil {
			t.Fatal(err)
		}
		if exit != command.Passed || kept.Ratio.Value <= 0 || !strings.Contains(said, kept.Ratio.Name) {
			t.Errorf("%s: exit code %d, kept %+v, printed %q", name, exit, kept.Ratio, said)
		}
	}
}
