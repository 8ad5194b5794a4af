// Package trial is the engine of every experiment: it fires a load, breaks something in the middle, heals it, waits
// until the orders have ended, and judges the databases.
//
// An Experiment is one row of a table; a Suite runs a table, and its Report has a Row for each. Kinds is the table of
// what can be broken. A run whose fault never struck, or that had no traffic while the fault was on, proves nothing:
// its outcome is unknown.
package trial

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"orderstock/loadtest/fire"
	"orderstock/loadtest/system"
	"orderstock/loadtest/verify"
)

// Experiment is one row of any table: a cell of the fault matrix, a mutant, a rung of the ladder, a load of your own.
// It is a value that may run many times, also at once.
type Experiment struct {
	// Name is unique in all tables, and Group the part of its table.
	Name  string `json:"name" col:"Experiment"`
	Group string `json:"group" col:"Group"`

	// Services are the differences of the services from the product.
	Services Services `json:"-"`
	// Load is fired, with the seed of the run.
	Load fire.Config `json:"-"`
	// Several, if not empty, are the shares of orders of several products, which the seeds take in turn.
	Several []float64 `json:"-"`
	// Acts break the system. Acts of the same time are armed together, the acts on connections first.
	Acts []Action `json:"-"`
	// Ready returns when the system serves again after an act. Default: when every replica is ready.
	Ready func(ctx context.Context, r *Run) error `json:"-"`
	// Least is how many orders are sent before an act ends the load.
	Least int `json:"-"`
	// After is how long the load goes on after the heal of an act that ends it.
	After time.Duration `json:"-"`
	// Checks are made in their order, in addition to the verdict.
	Checks []Check `json:"-"`
	// Settle is how long orders may take to end, as in verify.Config. Default one minute.
	Settle time.Duration `json:"-"`

	// Expect is the expected outcome. The zero value is a pass.
	Expect Expect `json:"expect,omitzero" col:"Expected"`
	// Tries is the number of seeds that prove it, unless one is enough. Default 1.
	Tries int `json:"-"`
}

// Services are the differences of the services of an experiment from the product. The zero value is the product with
// its default strategy.
type Services struct {
	Strategy string
	// Replicas is the number of stock services. Default two, and three on a cluster.
	Replicas int
	// Build is the folder of another build's programs: see system.Config.
	Build string
	// Mutants are the patches and switches that are on, separated by commas.
	Mutants string
	Env     map[string]string
	// Schema are statements for the stock database, before the traffic.
	Schema []string
	// Fresh wants services that no run had before, and that none has after.
	Fresh bool
	// Cluster wants several servers of each kind.
	Cluster bool
}

// Config returns the services' part of the configuration of a system.
func (v Services) Config() system.Config {
	env := map[string]string{}
	maps.Copy(env, v.Env)
	if v.Mutants != "" {
		env["MUTANT"] = v.Mutants
	}
	return system.Config{
		Strategy: v.Strategy, StockServices: v.Replicas, Build: v.Build, OrderEnv: env, StockEnv: env,
	}
}

// Start starts the services on empty databases.
func (v Services) Start(ctx context.Context, s *system.System) error {
	if err := s.StartServices(ctx, v.Config()); err != nil {
		return err
	}
	for _, statement := range v.Schema {
		if _, err := s.StockDB.ExecContext(ctx, statement); err != nil {
			return fmt.Errorf("change schema: %w", err)
		}
	}
	return nil
}

// Expect is the expected outcome of an experiment. The zero value is a pass.
type Expect struct {
	// Broken is the requirement that must be found broken, or Anything.
	Broken string `json:"broken,omitempty"`
	// Absorbed is what makes up for the defect, so that nothing may be found broken.
	Absorbed string `json:"absorbed,omitempty"`
}

// Anything stands for any requirement.
const Anything = "anything"

// met reports whether what was expected is among the requirements found broken.
func (e Expect) met(broken []string) bool {
	if e.Broken == Anything {
		return len(broken) > 0
	}
	return slices.Contains(broken, e.Broken)
}

// NotCaught is the word for a run that passed although something had to be found broken.
const NotCaught verify.Outcome = "not caught this time"

// Word returns the outcome of a run, or NotCaught.
func (e Expect) Word(of verify.Outcome) verify.Outcome {
	if e.Broken != "" && of == verify.Pass {
		return NotCaught
	}
	return of
}

// Control is the layer that "absorbs" the defect of an experiment with nothing broken.
const Control = "nothing to absorb"

// String returns it in the words of a table.
func (e Expect) String() string {
	if e.Absorbed != "" {
		return "absorbed by " + e.Absorbed
	}
	return cmp.Or(e.Broken, string(verify.Pass))
}

// Phase is a phase of a run.
type Phase string

// The phases.
const (
	Starting Phase = "starting"
	Idle     Phase = "idle"
	Firing   Phase = "firing"
	Settling Phase = "settling"
	Judging  Phase = "judging"
)

// Watch is called with what happens in a suite: the name of a section of a page, and its value. Several goroutines may
// call it.
//
//	try       Try         a run begins
//	starting  Services    services are about to be replaced, on a Board
//	started   Started     they run, or do not start, on a Board
//	phase     Phase       of the run
//	act       string      an act is about to begin
//	faults    []Shown     all acts, when one changes, on a Board
//	log       string      a line for a log
//	error     string      the same, of what went wrong
//	judged    *Result     the run has a verdict
type Watch func(section string, value any)

// Started are services that run or, if Err is not nil, do not start.
type Started struct {
	Services Services
	Err      error
}

// Try is a run that begins. Its Load.Live counts its calls.
type Try struct {
	Experiment Experiment
	Seed       uint64
	N          int // of the experiment's tries, from 1
}

// Run runs the experiment once, on a system whose services run as it wants them. watch and board may be nil. The result
// is unknown, and says why, if the run proves nothing; it is never nil.
func (e Experiment) Run(ctx context.Context, s *system.System, seed uint64, watch Watch, board *Board) *Result {
	began, r := time.Now(), e.begin(s, seed, watch, board)
	if err := r.run(ctx); err != nil {
		r.fail(verify.Unknown, "%v", err)
	}
	r.Took = time.Since(began)
	return r.Result
}

// load returns the load of a run.
func (e Experiment) load(seed uint64) fire.Config {
	load := e.Load
	load.Mix.Seed = seed
	if n := len(e.Several); n > 0 {
		load.Mix.Several = e.Several[int((seed+uint64(n)-1)%uint64(n))]
	}
	return load
}

// Find returns the experiment of that name.
func Find(all []Experiment, name string) (Experiment, bool) {
	i := slices.IndexFunc(all, func(e Experiment) bool { return e.Name == name })
	if i < 0 {
		return Experiment{}, false
	}
	return all[i], true
}
