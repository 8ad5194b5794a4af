package trial

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
	"sync"

	"orderstock/loadtest/fire"
	"orderstock/loadtest/system"
	"orderstock/loadtest/verify"
)

// Suite runs a table of experiments. The zero value of a field means its default.
type Suite struct {
	// Table names the table: the result's file, and the folder for the evidence, are called so.
	Table       string
	Experiments []Experiment
	// Seeds is the number of runs of each, with the seeds FirstSeed and up. Those with several tries, and those with runs
	// that prove nothing, take more, in one row. Default 1.
	Seeds int
	// FirstSeed defaults to 1.
	FirstSeed uint64
	// Tries, if above 0, replaces those of the experiments that several seeds prove.
	Tries int
	// On, if not nil, is the system to run on. Default: a new one for each lane.
	On *system.System
	// Lanes is the number of systems that run in parallel. Default 1; a cluster has one.
	Lanes int
	// Out is the folder for Table/, with what runs leave behind that did not end as expected. Default "out".
	Out string
	// Print gets a line for each run as it ends. Default: discarded.
	Print io.Writer
	// Watch, if not nil, is called with what happens.
	Watch Watch
	// Board, if not nil, is where others may break and heal things during the runs. It has the system to run on.
	Board *Board
	// Turns, if above 0, lets the experiments run side by side, each on what Open returns for it, and take that many turns
	// in alternating order, all with FirstSeed, so that a drift of the machine affects all of them. Watch gets the rates
	// of each turn. TurnsBefore is the number of turns of an earlier suite that they continue.
	Turns, TurnsBefore int
	Open               func(ctx context.Context, e Experiment) (*Side, error)
}

// freshAfter is the number of runs after which the services start again with empty databases.
const freshAfter = 30

// job is an experiment with its first seed.
type job struct {
	Experiment
	seed uint64
}

// Run runs the experiments and returns the report. An error means that not all runs could be made, or that ctx ended;
// the report, if not nil, then covers the completed runs.
func (s Suite) Run(ctx context.Context) (*Report, error) {
	if s.Watch == nil {
		s.Watch = func(string, any) {}
	}
	if s.Turns > 0 {
		return s.takeTurns(ctx)
	}
	s.Seeds, s.FirstSeed, s.Lanes = max(s.Seeds, 1), max(s.FirstSeed, 1), max(s.Lanes, 1)
	s.Out, s.Print = cmp.Or(s.Out, "out"), cmp.Or(s.Print, io.Discard)
	if s.Board != nil {
		s.On = s.Board.System
	}
	cluster := slices.ContainsFunc(s.Experiments, func(e Experiment) bool { return e.Services.Cluster })
	if cluster || s.On != nil {
		s.Lanes = 1
	}
	dir, err := os.MkdirTemp("", "orderstock-trial-")
	if err != nil {
		return nil, fmt.Errorf("run %s: %w", s.Table, err)
	}
	defer func() { _ = os.RemoveAll(dir) }() // scratch: the evidence was copied to Out
	o := system.Config{Bin: filepath.Join(dir, "bin"), Breakable: true, Cluster: cluster}
	if s.On == nil {
		if err := o.Compile(ctx); err != nil {
			return nil, err
		}
	}
	todo := make(chan job, s.Seeds*len(s.Experiments))
	for seed := range uint64(s.Seeds) {
		for _, e := range s.Experiments {
			todo <- job{e, s.FirstSeed + seed}
		}
	}
	close(todo)
	var (
		progress = newProgress(s.Print, len(todo))
		errs     = make([]error, s.Lanes)
		working  sync.WaitGroup
	)
	for i := range s.Lanes {
		working.Go(func() {
			lane := &lane{suite: s, open: o, progress: progress, lab: s.On, dir: filepath.Join(dir, fmt.Sprint("lane-", i))}
			errs[i] = errors.Join(lane.work(ctx, todo), lane.close())
		})
	}
	working.Wait()
	if s.Board == nil {
		errs = append(errs, ctx.Err())
	}
	report, failed := newReport(s, progress), errors.Join(errs...)
	if failed != nil {
		report.Verdict = report.Verdict.Or(verify.Unknown)
	}
	return report, failed
}

// lane runs experiments one after the other in its own system.
type lane struct {
	suite    Suite
	open     system.Config
	progress *progress
	lab      *system.System
	dir      string   // for the systems
	opened   int      // systems
	since    int      // runs since the services started
	services Services // that run
}

// mostFailures is how many experiments in a row a lane may fail to run: a machine that cannot run any is not tried for
// hours.
const mostFailures = 3

