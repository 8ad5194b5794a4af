// Package readme fills the tables of the documents from the code and from the results of runs, so that nobody copies
// them by hand.
package readme

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"orderstock/loadtest/ladder"
	"orderstock/loadtest/locks"
	"orderstock/loadtest/tables"
	"orderstock/loadtest/texts"
	"orderstock/loadtest/trial"
)

// table is a part of a document between two marks: see Set.
type table struct {
	name string
	// file is the document, relative to the module.
	file string
	// text returns the table's text; "" keeps the present one.
	text func(sources) (string, error)
}

// sources are the inputs of the tables.
type sources struct {
	// root is the folder of the module, and out the folder of the results.
	root, out string
	// commit returns the module's newest commit at a time; "" if nobody knows.
	commit func(at time.Time) string
}

// all lists them.
var all = []table{
	{"invariants", loadtestDoc, invariants},
	{"case-study-faults", resultsDoc, caseStudyFaults},
	{"case-study-faults-zh", ".github/README.zh-CN.md", faultsIn(texts.Chinese())},
	{"settings", "cmd/README.md", settings},
	{"console", "README.md", console},
	{"tour", resultsDoc, sheet[tables.Pairs]("tour.json")},
	{"faults", resultsDoc, sheet[*trial.Report]("faults.json")},
	{"cluster-faults", resultsDoc, sheet[*trial.Report]("faults-cluster.json")},
	{"mutants", resultsDoc, sheet[*trial.Report]("mutants.json")},
	{"lock-bench", "pkg/zklock/README.md", sheet[*locks.Result]("lock-bench.json")},
	{"ladder", resultsDoc, sheet[*ladder.Result]("ladder.json")},
	{"compare", resultsDoc, sheet[*ladder.Result]("compare.json")},
}

const (
	loadtestDoc = "loadtest/README.md"
	resultsDoc  = "loadtest/RESULTS.md"
)

// Fill fills the tables of the module in the folder root, the faults' pages and the services' help texts. A table
// without results in the folder out stays as it is. Fill fills as many tables as it can, and returns an error that
// names the others.
func Fill(ctx context.Context, root, out string) (err error) {
	from := sources{root: root, out: out, commit: func(at time.Time) string { return newest(ctx, root, at) }}
	for _, t := range all {
		text, e := t.text(from)
		if e == nil && text != "" {
			e = Set(filepath.Join(root, t.file), t.name, text)
		}
		if e != nil {
			err = errors.Join(err, fmt.Errorf("table %s: %w", t.name, e))
		}
	}
	err = errors.Join(err, pages(root, out))
	for _, binary := range helps {
		text, e := help(root, binary)
		if e == nil {
			e = os.WriteFile(helpFile(root, binary), []byte(text), 0o644)
		}
		if e != nil {
			err = errors.Join(err, fmt.Errorf("help of %s: %w", binary, e))
		}
	}
	return err
}
