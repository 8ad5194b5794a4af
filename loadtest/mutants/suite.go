package mutants

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"orderstock/loadtest/faults"
	"orderstock/loadtest/history"
	"orderstock/loadtest/lab"
	"orderstock/loadtest/verify"
)

// Config configures Execute. The zero value of a field means its default.
type Config struct {
	// Only, if not empty, is a part of the names of the rows to run.
	Only string
	// Tries is the number of seeds that an absorbed variant runs with. Default 3.
	Tries int
	// Changes is the number of random changes to the books and the answers of good runs. Default 24,000, or none if Only
	// is given.
	Changes int
	// Seed is the first seed of each row. Default 1.
	Seed uint64
	// Out is the folder for mutants.json. Default "out".
	Out string
	// Print gets each row when it is done. Default: discarded.
	Print io.Writer
}

// tries is the number of seeds for a mutant that must be caught: some need two orders to meet at the wrong moment.
const tries = 3

// Execute runs the mutants, writes the report to Out/mutants.json and returns it.
func Execute(ctx context.Context, cfg Config) (_ *Report, err error) {
	cfg.Out, cfg.Print = cmp.Or(cfg.Out, "out"), cmp.Or(cfg.Print, io.Discard)
	cfg.Tries = cmp.Or(max(cfg.Tries, 0), tries)
	dir, err := os.MkdirTemp("", "orderstock-mutants-")
	if err != nil {
		return nil, fmt.Errorf("execute mutants: %w", err)
	}
	defer func() { _ = os.RemoveAll(dir) }() // scratch
	bin := filepath.Join(dir, "bin")
	if err := lab.Build(ctx, bin, nil); err != nil {
		return nil, err
	}
	l, err := lab.Start(ctx, dir, bin)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, l.Close()) }()

	report := &Report{Rows: []Row{}}
	add := func(kind string, row Row, err error) error {
		if err != nil {
			return fmt.Errorf("mutant %q: %w", row.Mutant, err)
		}
		row.Kind = kind
		report.Rows = append(report.Rows, row)
		return row.print(cfg.Print)
	}
	for _, group := range []struct {
		kind    string
		mutants []Mutant
	}{{"mutant", mutants}, {"layer", layers}} {
		for _, m := range group.mutants {
			if strings.Contains(m.Name, cfg.Only) {
				row, err := m.run(ctx, l, max(cfg.Seed, 1), cfg.Tries)
				if err := add(group.kind, row, err); err != nil {
					return report, err
				}
			}
		}
	}
	if err := runInputs(ctx, l, cfg.Only, func(row Row, err error) error { return add("input", row, err) }); err != nil {
		return report, err
	}
	if cfg.Only == "" {
		if report.Changes, err = tryChanges(ctx, l, cmp.Or(cfg.Changes, 24_000)); err != nil {
			return report, err
		}
	}
	if err := report.Write(cfg.Print); err != nil {
		return report, err
	}
	return report, history.SaveJSON(filepath.Join(cfg.Out, "mutants.json"), report)
}

// run runs the mutant under its fault until it is caught, or has run with all its seeds.
func (m Mutant) run(ctx context.Context, l *lab.Lab, first uint64, seeds int) (Row, error) {
	row := Row{Mutant: m.Name, Expected: m.Expected, Cell: m.Cell}
	if m.AbsorbedBy != "" {
		row.Expected = "absorbed by " + m.AbsorbedBy
	} else {
		seeds = tries
	}
	proved := 0
	for seed := range uint64(seeds + 2) { // two more, for inconclusive runs
		if proved == seeds {
			break
		}
		broken, err := m.once(ctx, l, first+seed)
		if errors.Is(err, errProvesNothing) && ctx.Err() == nil {
			continue
		}
		if err != nil {
			return row, err
		}
		proved++
		for _, name := range broken {
			if !slices.Contains(row.Broken, name) {
				row.Broken = append(row.Broken, name)
			}
		}
		if m.AbsorbedBy != "" && len(row.Broken) > 0 || m.Expected != "" && slices.Contains(row.Broken, m.Expected) {
			break
		}
	}
	switch {
	case proved == 0:
		row.CaughtBy = "nothing: no run proved anything"
	case m.AbsorbedBy != "" && len(row.Broken) == 0:
		row.CaughtBy, row.OK = row.Expected, true
	default:
		row.conclude(m.Expected)
	}
	return row, nil
}

var errProvesNothing = errors.New("the run proves nothing")

// once runs the mutant under its fault and returns the invariants found broken.
func (m Mutant) once(ctx context.Context, l *lab.Lab, seed uint64) ([]string, error) {
	env := maps.Clone(faults.Env)
	env["MUTANT"] = m.Switches
	if m.Strict {
		env["CANCEL_AFTER"] = "15s"
	}
	maps.Copy(env, m.Env)
	if err := l.StartServices(ctx, cmp.Or(m.Strategy, "sequential"), env); err != nil {
		return nil, err
	}
	for _, statement := range m.Schema {
		if _, err := l.StockDB.ExecContext(ctx, statement); err != nil {
			return nil, fmt.Errorf("change schema: %w", err)
		}
	}
	if m.Probe != nil {
		return m.probe(ctx, l)
	}
	cell, ok := faults.Find(m.Cell)
	if !ok {
		return nil, fmt.Errorf("no cell %q", m.Cell)
	}
	cell.Outage = m.Outage
	load := m.Load
	if load.Orders == 0 {
		load = usual
	}
	run := faults.Once(ctx, l, cell, load, seed)
	broken := run.Broken
	if m.Strict && run.GivenUp > 0 {
		broken = append(broken, faults.NotGivenUp)
	}
	if run.Outcome == verify.Unknown && len(broken) == 0 {
		return nil, fmt.Errorf("%w: %s", errProvesNothing, strings.Join(run.Why, "; "))
	}
	return broken, nil
}

// probe fires a little traffic, runs the mutant's probe, and judges all of it.
func (m Mutant) probe(ctx context.Context, l *lab.Lab) ([]string, error) {
	h, err := littleTraffic(ctx, l)
	if err != nil {
		return nil, err
	}
	broken, err := m.Probe(ctx, l, h.Goods)
	if err != nil {
		return nil, err
	}
	v, err := verdict(ctx, l, h)
	if err != nil {
		return nil, err
	}
	return append(broken, v.Violated()...), nil
}
