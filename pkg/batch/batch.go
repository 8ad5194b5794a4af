package batch

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"sync"
	"time"
)

var (
	// ErrFull is returned by Do at once when the queue is at its bound: shed the load.
	ErrFull = errors.New("batch: queue full")
	// ErrWithdrawn is returned by Do, wrapped together with the context's error, when
	// the call left the queue before a batch took it: nothing was done for it, nor
	// ever will be. A context error without ErrWithdrawn means that a batch has the
	// call, and what becomes of it is unknown.
	ErrWithdrawn = errors.New("batch: withdrawn before it was taken")
	// ErrClosed is returned by Do after Close.
	ErrClosed = errors.New("batch: closed")
	// ErrUnresolved answers a call that the batch's function took, or should have
	// taken, and left without an answer.
	ErrUnresolved = errors.New("batch: call left without an answer")
	// ErrPanic answers the calls of a batch whose function panicked.
	ErrPanic = errors.New("batch: panic while the batch ran")
)

// Errors are a caller's own for the ways in which Do fails without an answer of the batch.
type Errors struct {
	// Full: the queue was full, and nothing was done. Undone: neither was anything, nor will it be.
	// Unknown: a batch took the call, and what became of it is unknown.
	Full, Undone, Unknown error
}

// Of returns what Do returned for ctx, wrapped in the error that says what it means; what the batch
// answered stays as it is.
func (e Errors) Of(ctx context.Context, err error) error {
	meaning := e.Unknown
	switch {
	case errors.Is(err, ErrFull):
		meaning = e.Full
	case errors.Is(err, ErrWithdrawn), errors.Is(err, ErrClosed):
		meaning = e.Undone
	case errors.Is(err, ErrUnresolved), errors.Is(err, ErrPanic),
		err != nil && err == ctx.Err(): //nolint:errorlint // the bare error is Do's; a wrapped one is the batch's
	default:
		return err
	}
	return fmt.Errorf("%w: %w", meaning, err)
}

// Run serves one batch. It calls take when it is ready to: take closes the
// batch and returns the calls that wait by then, in the order of their
// arrival, at most the group's batch bound. What has to be had first, such as
// a lock, is had before take, and the calls that arrive meanwhile join the
// batch. Every call must be resolved before Run returns. Calling take again
// returns the same calls. It returns none only when every caller has left.
//
// Ctx is the group's: no caller's cancellation ends the work of the others. It
// ends when the group is closed and, with WithTimeout, after the bound.
type Run[In, Out any] func(ctx context.Context, take func() []*Call[In, Out])

// Group runs concurrent calls of Do in batches. Safe for concurrent use; make one with New or Func.
type Group[In, Out any] struct {
	run    Run[In, Out]
	opts   options
	ctx    context.Context // the group's lifetime, not a caller's
	cancel context.CancelFunc

	mu      sync.Mutex
	queue   []*Call[In, Out] // by arrival; withdrawn calls stay in until passed over or swept
	waiting int              // calls in queue that are not withdrawn
	running int              // batches being served
	closed  bool
	workers sync.WaitGroup

	// What WithGather goes by. One batch at a time gathers.
	gathering sync.Mutex
	took      time.Duration // by the batch that ended last, from take to its end
	company   int           // calls that it answered, and those that waited when it ended
	wanted    int           // calls that the gathering batch waits for; 0 where none gathers
	enough    chan struct{} // told when they are there
}

// New returns a group whose batches are served by run. A batch starts as soon
// as a call waits and fewer than WithConcurrency batches are being served: a
// lone call waits for nobody.
func New[In, Out any](run Run[In, Out], opts ...Option) *Group[In, Out] {
	o := options{maxBatch: 256, maxQueue: 4096, concurrency: 1, idle: func(context.Context) {}}
	for _, opt := range opts {
		opt(&o)
	}
	g := &Group[In, Out]{run: run, opts: o, enough: make(chan struct{}, 1)}
	g.ctx, g.cancel = context.WithCancel(context.Background())
	return g
}

