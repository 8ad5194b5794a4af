// Package trial is the engine of every experiment: it fires a load, breaks something in the middle, heals it, waits
// until the orders have ended, and judges the databases.
//
// An Experiment is one row of a table; a Suite runs a table, and its Report has a Row for each. Kinds is the table of
// what can be broken. A run whose fault never struck, or that had no traffic while the fault was on, proves nothing:
// its outcome is unknown. Where there is only a load, a Trial is enough:
//
//	result, err := trial.On(stack, load).Run(ctx)
package trial

import (
	"cmp"
	"context"
	"errors"
	"path/filepath"
	"sync"
	"time"

	"orderstock/loadtest/fire"
	"orderstock/loadtest/history"
	"orderstock/loadtest/verify"
)

// Trial is one experiment. It is a value: only its acts have a state.
type Trial struct {
	// Load is fired.
	Load fire.Config
	// Acts break something during the load. All are healed before the load counts as over.
	Acts []Timed
	// Ready, if not nil, is called after each heal, unless the action has NoWait, and returns when the system serves
	// again.
	Ready func(ctx context.Context) error
	// Mend, if not nil, is called when the traffic has ended and the acts are healed. It heals what others broke.
	Mend func(ctx context.Context) error

	// Books are the databases to judge, with the time that orders get to end, as in verify.Config.
	Books verify.Config
	// Verify judges. Default: verify.Run.
	Verify func(context.Context, verify.Config) (*verify.Verdict, error)
	// Least is how many orders are sent before an act ends the load.
	Least int
	// Keep, if not "", is the folder for history.jsonl.
	Keep string
}

// Timed is an act and when it begins, from the first order.
type Timed struct {
	*Act
	// Action says when it begins, and what follows. Act does what the others of its fields describe.
	Action Action
	// Over, if not nil, reports that somebody else has healed it.
	Over func() bool
	// Watch, if not nil, is called at each of its moments but the last two.
	Watch func(context.Context, Moment) error
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

// System has the services and databases of a trial, such as a stack or a lab.
type System interface {
	Target() fire.Target
	Databases() verify.Databases
}

// On returns the trial that fires a load at a system and judges its databases.
func On(s System, load fire.Config) Trial {
	load.Target = s.Target()
	t := Trial{
		Load: load, Books: verify.Config{Databases: s.Databases(), Settle: time.Minute}, Verify: verify.Run,
	}
	if s, ok := s.(interface {
		Judge(context.Context, verify.Config) (*verify.Verdict, error)
	}); ok {
		t.Verify = s.Judge
	}
	return t
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

// Fire is the first half of Run. It returns when the last call is answered or given up, and all that the acts broke is
// healed. If ctx ends, the result has the calls until then, unless an act fails for that reason.
func (t Trial) Fire(ctx context.Context) (*Result, error) {
	r := &Result{Strikes: make([]Strike, len(t.Acts))}
	loadCtx, stop := context.WithCancel(ctx)
	defer stop()
	begun, ended := make(chan struct{}), make(chan struct{})
	t.Load.Observer = start{t.Load.Observer, begun}
	t.Load.Live = cmp.Or(t.Load.Live, &fire.Live{})
	var acting sync.WaitGroup
	var before <-chan struct{}                                  // closed when the last act that is armed alone is
	from, wave := (<-chan struct{})(begun), new(sync.WaitGroup) // the acts whose times count from the same moment
	for i, a := range t.Acts {
		after, armed := before, make(chan struct{})
		if a.Action.Then {
			from, wave = over(&acting, wave), new(sync.WaitGroup)
		}
		if i > 0 && (t.Acts[i-1].Action.AfterMS != a.Action.AfterMS || a.Action.Then) {
			after = nil
		}
		if before = after; a.Action.alone() {
			before = armed
		}
		begin, end := from, wave.Done
		wave.Add(1)
		acting.Go(func() {
			defer end()
			t.strike(ctx, a, &r.Strikes[i], begin, ended, after, sync.OnceFunc(func() { close(armed) }))
			failed := r.Strikes[i].Err != nil && !a.Action.Optional
			if failed || a.Action.EndsLoad && t.enough(loadCtx) {
				stop()
			}
		})
	}
	rest := sync.OnceValue(func() error {
		close(ended)
		acting.Wait()
		if t.Mend == nil {
			return nil
		}
		return t.Mend(context.WithoutCancel(ctx))
	})
	load := t.Load
	load.Disturbed = load.Disturbed || len(t.Acts) > 0
	load.Healed = func() bool { return rest() == nil && ctx.Err() == nil }
	var err error
	r.History, err = fire.Run(loadCtx, load)
	err = errors.Join(err, rest())
	for i, a := range t.Acts {
		if !a.Action.Optional {
			err = errors.Join(err, r.Strikes[i].Err)
		}
	}
	if err != nil {
		return nil, err
	}
	if t.Keep != "" {
		return r, r.History.Save(filepath.Join(t.Keep, "history.jsonl"))
	}
	return r, nil
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
func (t Trial) enough(ctx context.Context) bool {
	for t.Load.Live.Counts().Orders < int64(t.Least) && Sleep(ctx, 100*time.Millisecond) == nil {
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

// Judge is the second half of Run. It waits until the orders have ended, for a while, and judges.
func (t Trial) Judge(ctx context.Context, h *history.History) (*verify.Verdict, error) {
	books := t.Books
	books.History = h
	return t.Verify(ctx, books)
}

// strikeWithin bounds the wait for a strike.
const strikeWithin = 6 * time.Second

// ErrOver means that the load was over before an act began.
var ErrOver = errors.New("the load was over before anything broke")

// strike lets an act strike at its time, but not before after is closed, holds it, and heals it. It calls armed once.
// ended is closed when the load is over.
func (t Trial) strike(ctx context.Context, a Timed, s *Strike, begun, ended, after <-chan struct{}, armed func()) {
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
		if a.Watch != nil && s.Err == nil {
			s.Err = a.Watch(ctx, m)
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
	if t.Ready != nil && !a.Action.NoWait {
		s.Err = errors.Join(s.Err, t.Ready(ctx))
	}
	s.Healed = time.Now()
}

// await waits until the act has struck, for at most strikeWithin.
func (s *Strike) await(ctx context.Context, a Timed) {
	for limit := time.Now().Add(strikeWithin); ; {
		s.Fired, s.Unseen = a.Fired(ctx)
		if s.Fired > 0 || time.Now().After(limit) || a.over() || Sleep(ctx, 10*time.Millisecond) != nil {
			return
		}
	}
}

func (a Timed) over() bool { return a.Over != nil && a.Over() }

// hold waits for as long as the act lasts, or until somebody else heals it.
func hold(ctx context.Context, a Timed, ended <-chan struct{}) error {
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
