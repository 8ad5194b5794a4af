package tables

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"sync"
	"time"

	"orderstock/loadtest/fire"
	"orderstock/loadtest/history"
	"orderstock/loadtest/report"
	"orderstock/loadtest/system"
	"orderstock/loadtest/trial"
	"orderstock/loadtest/verify"
)

// Player plays experiments on a system, one at a time, watches them, and keeps the record of each try. The exported
// functions are set before its first use, and may be called by several goroutines.
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
	// Show gets each part of a play that changes, by its name, as a trial.Watch does; a Run when a try begins, and a
	// Record when it is judged. A Sample or an Entry is added to those before.
	Show func(section string, value any)

	longest time.Duration // of a sale

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
	m := NewMeter()
	m.Enter(trial.Idle)
	p := &Player{Runs: kept, meter: m, Show: func(string, any) {}, longest: longestSale}
	p.Board = &trial.Board{
		System: at, SinceMS: p.sinceMS, Declared: func() []string { return nil }, Watch: p.watch,
	}
	return p, err
}

// Play plays all tries of an experiment and returns the record of the last. run describes the first try. A published
// fault that is too slow to show is played again with half of the buyers and the pieces, down to a quarter. Once ctx
// ends, no more orders are sent, and the run so far is judged.
func (p *Player) Play(ctx context.Context, e trial.Experiment, run Run) (*Record, error) {
	f, _ := Find(run.Fault) // none: it is never too slow
	for why := ""; ; {
		last, err := p.play(ctx, e, run, why)
		if err != nil || !last.slow || ctx.Err() != nil {
			return last, err
		}
		n := f.fewer(run.Buyers)
		if n == 0 {
			return last, nil
		}
		why = report.English.Sprintf("too slow to show it with %d buyers; trying %d", run.Buyers, n)
		load := f.Among(n).Load
		e.Load.Orders, e.Load.Mix.Stock = load.Orders, load.Mix.Stock
		run = run.of(e, 1, run.Seed)
	}
}

// play plays all tries with as many buyers. why, if not "", says why there are others than before.
func (p *Player) play(ctx context.Context, e trial.Experiment, run Run, why string) (last *Record, err error) {
	e.Services.Env = with(e.Services.Env, p.Env)
	e.Load.Progress, e.Load.Ended = p.Progress, func(e *fire.Event) { p.Meter().End(e) }
	e.Load.Begun = func(h *history.History) {
		p.Meter().Started(h)
		p.Say("run", "the first order is sent")
	}
	if run.Fault != "" {
		e.Load.Enough = func() bool { return p.Meter().Enough(p.longest) }
	}
	if p.Tracer != nil {
		if e.Load.Tracer, err = p.Tracer(run.TraceSample); err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, e.Load.Tracer.Close(context.WithoutCancel(ctx))) }()
	}
	var failed error
	_, err = trial.Suite{
		Table: "played", Experiments: []trial.Experiment{e}, FirstSeed: run.Seed, Board: p.Board,
		Watch: func(section string, value any) {
			switch v := value.(type) {
			case trial.Try:
				run = p.begin(run, v, why)
			case *trial.Result:
				kept, err := p.keep(ctx, v, e.Expect.Word(v.Outcome))
				last, failed = kept, errors.Join(failed, err)
			default:
				p.watch(section, value)
			}
		},
	}.Run(ctx)
	if err = errors.Join(err, failed); err != nil {
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

// watch takes what happens during a try, and passes it on.
func (p *Player) watch(section string, value any) {
	switch section {
	case "log":
		p.Say("fault", "%s", value)
	case "error":
		p.Say("error", "%s", value)
	case "phase":
		if value == trial.Settling {
			p.Say("run", "the last order is answered")
		}
		p.Meter().Enter(value.(trial.Phase))
		p.Show(section, value)
		if value == trial.Firing {
			p.Show("hero", Headline{"the sale begins", Running})
		}
	case "faults", "starting", "started":
		p.Show(section, value)
	}
}

// begin shows a try that begins, and returns its run. run is the one before or, of the first try, its own; why is why
// that one is made, if not "".
func (p *Player) begin(run Run, t trial.Try, why string) Run {
	if t.N > 1 {
		why = fmt.Sprintf("not caught with seed %d; trying another", run.Seed)
		run = run.of(t.Experiment, t.N, t.Seed)
	}
	m := NewMeter()
	m.Live = t.Experiment.Load.Live
	p.mu.Lock()
	p.run = run
	p.mu.Unlock()
	p.Restart(m)
	p.Show("run", run)
	p.Say("run", "%s", run)
	if why != "" {
		p.Say("run", "%s", why)
	}
	return run
}

// StartServices starts the system's services unmodified, unless a try has started its own.
func (p *Player) StartServices(ctx context.Context) error {
	e, _ := Custom{}.Play("", true)
	e.Services.Env = with(e.Services.Env, p.Env)
	return p.Board.Start(ctx, e.Services, false)
}

// keep shows the verdict of a run whose outcome goes by that word, and writes and returns its record.
func (p *Player) keep(ctx context.Context, of *trial.Result, word verify.Outcome) (*Record, error) {
	run, _ := p.Running()
	if ctx.Err() != nil {
		run.stopped = run.Orders
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	r, err := RecordOf(ctx, run, of.History, of.Verdict, p.Board.System.Databases())
	if err != nil {
		return nil, err
	}
	r.Run.Verdict = word
	f, _ := Find(run.Fault) // none in free play
	if r.Scene, err = p.sceneOf(ctx, f, run, of, r.Books); err != nil {
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
