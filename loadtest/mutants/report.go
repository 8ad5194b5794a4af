package mutants

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"orderstock/loadtest/mutants/changes"
)

// Row is a mutant and its outcome.
type Row struct {
	// Kind is mutant, layer, input or honest.
	Kind   string `json:"kind"`
	Mutant string `json:"mutant"`
	// Cell is the fault that exposed it.
	Cell string `json:"cell,omitempty"`
	// Expected is the invariant that must catch it, or "absorbed by …".
	Expected string `json:"expected"`
	// CaughtBy equals Expected if it did; otherwise it lists the invariants found broken, or is "nothing".
	CaughtBy string `json:"caught_by"`
	OK       bool   `json:"ok"`
	// Broken lists every invariant found broken.
	Broken []string `json:"broken,omitempty"`
}

// conclude says which of the broken invariants caught it: the expected one, if that is among them.
func (row *Row) conclude(expected string) {
	row.OK = slices.Contains(row.Broken, expected)
	switch {
	case row.OK:
		row.CaughtBy = expected
	case len(row.Broken) > 0:
		row.CaughtBy = strings.Join(row.Broken, ", ")
	default:
		row.CaughtBy = "nothing"
	}
}

// Report is the table of all mutants.
type Report struct {
	Rows []Row `json:"rows"`
	// Changes counts the random changes to good runs; nil if none were tried.
	Changes *changes.Counts `json:"changes,omitempty"`
}

// OK reports whether every mutant was caught, or absorbed, as expected, and no change was missed.
func (r *Report) OK() bool {
	for _, row := range r.Rows {
		if !row.OK {
			return false
		}
	}
	return len(r.Rows) > 0 && (r.Changes == nil || r.Changes.Misses == 0)
}

func (row Row) print(w io.Writer) error {
	verdict := "ok  "
	if !row.OK {
		verdict = "FAIL"
	}
	text := fmt.Sprintf("%s  %-7s %-46s %s", verdict, row.Kind, row.Mutant, row.CaughtBy)
	if !row.OK {
		text += ", expected " + row.Expected
	}
	_, err := fmt.Fprintln(w, text)
	return err
}

// Write prints the summary line.
func (r *Report) Write(w io.Writer) error {
	if r.Changes != nil {
		for _, missed := range r.Changes.Missed {
			_, _ = fmt.Fprintf(w, "FAIL  missed  %s\n", missed)
		}
		_, _ = fmt.Fprintln(w, "CHANGES:", r.Changes)
	}
	_, err := fmt.Fprintln(w, "MUTANTS:", r.Sheet().Sentence)
	return err
}
