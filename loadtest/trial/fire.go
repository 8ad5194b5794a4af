package trial

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"time"

	"orderstock/loadtest/fire"
	"orderstock/loadtest/history"
)

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

// fire returns when the last call is answered or given up, and all that the acts broke is healed. If ctx ends, the
// result has the calls until then, unless an act fails for that reason.
func (r *Run) fire(ctx context.Context) error {
	loadCtx, endLoad := context.WithCancelCause(ctx)
	defer endLoad(nil)
	begun, ended := make(chan struct{}), make(chan struct{})
	load := r.load
	load.Breakable = load.Breakable || len(r.Acts) > 0 || r.board != nil
	load.Begun = func(h *history.History) {
		if r.load.Begun != nil {
			r.load.Begun(h)
		}
		close(begun)
	}
	var acting sync.WaitGroup
	var before <-chan struct{}                                  // closed when the last act that is armed first is
	from, wave := (<-chan struct{})(begun), new(sync.WaitGroup) // the acts whose times count from the same moment
	for i, a := range r.Acts {
		after, armed := before, make(chan struct{})
		if a.Action.Then {
			from, wave = whenOver(&acting, wave), new(sync.WaitGroup)
		}
		if i > 0 && (r.Acts[i-1].Action.AfterMS != a.Action.AfterMS || a.Action.Then) {
			after = nil
		}
		if before = after; a.Action.armedFirst() {
			before = armed
		}
		begin, end := from, wave.Done
		wave.Add(1)
		acting.Go(func() {
			defer end()
			r.act(ctx, a, begin, ended, after, sync.OnceFunc(func() { close(armed) }))
			failed := a.Err != nil && !r.optional(a)
			if failed || a.Action.EndsLoad && r.enough(loadCtx) {
				endLoad(fire.ErrStopped)
			}
		})
	}
	rest := sync.OnceValue(func() error {
		close(ended)
		acting.Wait()
		if r.mend == nil {
			return nil
		}
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
		defer cancel()
		return r.mend(ctx)
	})
	load.Healed = func() bool { return rest() == nil && ctx.Err() == nil }
	var err error
	r.History, err = fire.Run(loadCtx, load)
	err = errors.Join(err, rest())
	r.noteActs()
	for _, a := range r.Acts {
		if !r.optional(a) {
			err = errors.Join(err, a.Err)
		}
	}
	return err
}

// noteActs notes in the history when the acts, also those by hand, broke something, and how long the acts of earlier
// runs on the same services lasted in this one.
func (r *Run) noteActs() {
	h := r.History
	if h == nil {
		return
	}
	if left := r.System.Shaken.Sub(h.Started); left > 0 {
		h.Acts = append(h.Acts, history.Act{Cause: "acts of earlier runs", To: left})
	}
	note := func(a Action, from, to time.Duration) {
		if a.silences() {
			to += r.System.SessionTimeout()
		}
		from = max(from, 0)
		to = max(from, to)
		h.Acts = append(h.Acts, history.Act{Cause: a.Words(), From: from, To: to})
		if end := h.Started.Add(to); end.After(r.System.Shaken) {
			r.System.Shaken = end
		}
	}
	for _, a := range r.Acts {
		switch {
		case a.Armed.IsZero() || a.Action.Action == Nothing:
		case len(a.Action.Reach) > 0: // its rules fail steps from the first order on
			note(a.Action, 0, a.Healed.Sub(r.History.Started))
		default:
			note(a.Action, a.begun().Sub(r.History.Started), a.Healed.Sub(r.History.Started))
		}
	}
	if r.board == nil {
		return
	}
	for _, s := range r.board.Acts() {
		if s.ByHand {
			healed := cmp.Or(time.Duration(s.HealedMS)*time.Millisecond, time.Since(r.History.Started))
			note(s.act.Action, time.Duration(s.ArmedMS)*time.Millisecond, healed)
		}
	}
}

// whenOver returns a channel that is closed when the acts are over.
func whenOver(acting, acts *sync.WaitGroup) <-chan struct{} {
	all := make(chan struct{})
	acting.Go(func() {
		acts.Wait()
		close(all)
	})
	return all
}

// enough waits for as long as the load goes on after an act, and until the least number of orders is sent. It returns
// true.
func (r *Run) enough(ctx context.Context) bool {
	_ = Sleep(ctx, r.Experiment.After) // or until the run is stopped
	for r.Live.Counts().Orders < r.Experiment.Least && Sleep(ctx, 100*time.Millisecond) == nil {
	}
	return true
}

// strikeWithin bounds the wait for a strike.
const strikeWithin = 6 * time.Second

// ErrOver means that the load was over before an act began.
var ErrOver = errors.New("the load was over before anything broke")

// act lets an act strike at its time, but not before after is closed, holds it, and heals it. It calls armed once.
// ended is closed when the load is over.
func (r *Run) act(ctx context.Context, a *Act, begun, ended, after <-chan struct{}, armed func()) {
	defer armed()
	if a.Err = begins(ctx, ended, begun); a.Err == nil {
		a.Err = begins(ctx, ended, time.After(time.Duration(a.Action.AfterMS)*time.Millisecond))
	}
	if a.Err != nil {
		return
	}
	if after != nil {
		<-after
	}
	watch := func(m Moment) {
		if a.Err == nil {
			a.Err = r.watch(ctx, a, m)
		}
	}
	watch(Intact)
	if a.Err == nil {
		a.Err = a.Arm(ctx)
	}
	armed()
	watch(Armed)
	if a.Err == nil {
		r.await(ctx, a)
		watch(Broken)
		a.Err = errors.Join(a.Err, r.hold(ctx, a, ended))
		watch(Mending)
		if n, err := a.strikes(ctx); err == nil { // the strikes while it was held count, too
			a.Fired = max(a.Fired, n)
		}
	}
	if ctx.Err() != nil { // a process that stays paused cannot be stopped
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
		defer cancel()
	}
	a.Err = errors.Join(a.Err, a.Heal(ctx))
	a.Mended = time.Now()
	watch(Mended)
	if r.ready != nil && !a.Action.NoWait {
		a.Err = errors.Join(a.Err, r.ready(ctx))
	}
	a.Healed = time.Now()
}

// begins returns nil once at has come, or why it does not: the load is over, or ctx ends.
func begins[T any](ctx context.Context, ended <-chan struct{}, at <-chan T) error {
	select {
	case <-at:
		return nil
	case <-ended:
		return ErrOver
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// await waits until the act has struck, for at most strikeWithin.
func (r *Run) await(ctx context.Context, a *Act) {
	last := a.Armed
	for limit := time.Now().Add(strikeWithin); ; {
		a.Struck, last = last, time.Now()
		a.Fired, a.Unseen = a.strikes(ctx)
		if a.Fired > 0 || time.Now().After(limit) || r.over(a) || Sleep(ctx, 10*time.Millisecond) != nil {
			return
		}
	}
}

// hold waits for as long as the act lasts, or until somebody else heals it.
func (r *Run) hold(ctx context.Context, a *Act, ended <-chan struct{}) error {
	var over <-chan time.Time
	if d := a.Action.For; d > 0 {
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
			if r.over(a) {
				return nil
			}
		}
	}
}
