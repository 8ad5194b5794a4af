package main

import (
	"io"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"orderstock/pkg/command/commandtest"
)

// TestDocumentedCommandLines are right, and the experiments that they name are there.
func TestDocumentedCommandLines(t *testing.T) {
	t.Parallel()
	program := func() *cobra.Command { return newCommand(io.Discard, io.Discard) }
	calls := commandtest.Check(t, "../..", program)
	if len(calls) < 20 {
		t.Errorf("%d command lines of loadtest are documented", len(calls))
	}
	for _, c := range calls {
		cmd, rest, err := program().Find(c.Args)
		if err != nil || cmd.ParseFlags(rest) != nil {
			continue // Check has said so
		}
		for _, name := range cmd.Flags().Args() {
			if cmd.Name() != "run" || strings.HasPrefix(name, "NAME") || name == "TABLE" {
				continue
			}
			if _, err := new(runConfig).named(name, false); err != nil {
				t.Errorf("%s: %v", c, err)
			}
		}
	}
}
