package tables

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"orderstock/loadtest/fire"
	"orderstock/loadtest/system"
	"orderstock/loadtest/trial"
)

// Player plays plans on a system, one at a time: it starts the services, fires, judges, tries further seeds, and keeps
// the record. The exported functions are set before its first use, and may be called by several goroutines.
type Player struct {
	Runs *Runs
	// Board has the acts of a run, and breaks and heals by hand.
	Board *trial.Board
	// Env is added to the environment of the services that are started.
	Env map[string]string
	// Progress, if not nil, gets a bar while orders are fired.
	Progress io.Writer
	// Tracer, if not nil, returns a tracer of that share of the calls.
	Tracer func(share float64) (*fire.Tracer, error)
	// Declared, if not nil, returns the flags and keys of orders that others have placed.
	Declared func() []string

	// Show gets each part of what goes on that changes, by its name: a Run when a try begins, a Record when it is judged.
	// A Sample or an Entry is added to those before.
	Show func(section string, value any)
	// Start is called to replace the services, which do does.
	Start func(ctx context.Context, v trial.Services, do func() error) error

	system  *system.System
	started bool // while no act is armed or healed

	mu    sync.Mutex
	meter *Meter // of the present or last try
	run   Run    // the same
	log   []Entry
	wrong bool // the books have disagreed
}

// NewPlayer returns a player that shows nothing, and keeps its records in the folder out. Each try starts the system's
// services, unless they run already. Nothing is broken there.
func NewPlayer(at *system.System, out string) (*Player, error) {
	kept, err := OpenRuns(filepath.Join(out, "runs"))
	p := &Player{
		system: at, Runs: kept, meter: &Meter{phase: trial.Idle},
		Declared: func() []string { return nil },
		Show:     func(string, any) {},
		Start:    func(_ context.Context, _ trial.Services, do func() error) error { return do() },
	}
	p.Board = &trial.Board{
		System: at, SinceMS: p.sinceMS, Say: p.Say, Show: func(all []trial.Shown) { p.Show("faults", all) },
	}
	return p, err
}

// Play plays all tries of a plan, and returns the record of the last. Once ctx ends, no more orders are sent, and the
// run so far is judged.
func (p *Player) Play(ctx context.Context, plan Plan) (last *Record, err error) {
	n := 0
	suite := trial.Suite{
		Table: "played", Experiments: []trial.Experiment{plan.Experiment}, FirstSeed: plan.Load.Mix.Seed, On: p.system,
		Show: p.show,
	}
	suite.Stage = &trial.Stage{
		Board: p.Board, Declared: p.Declared, Start: func(ctx context.Context, v trial.Services, do func() error) error {
			return p.replace(ctx, v, true, do)
		},
		Try: func(
			ctx context.Context, e trial.Experiment, seed uint64, do func(trial.Experiment) (*trial.Result, error),
		) (*trial.Result, error) {
			if n++; n > 1 {
				p.Say("run", "not caught with seed %s; trying another", plan.Run.Seed)
				plan = plan.Try(n, seed)
			}
			r, err := p.try(ctx, plan, do)
			if err == nil {
				last, err = p.keep(ctx, plan, r)
			}
			return r, err
		},
	}
	if _, err := suite.Run(ctx); err != nil {
		p.Show("hero", p.unjudged(ctx, err))
		return nil, err
	}
	if left := last.Run.Attempts - last.Run.Attempt; left > 0 && last.Run.Verdict == trial.NotCaught &&
		fire.Interrupted(ctx) {
		last.Verdict.CannotTell(fmt.Sprintf("interrupted, and %d more seeds were to be tried", left))
		last.Run.Verdict = last.Verdict.Outcome
		p.Show("record", last)
		return last, p.Runs.save(last)
	}
	return last, nil
}

// unjudged returns the headline of a run that ended with an error, and notes it in the log.
func (p *Player) unjudged(ctx context.Context, err error) Headline {
	m := p.Meter()
	m.Enter(trial.Idle)
	if _, sent := m.Since(); ctx.Err() != nil && !sent {
		p.Say("run", "stopped before an order was sent")
		return Headline{"stopped before an order was sent", notJudged}
	}
	p.Say("error", "%v", err)
	return Headline{"The run ended early: " + err.Error(), notJudged}
}

// try makes one run, from fresh services to the verdict.
func (p *Player) try(
	ctx context.Context, plan Plan, do func(trial.Experiment) (*trial.Result, error),
) (_ *trial.Result, err error) {
	m := NewMeter()
	p.mu.Lock()
	p.run = plan.Run
	p.mu.Unlock()
	m.begun = func() { p.Say("run", "the first order is sent") }
	p.Restart(m)
	p.Show("run", plan.Run)
	p.Say("run", "%s", plan.Run)
	e := plan.Experiment
	e.Services.Env = with(e.Services.Env, p.Env)
	e.Load.Begun, e.Load.Ended, e.Load.Live, e.Load.Progress = m.Started, m.End, &m.Live, p.Progress
	if p.Tracer != nil {
		tracer, failed := p.Tracer(plan.TraceSample)
		if failed != nil {
			return nil, failed
		}
		defer func() { err = errors.Join(err, tracer.Close(context.WithoutCancel(ctx))) }()
		e.Load.Tracer = tracer
	}
	r, err := do(e)
	if err == nil && r.Verdict == nil {
		err = errors.New(strings.Join(r.Why, "; "))
	}
	return r, err
}

