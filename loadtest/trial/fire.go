package trial

import (
	"context"
	"errors"
	"sync"
	"time"

	"orderstock/loadtest/fire"
	"orderstock/loadtest/history"
	"orderstock/loadtest/system"
)

// timed is an act of a run.
type timed struct {
	*Act
	// Action says when it begins, and what follows. Act does what the others of its fields describe.
	Action Action
	// lapsed, if not nil, reports that somebody else has healed it.
	lapsed func() bool
	// watch is called at each of its moments; it may be nil.
	watch func(context.Context, Moment) error
}

// Moment is a moment of a run.
type Moment int

// The moments, in their order. The first five are an act's.
const (
	Intact  Moment = iota // nothing is broken yet
	Armed                 // the act may strike
	Broken                // the act has struck, or is no longer waited for
	Mending               // the act is about to be healed
	Mended                // it is healed, but the system may not be ready yet
	Sent                  // the last call is answered or given up
	Judged                // there is a verdict
)

// Strike is what became of an act.
type Strike struct {
	// Armed, Struck, Mended and Healed are when Arm was called, when the first strike was seen or no longer waited for,
	// when Heal returned, and when the system served again.
	Armed, Struck, Mended, Healed time.Time
	// Fired is how often it struck.
	Fired int
	// Unseen is the error that kept its strikes from being counted, if none was.
	Unseen error
	// Err is why the act failed, or ErrOver.
	Err error
}

// Fire is the first part of Run. The caller judges the result. It returns when the last call is answered or given up,
// and all that the acts broke is healed. If ctx ends, the result has the calls until then, unless an act fails for that
// reason.
func (e Experiment) Fire(ctx context.Context, s *system.System, seed uint64) (*Result, error) {
	r := e.begin(s, seed, nil, nil)
	return r.Result, r.fire(ctx)
}

func (r *Run) fire(ctx context.Context) error {
	r.Strikes = make([]Strike, len(r.acts))
	loadCtx, stop := context.WithCancel(ctx)
	defer stop()
	begun, ended := make(chan struct{}), make(chan struct{})
	load := r.load
	load.Observer, load.Disturbed = start{load.Observer, begun}, load.Disturbed || len(r.acts) > 0
	var acting sync.WaitGroup
	var before <-chan struct{}                                  // closed when the last act that is armed alone is
	from, wave := (<-chan struct{})(begun), new(sync.WaitGroup) // the acts whose times count from the same moment
	for i, a := range r.acts {
		after, armed := before, make(chan struct{})
		if a.Action.Then {
			from, wave = over(&acting, wave), new(sync.WaitGroup)
		}
		if i > 0 && (r.acts[i-1].Action.AfterMS != a.Action.AfterMS || a.Action.Then) {
			after = nil
		}
		if before = after; a.Action.alone() {
			before = armed
		}
		begin, end := from, wave.Done
		wave.Add(1)
		acting.Go(func() {
			defer end()
			r.strike(ctx, a, &r.Strikes[i], begin, ended, after, sync.OnceFunc(func() { close(armed) }))
			failed := r.Strikes[i].Err != nil && !a.Action.Optional
			if failed || a.Action.EndsLoad && r.enough(loadCtx) {
				stop()
			}
		})
	}
	rest := sync.OnceValue(func() error {
		close(ended)
		acting.Wait()
		if r.mend == nil {
			return nil
		}
		return r.mend(context.WithoutCancel(ctx))
	})
	load.Healed = func() bool { return rest() == nil && ctx.Err() == nil }
	var err error
	r.History, err = fire.Run(loadCtx, load)
	err = errors.Join(err, rest())
	for i, a := range r.acts {
		if !a.Action.Optional {
			err = errors.Join(err, r.Strikes[i].Err)
		}
	}
	return err
}

// over returns a channel that is closed when the acts are over.
func over(acting, acts *sync.WaitGroup) <-chan struct{} {
	all := make(chan struct{})
	acting.Go(func() {
		acts.Wait()
		close(all)
	})
	return all
}

