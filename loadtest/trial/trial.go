// Package trial is the engine of every experiment: it fires a load, breaks something in the middle, heals it, waits
// until the orders have ended, and judges the databases.
//
//	result, err := trial.On(stack, load).Run(ctx)
package trial

import (
	"context"
	"errors"
	"path/filepath"
	"sync"
	"time"

	"orderstock/loadtest/fire"
	"orderstock/loadtest/history"
	"orderstock/loadtest/verify"
)

// Trial is one experiment. It is a value: only Break has a state.
type Trial struct {
	// Load is fired.
	Load fire.Config
	// Break, if not nil, is armed After the load has begun, and healed before the load counts as over.
	Break Act
	After time.Duration
	// Within bounds the wait for Break to strike. Default 6 s.
	Within time.Duration
	// Over, if not nil, is closed if Break is healed before its time.
	Over <-chan struct{}
	// Ready, if not nil, is called after the heal, and returns when the system serves again.
	Ready func(ctx context.Context) error
	// UntilHealed ends the load then. The load's own end is only a bound.
	UntilHealed bool
	// During, if not nil, runs during the load. ended is closed when the last call is answered or given up.
	During func(ctx context.Context, ended <-chan struct{})

	// Books are the databases to judge, with the time that orders get to end, as in verify.Config.
	Books verify.Config
	// Keep, if not "", is the folder for history.jsonl.
	Keep string
}

// Result is the outcome of a trial.
type Result struct {
	History *history.History
	Strike  Strike
	// Verdict is nil until the trial is judged.
	Verdict *verify.Verdict
}

// Strike is what became of Break.
type Strike struct {
	// Armed, Struck and Healed are when Arm was called, when the first strike was seen or no longer waited for, and when
	// the system served again.
	Armed, Struck, Healed time.Time
	// Fired is how often it struck.
	Fired int
	// Unseen is the error that kept its strikes from being counted, if none was.
	Unseen error
}

// System has the services and databases of a trial, such as a stack or a lab.
type System interface {
	Target() fire.Target
	Databases() verify.Databases
}

// On returns the trial that fires a load at a system and judges its databases.
func On(s System, load fire.Config) Trial {
	load.Target = s.Target()
	return Trial{Load: load, Books: verify.Config{Databases: s.Databases(), Settle: time.Minute}}
}

// Run fires and judges.
func (t Trial) Run(ctx context.Context) (*Result, error) {
	r, err := t.Fire(ctx)
	if err != nil {
		return nil, err
	}
	r.Verdict, err = t.Judge(ctx, r.History)
	return r, err
}

// Fire is the first half of Run. It returns when the last call is answered or given up, and what Break broke is healed.
// If ctx ends, the result has the calls until then, unless Break fails for that reason.
func (t Trial) Fire(ctx context.Context) (*Result, error) {
	r := &Result{}
	loadCtx, stop := context.WithCancel(ctx)
	defer stop()
	var (
		ended = make(chan struct{})
		aside sync.WaitGroup
		err   error // of Break
	)
	if t.During != nil {
		aside.Go(func() { t.During(ctx, ended) })
	}
	if t.Break != nil {
		aside.Go(func() {
			r.Strike, err = t.Disturb(ctx, ended)
			if t.UntilHealed {
				stop()
			}
		})
	}
	h, fireErr := fire.Run(loadCtx, t.Load)
	close(ended)
	aside.Wait()
	if err := errors.Join(err, fireErr); err != nil {
		return nil, err
	}
	r.History = h
	if t.Keep != "" {
		return r, h.Save(filepath.Join(t.Keep, "history.jsonl"))
	}
	return r, nil
}

// Judge is the second half of Run. It waits until the orders have ended, for a while, and judges.
func (t Trial) Judge(ctx context.Context, h *history.History) (*verify.Verdict, error) {
	books := t.Books
	books.History = h
	return verify.Run(ctx, books)
}

// strikeWithin is the default of Trial.Within.
const strikeWithin = 6 * time.Second

// ErrOver means that the load was over before Break was armed.
var ErrOver = errors.New("the load was over before anything broke")

// Disturb is the part of Fire that lets Break strike, holds it, and heals it, during a load that is fired elsewhere.
// ended is closed when the load is over.
func (t Trial) Disturb(ctx context.Context, ended <-chan struct{}) (s Strike, err error) {
	select {
	case <-time.After(t.After):
	case <-ended:
		return s, ErrOver
	case <-ctx.Done():
		return s, context.Cause(ctx)
	}
	s.Armed = time.Now()
	if err = t.Break.Arm(ctx); err == nil {
		t.awaitStrike(ctx, &s)
		s.Struck = time.Now()
		if err = t.sleep(ctx, t.Break.Hold()); errors.Is(err, errHealed) {
			err = nil
		}
		if n, countErr := t.Break.Fired(ctx); countErr == nil { // the strikes during Hold count, too
			s.Fired = max(s.Fired, n)
		}
	}
	if ctx.Err() != nil { // a process that stays paused cannot be stopped
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
		defer cancel()
	}
	err = errors.Join(err, t.Break.Heal(ctx))
	if t.Ready != nil {
		err = errors.Join(err, t.Ready(ctx))
	}
	s.Healed = time.Now()
	return s, err
}

// awaitStrike waits until Break has struck, for at most Within.
func (t Trial) awaitStrike(ctx context.Context, s *Strike) {
	within := t.Within
	if within == 0 {
		within = strikeWithin
	}
	for limit := time.Now().Add(within); ; {
		if s.Fired, s.Unseen = t.Break.Fired(ctx); s.Fired > 0 || time.Now().After(limit) {
			return
		}
		if t.sleep(ctx, 10*time.Millisecond) != nil {
			return
		}
	}
}

var errHealed = errors.New("healed by another")

// sleep is Sleep that ends with errHealed if Break is healed before its time.
func (t Trial) sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-t.Over:
		return errHealed
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(d):
		return nil
	}
}