// work runs experiments until there are none, ctx ends, or too many in a row could not be run. After one that could not
// be run it goes on with a new system. The error says which could not be run.
func (w *lane) work(ctx context.Context, todo <-chan job) (errs error) {
	failures := 0
	for j := range todo {
		if ctx.Err() != nil && w.suite.Board == nil {
			break
		}
		err := w.try(ctx, j)
		if err == nil {
			failures = 0
			continue
		}
		errs = errors.Join(errs, fmt.Errorf("run %s: %w", j.Name, err))
		if failures++; failures == mostFailures || ctx.Err() != nil {
			break
		}
		errs = errors.Join(errs, w.close())
		if w.lab = w.suite.On; w.lab != nil {
			w.since = freshAfter // its services start again
		}
	}
	return errs
}

// spareRuns is how many runs of an experiment that prove nothing may be replaced: a machine that stands still for two
// seconds can let a load be over before anything strikes.
const spareRuns = 2

// try runs an experiment until its seeds prove that it is as expected, or it is not. An experiment that is expected to
// break something is proved by the first run that does. A run that proves nothing is replaced by one with the next
// seed, unless somebody watches it on a Board and expects a pass.
func (w *lane) try(ctx context.Context, j job) error {
	tries := max(j.Tries, 1)
	if w.suite.Tries > 0 && j.Expect.Absorbed != "" {
		tries = w.suite.Tries
	}
	spare := spareRuns
	if j.Expect == (Expect{}) && w.suite.Board != nil {
		spare = 0
	}
	for seed := j.seed; tries > 0 && (seed == j.seed || ctx.Err() == nil); seed++ {
		if seed > j.seed {
			w.progress.oneMore()
		}
		e := j.Experiment
		e.Load.Live = cmp.Or(e.Load.Live, &fire.Live{})
		w.suite.Watch("try", Try{Experiment: e, Seed: seed, N: int(seed-j.seed) + 1})
		r, err := w.run(ctx, e, seed)
		nothing := r != nil && r.Outcome == verify.Unknown && len(r.Broken) == 0
		if r != nil { // also if its evidence could not be kept, or the servers not be repaired
			r.replaced = nothing && spare > 0 && err == nil && ctx.Err() == nil
			w.progress.add(j.Experiment, r)
		}
		if err != nil {
			return err
		}
		switch {
		case nothing:
			if spare--; spare < 0 {
				tries = 0
			}
		case j.Expect.Broken != "" && j.Expect.met(r.Broken), j.Expect.Absorbed != "" && len(r.Broken) > 0:
			return nil
		default:
			tries--
		}
	}
	return nil
}

// run runs an experiment on services as it wants them.
func (w *lane) run(ctx context.Context, e Experiment, seed uint64) (*Result, error) {
	if w.lab == nil {
		w.opened++
		w.open.Dir = filepath.Join(w.dir, fmt.Sprint(w.opened))
		l, err := system.Open(ctx, w.open)
		if err != nil {
			return nil, err
		}
		w.lab, w.since = l, freshAfter
	}
	if !w.lab.Attached() && (w.since >= freshAfter || !e.Services.shareable() || !e.Services.like(w.services)) {
		if err := w.start(ctx, e.Services); err != nil {
			return nil, err
		}
		w.since, w.services = 0, e.Services
	}
	if w.since++; !e.Services.shareable() {
		w.since = freshAfter
	}
	r := e.Run(ctx, w.lab, seed, w.suite.Watch, w.suite.Board)
	if r.Verdict != nil {
		w.suite.Watch("judged", r)
	}
	switch {
	case w.suite.Board != nil && r.Verdict == nil:
		return nil, errors.New(strings.Join(r.Why, "; "))
	case w.suite.Board != nil: // it is healed, and who watches keeps what he wants
		return r, nil
	}
	defer r.forget()
	if r.Outcome == verify.Pass {
		return r, nil
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	var err error
	if e.Expect == (Expect{}) && !w.lab.Attached() {
		err = keepEvidence(ctx, w.lab, r, filepath.Join(w.suite.Out, w.suite.Table))
	}
	w.since = freshAfter // the traces of a broken run must not be found again by the next
	return r, errors.Join(err, w.lab.RepairServers(ctx))
}

// start starts the services.
func (w *lane) start(ctx context.Context, v Services) error {
	if w.suite.Board == nil {
		return v.Start(ctx, w.lab)
	}
	return w.suite.Board.Start(ctx, v, true)
}

// shareable reports whether several runs may use the services, one after the other: they are the product's.
func (v Services) shareable() bool {
	return v.Mutants == "" && v.Schema == nil && !v.Fresh
}

// like reports whether the services are started in the same way as others that are shareable.
func (v Services) like(other Services) bool {
	return other.shareable() && v.Strategy == other.Strategy && v.Replicas == other.Replicas && v.Build == other.Build &&
		maps.Equal(v.Env, other.Env)
}

func (w *lane) close() error {
	if w.lab == nil || w.lab == w.suite.On {
		return nil
	}
	return w.lab.Close()
}