// enough waits until the least number of orders is sent, and returns true.
func (r *Run) enough(ctx context.Context) bool {
	for r.Live.Counts().Orders < int64(r.Experiment.Least) && Sleep(ctx, 100*time.Millisecond) == nil {
	}
	return true
}

// start is an observer that closes begun before the first call. The one that it stands for may be nil.
type start struct {
	fire.Observer
	begun chan struct{}
}

// Started implements fire.Observer.
func (s start) Started(h *history.History) {
	if s.Observer != nil {
		s.Observer.Started(h)
	}
	close(s.begun)
}

// Begin implements fire.Observer.
func (s start) Begin(e *fire.Event) {
	if s.Observer != nil {
		s.Observer.Begin(e)
	}
}

// End implements fire.Observer.
func (s start) End(e *fire.Event) {
	if s.Observer != nil {
		s.Observer.End(e)
	}
}

// strikeWithin bounds the wait for a strike.
const strikeWithin = 6 * time.Second

// ErrOver means that the load was over before an act began.
var ErrOver = errors.New("the load was over before anything broke")

// strike lets an act strike at its time, but not before after is closed, holds it, and heals it. It calls armed once.
// ended is closed when the load is over.
func (r *Run) strike(ctx context.Context, a timed, s *Strike, begun, ended, after <-chan struct{}, armed func()) {
	defer armed()
	select {
	case <-begun:
	case <-ended:
		s.Err = ErrOver
		return
	}
	select {
	case <-time.After(time.Duration(a.Action.AfterMS) * time.Millisecond):
	case <-ended:
		s.Err = ErrOver
		return
	case <-ctx.Done():
		s.Err = context.Cause(ctx)
		return
	}
	if after != nil {
		<-after
	}
	watch := func(m Moment) {
		if a.watch != nil && s.Err == nil {
			s.Err = a.watch(ctx, m)
		}
	}
	watch(Intact)
	s.Armed = time.Now()
	if s.Err == nil {
		s.Err = a.Arm(ctx)
	}
	armed()
	watch(Armed)
	if s.Err == nil {
		s.await(ctx, a)
		s.Struck = time.Now()
		watch(Broken)
		s.Err = errors.Join(s.Err, hold(ctx, a, ended))
		watch(Mending)
		if n, err := a.Fired(ctx); err == nil { // the strikes while it was held count, too
			s.Fired = max(s.Fired, n)
		}
	}
	if ctx.Err() != nil { // a process that stays paused cannot be stopped
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
		defer cancel()
	}
	s.Err = errors.Join(s.Err, a.Heal(ctx))
	s.Mended = time.Now()
	watch(Mended)
	if r.ready != nil && !a.Action.NoWait {
		s.Err = errors.Join(s.Err, r.ready(ctx))
	}
	s.Healed = time.Now()
}

// await waits until the act has struck, for at most strikeWithin.
func (s *Strike) await(ctx context.Context, a timed) {
	for limit := time.Now().Add(strikeWithin); ; {
		s.Fired, s.Unseen = a.Fired(ctx)
		if s.Fired > 0 || time.Now().After(limit) || a.over() || Sleep(ctx, 10*time.Millisecond) != nil {
			return
		}
	}
}

func (a timed) over() bool { return a.lapsed != nil && a.lapsed() }

// hold waits for as long as the act lasts, or until somebody else heals it.
func hold(ctx context.Context, a timed, ended <-chan struct{}) error {
	var over <-chan time.Time
	if d := a.For; d != UntilOver {
		ended, over = nil, time.After(d)
	}
	look := time.NewTicker(100 * time.Millisecond)
	defer look.Stop()
	for {
		select {
		case <-over:
			return nil
		case <-ended:
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-look.C:
			if a.over() {
				return nil
			}
		}
	}
}