// Func returns a group for work that needs nothing before it takes its calls:
// fn gets the inputs of a batch and answers outs[i] to ins[i]. An error of fn
// answers all of them.
func Func[In, Out any](fn func(ctx context.Context, ins []In) (outs []Out, err error), opts ...Option) *Group[In, Out] {
	return New(func(ctx context.Context, take func() []*Call[In, Out]) {
		calls := take()
		if len(calls) == 0 {
			return
		}
		ins := make([]In, len(calls))
		for i, call := range calls {
			ins[i] = call.In
		}
		outs, err := fn(ctx, ins)
		if err == nil && len(outs) != len(ins) {
			err = fmt.Errorf("%w: %d answers to %d calls", ErrUnresolved, len(outs), len(ins))
		}
		for i, call := range calls {
			if err != nil {
				var none Out
				call.Resolve(none, err)
				continue
			}
			call.Resolve(outs[i], nil)
		}
	}, opts...)
}

// Do hands in to the next batch and waits for its answer. It returns ErrFull
// or ErrClosed at once where the call cannot be queued. When ctx ends first,
// Do returns its error, with ErrWithdrawn if the call had not been taken yet.
func (g *Group[In, Out]) Do(ctx context.Context, in In) (Out, error) {
	var none Out
	if err := ctx.Err(); err != nil {
		return none, fmt.Errorf("%w: %w", ErrWithdrawn, err)
	}
	call := &Call[In, Out]{In: in, ctx: ctx, answered: make(chan struct{})}
	if err := g.enqueue(call); err != nil {
		return none, err
	}
	select {
	case <-call.answered:
		return call.out, call.err
	case <-ctx.Done():
	}
	if g.withdraw(call) {
		return none, fmt.Errorf("%w: %w", ErrWithdrawn, ctx.Err())
	}
	select {
	case <-call.answered: // both at once: an answer that is there is worth more
		return call.out, call.err
	default:
		return none, ctx.Err()
	}
}

// Waiting returns how many calls are queued and not yet taken by a batch.
func (g *Group[In, Out]) Waiting() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.waiting
}

// Close refuses further calls, ends the context of the batches being served
// once those already queued have been served, and returns when the last has
// ended.
func (g *Group[In, Out]) Close() {
	g.mu.Lock()
	g.closed = true
	g.mu.Unlock()
	g.workers.Wait()
	g.cancel()
}

func (g *Group[In, Out]) enqueue(call *Call[In, Out]) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case g.closed:
		return ErrClosed
	case g.waiting >= g.opts.maxQueue:
		return ErrFull
	}
	g.queue = append(g.queue, call)
	g.waiting++
	if g.waiting == g.wanted {
		g.enough <- struct{}{} // it has room for one, and nobody wants the same twice
		g.wanted = 0
	}
	if g.running < g.opts.concurrency {
		g.running++
		g.workers.Go(g.serve)
	}
	return nil
}

// serve runs batches until nobody waits, and nobody came while the group was told so.
func (g *Group[In, Out]) serve() {
	for told := false; ; {
		g.mu.Lock()
		idle := g.waiting == 0
		if idle && told {
			g.queue = nil
			g.running--
			g.mu.Unlock()
			return
		}
		g.mu.Unlock()
		if idle {
			g.opts.idle(g.ctx)
		} else {
			join()
			g.gather()
			g.serveOne()
		}
		told = idle
	}
}

func (g *Group[In, Out]) serveOne() {
	var (
		batch []*Call[In, Out]
		began time.Time
	)
	take := func() []*Call[In, Out] {
		if began.IsZero() {
			batch, began = g.take(), time.Now()
		}
		return batch
	}
	ctx, cancel := g.ctx, context.CancelFunc(func() {})
	if g.opts.timeout > 0 {
		ctx, cancel = context.WithTimeout(ctx, g.opts.timeout)
	}
	defer cancel()
	unanswered := ErrUnresolved
	defer func() {
		if p := recover(); p != nil {
			unanswered = fmt.Errorf("%w: %v\n%s", ErrPanic, p, debug.Stack())
		}
		var none Out
		for _, call := range take() {
			call.Resolve(none, unanswered)
		}
		g.mu.Lock()
		g.took, g.company = time.Since(began), len(batch)+g.waiting
		g.mu.Unlock()
	}()
	g.run(ctx, take)
}

// join lets callers come along who are ready to run and have not come yet: who was woken up together
// with the first would else miss the batch by microseconds. It is no wait: with nobody ready it is over
// at once. Three turns, as the scheduler now and then takes who gave way before those who were ready.
func join() {
	for range 3 {
		runtime.Gosched()
	}
}

// longestGather bounds the wait for company after a batch that took very long.
const longestGather = 5 * time.Millisecond

