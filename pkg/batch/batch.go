package batch

import (
	"context"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"orderstock/pkg/observe"
)

// Run runs one batch. It calls take as soon as it is ready to serve, for example once it holds a lock; calls that
// arrive until then join the batch. take returns the waiting calls, in order of arrival and at most WithMaxSize of
// them; each must be resolved before Run returns. It returns none if all callers have left, and the same calls if it is
// called again.
//
// ctx belongs to the group: no caller's cancellation ends it. It ends when the group is closed and, with WithTimeout,
// after that time.
type Run[In, Out any] func(ctx context.Context, take func() []*Call[In, Out])

// Group runs concurrent calls of Do in batches. Safe for concurrent use. Make one
// with New or Func.
type Group[In, Out any] struct {
	run    Run[In, Out]
	opts   options
	ctx    context.Context // the group's lifetime, not a caller's
	cancel context.CancelFunc

	mu      sync.Mutex
	queue   []*Call[In, Out] // by arrival, with withdrawn calls until they are passed over or swept
	waiting int              // calls in queue that are not withdrawn
	running int              // batches
	closed  bool
	workers sync.WaitGroup

	gathering gatherer
}

// New returns a group that runs its batches with run. A batch starts as soon as a call waits and fewer than
// WithConcurrency batches are running. Callers must Close the group.
func New[In, Out any](run Run[In, Out], opts ...Option) *Group[In, Out] {
	o := options{maxBatch: 256, maxQueue: 4096, concurrency: 1, idle: func(context.Context) {}}
	for _, opt := range opts {
		opt(&o)
	}
	g := &Group[In, Out]{run: run, opts: o, gathering: gatherer{enough: make(chan struct{}, 1)}}
	g.ctx, g.cancel = context.WithCancel(context.Background()) //nolint:gosec // Close calls cancel
	return g
}

// Func returns a group for work that needs nothing before it takes its calls. fn gets the arguments of a batch; outs[i]
// answers ins[i], or err all of them. If callers are traced, ctx has a span of the batch: see observe.Together.
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
		ctx, end := observe.Together(ctx, "batch", time.Now(), Contexts(calls))
		outs, err := fn(ctx, ins)
		end(err)
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

// Do adds in to the next batch and waits for the answer. It returns ErrFull or
// ErrClosed at once if the call cannot be queued. If ctx ends first, Do returns
// ctx's error, with ErrWithdrawn if no batch has taken the call yet.
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
	case <-call.answered: // if both are ready, the answer counts
		return call.out, call.err
	default:
		return none, ctx.Err()
	}
}

// Waiting returns the number of calls that no batch has taken yet.
func (g *Group[In, Out]) Waiting() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.waiting
}

// Close refuses further calls, waits until all queued calls are answered, and
// then ends the group's context.
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
	if g.waiting == g.gathering.wanted {
		g.gathering.enough <- struct{}{} // does not block: wanted is set again only after it was received
		g.gathering.wanted = 0
	}
	another := g.waiting%g.opts.maxBatch == 0 // batch is full
	if g.running < g.opts.concurrency || another && g.running < g.opts.fullConcurrency {
		g.running++
		g.workers.Go(g.work)
	}
	return nil
}

// work runs batches until no call waits and none arrived while idle ran. A worker beyond WithConcurrency ends as soon
// as no full batch waits.
func (g *Group[In, Out]) work() {
	for idled := false; ; {
		g.mu.Lock()
		idle := g.waiting == 0
		surplus := g.running > g.opts.concurrency && g.waiting < g.opts.maxBatch
		if idle && idled || surplus {
			if idle {
				g.queue = nil
			}
			g.running--
			g.mu.Unlock()
			return
		}
		g.mu.Unlock()
		if idle {
			g.opts.idle(g.ctx)
		} else {
			Yield() // so that ready callers can enqueue before the batch is taken
			g.gather()
			g.runOne()
		}
		idled = idle
	}
}

func (g *Group[In, Out]) runOne() {
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
		g.gathering.took, g.gathering.calls = time.Since(began), len(batch)+g.waiting
		g.mu.Unlock()
	}()
	g.run(ctx, take)
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

// withdraw removes the call from the queue and reports whether it was still there.
func (g *Group[In, Out]) withdraw(call *Call[In, Out]) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if call.taken {
		return false
	}
	call.withdrawn = true
	g.waiting--
	if len(g.queue) > 2*g.waiting+64 { // do not pile up withdrawn calls behind a stuck batch
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
