package main

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"orderstock/pkg/command"
)

func TestSecretsAreRandomAndStay(t *testing.T) {
	t.Parallel()
	example, err := os.ReadFile("../../.env.example")
	if err != nil {
		t.Fatal(err)
	}
	write := func(root string) (exit int, said string) {
		var both bytes.Buffer
		cmd := newCommand()
		cmd.SetOut(&both)
		cmd.SetErr(&both)
		cmd.SetArgs([]string{"secrets", "--root", root})
		exit = command.Run(t.Context(), cmd)
		return exit, both.String()
	}
	var written []string
	values := map[string]bool{}
	for range 2 {
		root := t.TempDir()
		if err := os.WriteFile(filepath.Join(root, ".env.example"), example, 0o600); err != nil {
			t.Fatal(err)
		}
		if exit, said := write(root); exit != command.Passed {
			t.Fatalf("exit code %d: %s", exit, said)
		}
		path := filepath.Join(root, ".env")
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%v, %v; want it for its owner alone", info.Mode(), err)
		}
		for _, line := range regexp.MustCompile(`(?m)^\w+_(PASSWORD|TOKEN)=(.*)$`).FindAllStringSubmatch(string(text), -1) {
			if len(line[2]) < 20 || values[line[2]] {
				t.Errorf("%s is short, or was used before", line[0])
			}
			values[line[2]] = true
		}
		if !strings.Contains(string(text), "\nORDER_PORT=8080\n") {
			t.Errorf("other settings have changed: %s", text)
		}
		if exit, said := write(root); exit != command.Unknown || !strings.Contains(said, "is there already") {
			t.Errorf("a second time: exit code %d: %s", exit, said)
		}
		if again, err := os.ReadFile(path); err != nil || !bytes.Equal(again, text) {
			t.Errorf("a second time changed the secrets (%v)", err)
		}
		written = append(written, string(text))
	}
	if written[0] == written[1] || len(values) != 2*13 {
		t.Errorf("%d secrets, want 13 different ones each time", len(values)/2)
	}
}