// gather waits for company, as WithGather says.
func (g *Group[In, Out]) gather() {
	if g.opts.gather == 0 {
		return
	}
	g.gathering.Lock()
	defer g.gathering.Unlock()
	g.mu.Lock()
	limit := min(g.took/time.Duration(g.opts.gather), longestGather)
	wanted := min(g.company, g.opts.maxBatch)
	if g.waiting >= wanted || limit <= 0 {
		g.mu.Unlock()
		return
	}
	g.wanted = wanted
	g.mu.Unlock()
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-g.enough:
	case <-timer.C:
		g.mu.Lock()
		if g.wanted == 0 {
			<-g.enough // both at once
		}
		g.wanted = 0
		g.mu.Unlock()
	}
}

// take removes the oldest calls from the queue, at most a batch of them.
func (g *Group[In, Out]) take() []*Call[In, Out] {
	g.mu.Lock()
	defer g.mu.Unlock()
	batch := make([]*Call[In, Out], 0, min(g.waiting, g.opts.maxBatch))
	passed := 0
	for _, call := range g.queue {
		if len(batch) == g.opts.maxBatch {
			break
		}
		passed++
		if !call.withdrawn {
			call.taken = true
			batch = append(batch, call)
		}
	}
	g.queue = g.queue[passed:]
	g.waiting -= len(batch)
	return batch
}

// withdraw takes the call out of the queue and reports whether it was still in it.
func (g *Group[In, Out]) withdraw(call *Call[In, Out]) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if call.taken {
		return false
	}
	call.withdrawn = true
	g.waiting--
	if len(g.queue) > 2*g.waiting+64 { // a stuck batch must not let the callers who left pile up
		live := make([]*Call[In, Out], 0, g.waiting)
		for _, c := range g.queue {
			if !c.withdrawn {
				live = append(live, c)
			}
		}
		g.queue = live
	}
	return true
}

// Call is one caller's part of a batch.
type Call[In, Out any] struct {
	// In is what the caller handed to Do.
	In In

	ctx              context.Context // the caller's, for its values and deadline
	taken, withdrawn bool            // guarded by the group's mutex

	once     sync.Once
	out      Out
	err      error
	answered chan struct{}
}

// Context returns the caller's context: its values and its deadline. The work
// of a batch must not end with it.
func (c *Call[In, Out]) Context() context.Context { return c.ctx }

// Resolve answers the caller. The first answer counts, later ones do nothing.
// Safe for concurrent use.
func (c *Call[In, Out]) Resolve(out Out, err error) {
	c.once.Do(func() {
		c.out, c.err = out, err
		close(c.answered)
	})
}

type options struct {
	maxBatch, maxQueue, concurrency int
	timeout                         time.Duration
	gather                          int
	idle                            func(context.Context)
}

// Option sets a bound of a group. A bound below 1 is taken as 1.
type Option func(*options)

// WithMaxSize bounds the calls that one batch takes. Default 256.
func WithMaxSize(n int) Option { return func(o *options) { o.maxBatch = max(1, n) } }

// WithMaxQueue bounds the calls that wait for a batch; one more gets ErrFull. Default 4096.
func WithMaxQueue(n int) Option { return func(o *options) { o.maxQueue = max(1, n) } }

// WithConcurrency bounds the batches that are served at the same time. Default
// 1: batches follow one another, and all that arrives during one joins the next.
func WithConcurrency(n int) Option { return func(o *options) { o.concurrency = max(1, n) } }

// WithTimeout ends the context of a batch after d. Default: no bound.
func WithTimeout(d time.Duration) Option { return func(o *options) { o.timeout = d } }

// WithIdle has f called whenever nobody waits after a batch, before the next one is begun: what the
// batches kept from one to the next is given up there. With a concurrency of 1, f and the batches
// never run at the same time. A call that arrives meanwhile waits for f. Ctx is the group's.
func WithIdle(f func(ctx context.Context)) Option { return func(o *options) { o.idle = f } }

// WithGather lets a batch wait for company before it is begun: until as many wait as the batch before
// answered and left waiting, and at most for 1/part of the time which that one needed, or 5 ms. Those whom
// a batch has answered are often back in a moment; without them the callers fall into cohorts that take
// turns, each with batches of its own. A call that follows a lone one does not wait. Default: no batch waits.
func WithGather(part int) Option { return func(o *options) { o.gather = max(1, part) } }
