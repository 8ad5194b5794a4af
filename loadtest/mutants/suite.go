package mutants

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"orderstock/loadtest/faults"
	"orderstock/loadtest/fire"
	"orderstock/loadtest/history"
	"orderstock/loadtest/mutants/changes"
	"orderstock/loadtest/system"
	"orderstock/loadtest/trial"
	"orderstock/loadtest/verify"
)

// Config configures Execute. The zero value of a field means its default.
type Config struct {
	// Only, if not empty, is a part of the names of the rows to run, with their kind before: "front: ".
	Only string
	// Tries is the number of seeds that an absorbed variant runs with. Default 3.
	Tries int
	// Changes is the number of random changes to the books and the answers of good runs. Default 24,000, or none if Only
	// is given.
	Changes int
	// Seed is the first seed of each row. Default 1.
	Seed uint64
	// Print gets each row when it is done. Default: discarded.
	Print io.Writer
}

// tries is the number of seeds for a mutant that must be caught: some need two orders to meet at the wrong moment.
const tries = 3

// Execute runs the mutants and returns the report. With an error, it has the rows before.
func Execute(ctx context.Context, cfg Config) (_ *Report, err error) {
	cfg.Print = cmp.Or(cfg.Print, io.Discard)
	cfg.Tries = cmp.Or(max(cfg.Tries, 0), tries)
	l, err := system.Open(ctx, system.Options{Breakable: true})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, l.Close()) }()

	report := &Report{Rows: []Row{}}
	for _, kind := range kinds {
		for _, m := range kind.mutants {
			if !strings.Contains(kind.name+": "+m.Name, cfg.Only) {
				continue
			}
			row, err := m.run(ctx, l, max(cfg.Seed, 1), cfg.Tries)
			if err != nil {
				return report, fmt.Errorf("mutant %q: %w", row.Mutant, err)
			}
			row.Kind = kind.name
			report.Rows = append(report.Rows, row)
			if err := row.print(cfg.Print); err != nil {
				return report, err
			}
		}
	}
	for _, s := range honest {
		if cfg.Only == "" || !strings.Contains(s.name(), cfg.Only) {
			continue // they take minutes: the nightly check asks for them
		}
		row, err := s.row(ctx, l, max(cfg.Seed, 1))
		if err != nil {
			return report, fmt.Errorf("%s: %w", row.Mutant, err)
		}
		report.Rows = append(report.Rows, row)
		if err := row.print(cfg.Print); err != nil {
			return report, err
		}
	}
	if cfg.Only == "" {
		if report.Changes, err = tryChanges(ctx, l, cmp.Or(cfg.Changes, 24_000)); err != nil {
			return report, err
		}
	}
	return report, report.Write(cfg.Print)
}

// run runs the mutant under its fault until it is caught, or has run with all its seeds.
func (m Mutant) run(ctx context.Context, l *system.System, first uint64, seeds int) (Row, error) {
	row := Row{Mutant: m.Name, Expected: m.Expected, Cell: m.Cell}
	switch {
	case m.AbsorbedBy != "":
		row.Expected = "absorbed by " + m.AbsorbedBy
	case m.Change != nil: // nothing meets by chance
		seeds = 1
	default:
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

// unhurried are the settings of a run in calm, where every call must get its end at once, on a busy machine, too.
var unhurried = map[string]string{
	"LOCK_TIMEOUT": "3s", "STOCK_TIMEOUT": "4s", "CONFIRM_BUDGET": "5s", "PENDING_LIMIT": "5s", "CANCEL_AFTER": "15s",
}

// once runs the mutant under its fault and returns the invariants found broken.
func (m Mutant) once(ctx context.Context, l *system.System, seed uint64) ([]string, error) {
	env := maps.Clone(faults.Env)
	if m.Cell == "" {
		maps.Copy(env, unhurried)
	}
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
	if m.Cell == "" {
		return m.calm(ctx, l, seed)
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

// calm runs the mutant without a fault: it fires the load, runs the mutant's probe or change, and judges all of it.
func (m Mutant) calm(ctx context.Context, l *system.System, seed uint64) (broken []string, err error) {
	load := m.Load
	if load.Orders == 0 {
		load = little
	}
	load.Timeout, load.Patience, load.Mix.Seed = 8*time.Second, 3*time.Second, cmp.Or(load.Mix.Seed, seed)
	t := trial.On(l, load)
	if m.Front != nil {
		var closeAll func()
		t.Load.Target, closeAll, err = before(t.Load.Target, m.Front)
		defer closeAll()
		if err != nil {
			return nil, err
		}
	}
	r, err := t.Fire(ctx)
	if err != nil {
		return nil, err
	}
	if m.Probe != nil {
		if broken, err = m.Probe(ctx, l, r.History.Goods); err != nil {
			return nil, err
		}
	}
	if m.Change != nil {
		if err := m.Change.apply(ctx, l, r.History); err != nil {
			return nil, err
		}
	}
	v, err := verdict(ctx, l, r.History)
	if err != nil {
		return nil, err
	}
	if load.Mix.Several > 0 && v.Unlocked > 0 {
		broken = append(broken, unlockedDeductions)
	}
	return append(broken, v.Violated()...), nil
}

// verdict returns the verdict on the run. An unknown one is an error.
func verdict(ctx context.Context, l *system.System, h *history.History) (*verify.Verdict, error) {
	t := trial.On(l, fire.Config{})
	t.Books.Settle = 2 * time.Second
	v, err := t.Judge(ctx, h)
	if err == nil && v.Outcome == verify.Unknown {
		err = fmt.Errorf("verdict unknown: %s", strings.Join(v.Reasons, "; "))
	}
	return v, err
}

// tryChanges records one run of each kind and tries changes to each.
func tryChanges(ctx context.Context, l *system.System, n int) (*changes.Counts, error) {
	all := &changes.Counts{Missed: []string{}}
	kinds := changes.Kinds()
	for _, kind := range kinds {
		if err := l.StartServices(ctx, "", faults.Env); err != nil {
			return nil, err
		}
		base, err := kind.Record(ctx, l, func(context.Context) error {
			return errors.Join(l.Stocks[1].Kill(), l.Orders[1].Kill())
		})
		if err != nil {
			return nil, err
		}
		counts, err := base.Run(1, n/len(kinds))
		if err != nil {
			return nil, err
		}
		all.Add(counts)
	}
	return all, nil
}
