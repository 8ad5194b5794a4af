package catalogue

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"sync"
	"time"

	"orderstock/loadtest/history"
	"orderstock/loadtest/system"
	"orderstock/loadtest/trace"
	"orderstock/loadtest/trial"
	"orderstock/loadtest/verify"
)

// Player plays plans on a system, one at a time: it starts the services, fires, judges, tries further seeds, and keeps
// the record. The exported functions are set before its first use, and may be called by several goroutines.
type Player struct {
	Runs *Runs
	// Acts breaks and heals the lab.
	Acts *trial.Set
	// Env is added to the environment of the lab's services.
	Env map[string]string
	// Progress, if not nil, gets a bar while orders are fired.
	Progress io.Writer
	// Tracer, if not nil, returns a client that traces that share of the calls.
	Tracer func(share float64) (*trace.Client, error)
	// Declared, if not nil, returns the flags and keys of orders that others have placed.
	Declared func() []string

	// Show gets each part of what goes on that changes, by its name. A Sample or an Entry is added to those before.
	Show func(section string, value any)
	// Begin is called before each try, with its meter.
	Begin func(Run, *Meter)
	// Start is called to replace the lab's services, which do so.
	Start func(ctx context.Context, v trial.Services, do func() error) error

	at      trial.System
	lab     *system.System // at; nil for services that are not to be broken
	started bool           // while no act is armed or healed

	mu    sync.Mutex
	meter *Meter // of the present or last try
	log   []Entry
	wrong bool // the books have disagreed
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

// NewPlayer returns a player that shows nothing, and keeps its records in the folder out. A *system.System is its lab:
// each try starts its services. Other systems run, and nothing is broken there.
func NewPlayer(at trial.System, out string) (*Player, error) {
	kept, err := OpenRuns(filepath.Join(out, "runs"))
	p := &Player{
		at: at, Runs: kept, meter: NewMeter(),
		Declared: func() []string { return nil },
		Show:     func(string, any) {},
		Begin:    func(Run, *Meter) {},
		Start:    func(_ context.Context, _ trial.Services, do func() error) error { return do() },
	}
	p.lab, _ = at.(*system.System)
	p.Acts = &trial.Set{
		Lab: p.lab, SinceMS: p.sinceMS, Say: p.Say, Show: func(all []trial.Shown) { p.Show("faults", all) },
	}
	return p, err
}

// Play plays all tries of a plan, and returns the record of the last. run describes the first. Once ctx ends, no more
// orders are sent, and the run so far is judged.
func (p *Player) Play(ctx context.Context, plan Plan, run Run) (*Record, error) {
	for n := 1; ; n++ {
		if n > 1 {
			plan.Load.Mix.Seed++
			run = plan.Try(n)
		}
		r, err := p.try(ctx, plan, run)
		if err != nil {
			p.Show("hero", p.unjudged(ctx, err))
			return nil, err
		}
		if r.Verdict.Outcome == verify.Violation || n == plan.Tries {
			return r, nil
		}
		select {
		case <-ctx.Done():
			return r, nil
		default:
			p.Say("run", "not caught with seed %s; trying another", r.Run.Seed)
		}
	}
}

// unjudged returns the headline of a run that ended with an error, and notes it in the log.
func (p *Player) unjudged(ctx context.Context, err error) Headline {
	if _, sent := p.meter.Since(); ctx.Err() != nil && !sent {
		p.Say("run", "stopped before an order was sent")
		return Headline{"stopped before an order was sent", notJudged}
	}
	p.Say("error", "%v", err)
	return Headline{"The run ended early: " + err.Error(), notJudged}
}

// try makes one run, from fresh services to the verdict, and keeps its record.
func (p *Player) try(ctx context.Context, plan Plan, run Run) (*Record, error) {
	m := NewMeter()
	m.begun = func() { p.Say("run", "the first order is sent") }
	p.Restart(m)
	p.Begin(run, m)
	words := ""
	if plan.Side != "" {
		words = ", " + string(plan.Side)
	}
	p.Say("run", "%s%s, seed %s", run.Title, words, run.Seed)
	if p.lab != nil {
		if err := p.start(ctx, plan.Services, true); err != nil {
			return nil, err
		}
	}
	t := p.trial(plan, m)
	h, err := p.fire(ctx, plan, t)
	if err != nil {
		return nil, err
	}
	v, err := p.judge(ctx, plan, t, h)
	if err != nil {
		return nil, err
	}
	return p.keep(ctx, plan, run, h, v)
}

// StartServices starts the lab's services unmodified, unless a try has started its own.
func (p *Player) StartServices(ctx context.Context) error {
	return p.start(ctx, Own{}.Plan("", true).Services, false)
}

// start starts the lab's services on empty databases. It restarts dead servers first, and ends all
// faults. With again, it replaces services that run.
func (p *Player) start(ctx context.Context, v trial.Services, again bool) error {
	err := p.Acts.Alone(func() error {
		if p.started && !again {
			return nil
		}
		p.started = true
		if err := p.lab.RepairServers(ctx); err != nil {
			return err
		}
		p.Acts.Forget()
		v.Env = with(v.Env, p.Env)
		return p.Start(ctx, v, func() error { return v.Start(ctx, p.lab) })
	})
	if err != nil {
		return fmt.Errorf("start services: %w", err)
	}
	return nil
}

// trial returns the run as a trial: its load, what breaks during it, and the books to judge.
func (p *Player) trial(plan Plan, m *Meter) trial.Trial {
	t := trial.On(p.at, plan.Load)
	t.Load.Observer, t.Load.Live, t.Load.Progress = m, &m.Live, p.Progress
	t.Load.Disturbed = true // anything may be broken by hand, at any time
	t.Acts = p.acts(plan, m)
	t.Books.Settle = plan.Settle
	t.Books.Settled = func(time.Duration) { p.Show("phase", Judging) }
	if p.lab != nil {
		t.Mend = func(ctx context.Context) error {
			ctx, cancel := context.WithTimeout(ctx, time.Minute)
			defer cancel()
			return p.Acts.Heal(ctx)
		}
	}
	return t
}

// fire sends the orders while the plan's acts strike, and then heals them.
func (p *Player) fire(ctx context.Context, plan Plan, t trial.Trial) (_ *history.History, err error) {
	if p.Tracer != nil {
		client, err := p.Tracer(plan.TraceSample)
		if err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, client.Close(context.WithoutCancel(ctx))) }()
		t.Load.Tracer = client
	}
	p.Show("phase", Firing)
	p.Show("hero", Headline{"the sale begins", Running})
	r, err := t.Fire(ctx)
	if err != nil {
		return nil, err
	}
	for i := range t.Acts {
		p.sayStrike(t.Acts[i].Act, r.Strikes[i])
	}
	p.Say("run", "the last order is answered")
	return r.History, nil
}

