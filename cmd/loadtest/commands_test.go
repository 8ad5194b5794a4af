package main

import (
	"io"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"orderstock/loadtest/tables"
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
		switch cmd.CommandPath() {
		case "loadtest run":
			for _, name := range cmd.Flags().Args() {
				if _, err := new(runConfig).named(name, false); err != nil && !strings.HasPrefix(name, "NAME") {
					t.Errorf("%s: %v", c, err)
				}
			}
		case "loadtest run mutants":
			only := cmd.Flags().Lookup("only").Value.String()
			if len(tables.Select(only)) == 0 {
				t.Errorf("%s: no mutant's name holds %q", c, only)
			}
		case "loadtest run faults":
			cell, _, _ := strings.Cut(cmd.Flags().Lookup("cell").Value.String(), "@")
			if _, found := tables.FindCell(cell); cell != "" && !found {
				t.Errorf("%s: no cell %q", c, cell)
			}
		}
	}
}