// show passes on a section of the run in progress.
func (p *Player) show(section string, value any) {
	switch section {
	case "log":
		p.Say("fault", "%s", value)
	case "phase":
		if value == trial.Settling {
			p.Say("run", "the last order is answered")
		}
		p.Meter().Enter(value.(trial.Phase))
		p.Show(section, value)
		if value == trial.Firing {
			p.Show("hero", Headline{"the sale begins", Running})
		}
	}
}

// StartServices starts the system's services unmodified, unless a try has started its own.
func (p *Player) StartServices(ctx context.Context) error {
	v := Custom{}.Plan("", true).Services
	v.Env = with(v.Env, p.Env)
	return p.replace(ctx, v, false, func() error { return v.Start(ctx, p.system) })
}

// replace starts services on empty databases by do. It restarts dead servers first, and ends all faults. With again, it
// replaces services that run.
func (p *Player) replace(ctx context.Context, v trial.Services, again bool, do func() error) error {
	err := p.Board.Alone(func() error {
		if p.started && !again {
			return nil
		}
		p.started = true
		if err := p.system.RepairServers(ctx); err != nil {
			return err
		}
		p.Board.Clear()
		return p.Start(ctx, v, do)
	})
	if err != nil {
		return fmt.Errorf("start services: %w", err)
	}
	return nil
}

// keep shows the verdict, and writes and returns the record of the run.
func (p *Player) keep(ctx context.Context, plan Plan, of *trial.Result) (*Record, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	run, _ := p.Running()
	r, err := RecordOf(ctx, run, of.History, of.Verdict, p.system.Databases())
	if err != nil {
		return nil, err
	}
	r.Run.Verdict = plan.Expect.Word(of.Outcome)
	f, _ := Find(run.Fault) // none in free play
	if r.Scene, err = sceneOf(ctx, f, run.Variant, p.system, of.History, r.Books); err != nil {
		p.Say("error", "what happened is not known: %v", err)
	}
	p.Disagree(r.Books.Wrong)
	p.Say("verdict", "%s", of.Verdict)
	p.mu.Lock()
	r.Log = p.log
	p.mu.Unlock()
	r.Faults = p.Board.Acts()
	for _, s := range r.Faults {
		r.Run.Faults = append(r.Run.Faults, s.String())
	}
	r.Compare = p.Runs.compare(r.Run)
	if err := p.Runs.save(r); err != nil {
		return nil, err
	}
	p.Meter().Enter(trial.Idle)
	p.Show("record", r)
	return r, nil
}

// Meter returns the meter of the present or last run, which saw nothing if there was none.
func (p *Player) Meter() *Meter {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.meter
}

// Restart empties the log, whose times count from the meter's first order from now on.
func (p *Player) Restart(m *Meter) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.meter, p.log, p.wrong = m, []Entry{}, false
	p.Show("samples", []Sample{})
	p.Show("log", []Entry{})
}

// Running returns the run in progress, with the acts by hand so far in its command; false if there is none.
func (p *Player) Running() (Run, bool) {
	p.mu.Lock()
	run, phase := p.run, p.meter.Phase()
	p.mu.Unlock()
	if run.Fault == "" { // the command of a published fault takes no others
		run.Command += breakFlags(p.Board.ByHand())
	}
	return run, run.ID != "" && phase != trial.Idle && phase != Watching
}

// sinceMS returns the time since the run began.
func (p *Player) sinceMS() int64 {
	since, _ := p.Meter().Since()
	return since.Milliseconds()
}

// MostLines is how many lines a log keeps, the last ones.
const MostLines = 500

// Say adds a line to the log of events.
func (p *Player) Say(kind, format string, args ...any) {
	e := Entry{At: time.Now().UTC(), TMS: Millis(p.sinceMS()), Kind: kind, Text: fmt.Sprintf(format, args...)}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.log = append(p.log, e)
	p.log = p.log[max(0, len(p.log)-MostLines):]
	p.Show("log", e)
}

// Disagree notes in the log that the books disagree, the first time in a run; wrong is "" if they do not.
func (p *Player) Disagree(wrong string) {
	p.mu.Lock()
	first := wrong != "" && !p.wrong
	p.wrong = p.wrong || first
	p.mu.Unlock()
	if first {
		p.Say("books", "the books disagree: %s", wrong)
	}
}