// judge waits until every order has ended, reads everything and judges. A run that was stopped is judged, too.
func (p *Player) judge(ctx context.Context, plan Plan, t trial.Trial, h *history.History) (*verify.Verdict, error) {
	p.Show("phase", Settling)
	t.Books.Declared = p.Declared()
	if plan.Fault != nil && plan.Fault.MinusFive {
		t.Books.Declared = append(t.Books.Declared, minusFiveKey)
	}
	v, err := t.Judge(context.WithoutCancel(ctx), h)
	if err != nil {
		return nil, err
	}
	if plan.Fault != nil && plan.Fault.Demand != nil {
		found := plan.Fault.Demand(h, v)
		v.Invariants = append(v.Invariants, found)
		if found.Violations > 0 {
			v.Outcome = verify.Violation
		}
	}
	return v, nil
}

// keep shows the verdict, and writes and returns the record of the run.
func (p *Player) keep(
	ctx context.Context, plan Plan, run Run, h *history.History, v *verify.Verdict,
) (*Record, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	r, err := newRecord(ctx, run, h, v, p.at.Databases())
	if err != nil {
		return nil, err
	}
	if plan.missed(v.Outcome) {
		r.Run.Verdict = NotCaught
	}
	p.Disagree(r.Books.Wrong)
	p.Say("verdict", "%s", v)
	p.mu.Lock()
	r.Log = p.log
	p.mu.Unlock()
	r.Faults = p.Acts.Strikes()
	for _, s := range r.Faults {
		r.Run.Faults = append(r.Run.Faults, s.String())
	}
	r.Compare = p.Runs.compare(plan, v.OrdersPerS)
	if err := p.Runs.save(r); err != nil {
		return nil, err
	}
	p.Show("record", r)
	return r, nil
}

// Restart empties the log, whose times count from the meter's first order from now on.
func (p *Player) Restart(m *Meter) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.meter, p.log, p.wrong = m, []Entry{}, false
	p.Show("samples", []Sample{})
	p.Show("log", []Entry{})
}

// sinceMS returns the time since the run began.
func (p *Player) sinceMS() int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	since, _ := p.meter.Since()
	return since.Milliseconds()
}

// MostLines is how many lines a log keeps, the last ones.
const MostLines = 500

// Say adds a line to the log of events.
func (p *Player) Say(kind, format string, args ...any) {
	e := Entry{At: time.Now().UTC(), TMS: p.sinceMS(), Kind: kind, Text: fmt.Sprintf(format, args...)}
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
