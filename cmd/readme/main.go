// Command readme fills the tables of README.md: from the code what the code
// knows, and from out/ what the last runs measured. Nobody copies them by hand.
package main

import (
	"errors"
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"orderstock/loadtest/readme"
	"orderstock/pkg/command"
)

func main() { command.Main(newCommand()) }

func newCommand() *cobra.Command {
	var root, out string
	cmd := &cobra.Command{
		Use:   "readme",
		Short: "Fill the tables of README.md",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			return fill(root, out)
		},
	}
	cmd.Flags().StringVar(&root, "root", ".", "folder of the module")
	cmd.Flags().StringVar(&out, "out", "out", "folder of the runs' results; what is not there stays as it is in the README")
	return cmd
}

// section is a table of the README.
type section struct {
	name string
	// text makes it; "" leaves what is there.
	text func(root, out string) (string, error)
}

var sections = []section{
	{"invariants", invariants},
	{"case-study-faults", caseStudyFaults},
	{"settings", settings},
	{"faults", faultMatrix},
	{"mutants", mutantTable},
	{"lock-bench", lockBench},
	{"ladder", ladderTables},
	{"long-runs", longRuns},
}

// fill fills all tables that it can, and tells which it could not.
func fill(root, out string) (err error) {
	for _, s := range sections {
		text, e := s.text(root, out)
		if e == nil && text != "" {
			e = readme.Set(filepath.Join(root, "README.md"), s.name, text)
		}
		if e != nil {
			err = errors.Join(err, fmt.Errorf("table %s: %w", s.name, e))
		}
	}
	return err
}
