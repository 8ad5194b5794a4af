// Package batch lets concurrent calls share round trips: the calls that wait while one batch runs form the next.
//
// By default it adds no delay. A call starts a batch at once if none runs, together with the callers that are ready at
// that moment. Under load, calls gather while a batch runs, so that batches grow with the load and the cost of each
// call falls. This is the group commit of databases (DeWitt et al., "Implementation Techniques for Main Memory Database
// Systems", 1984) for any work that costs nearly as much for one call as for many: a transaction, a pipeline, a
// request.
//
// # Guarantees
//
//   - Order: batches take calls in order of arrival.
//   - Bounds: a batch holds at most WithMaxSize calls, the queue at most 4096. Beyond that Do returns ErrFull at
//     once.
//   - Cancellation: a caller whose context ends leaves at once. If its call was still queued, the error wraps
//     ErrWithdrawn, and nothing was or will be done for it. If a batch has taken it, Do returns the plain context
//     error, and the outcome is unknown. The other calls of the batch continue.
//   - Isolation: each call has a separate answer. A panic answers the calls of its batch with ErrPanic, and the next
//     batch runs.
//   - Every call is answered: a call that the batch's function leaves unresolved gets ErrUnresolved.
//
// # Two forms
//
// Func is for work that can start at once: a statement, a pipeline. New is for work that needs something first, such as
// a lock: it calls take when it has the lock, and gets all calls that have arrived by then. With WithIdle it can keep
// the lock from batch to batch while calls wait.
//
// # Closed loops
//
// Callers that call again as soon as they are answered fall into cohorts: while the batch of one cohort runs, another
// gathers, and each pays for a batch of half the size. WithGather merges them: a batch waits briefly for the callers
// that the previous one has answered.
//
// With the default concurrency one batch runs at a time, so that state used only by the batch's function needs no lock.
package batch

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"orderstock/pkg/observe"
)

// Run runs one batch. It calls take as soon as it is ready to serve, for example once it holds a lock; calls that
// arrive until then join the batch. take returns the waiting calls, in order of arrival and at most WithMaxSize of
// them; each must be resolved before Run returns. It returns none if all callers have left, and the same calls if it is
// called again.
//
// ctx belongs to the queue: no caller's cancellation ends it. It ends when the queue is closed and, with WithTimeout,
// after that time.
type Run[In, Out any] func(ctx context.Context, take func() []*Call[In, Out])

// Queue runs concurrent calls of Do in batches. Safe for concurrent use. Make one with New or Func.
type Queue[In, Out any] struct {
	run    Run[In, Out]
	opts   options
	ctx    context.Context // the queue's lifetime, not a caller's
	cancel context.CancelFunc

	mu      sync.Mutex
	calls   []*Call[In, Out] // by arrival, with withdrawn calls until they are passed over or swept
	waiting int              // calls that are not withdrawn
	running int              // batches
	closed  bool
	workers sync.WaitGroup

	gathering gatherer
}

// New returns a queue that runs its batches with run. A batch starts as soon as a call waits and fewer than
// WithConcurrency batches are running. Callers must Close the queue.
func New[In, Out any](run Run[In, Out], opts ...Option) *Queue[In, Out] {
	o := options{maxBatch: 256, maxQueue: 4096, concurrency: 1, idle: func(context.Context) {}}
	for _, opt := range opts {
		opt(&o)
	}
	q := &Queue[In, Out]{run: run, opts: o, gathering: gatherer{enough: make(chan struct{}, 1)}}
	q.ctx, q.cancel = context.WithCancel(context.Background()) //nolint:gosec // Close calls cancel
	return q
}

// Func returns a queue for work that needs nothing before it takes its calls. fn gets the arguments of a batch; outs[i]
// answers ins[i], or err all of them. If callers are traced, ctx has a span of the batch: see observe.Together.
func Func[In, Out any](fn func(ctx context.Context, ins []In) (outs []Out, err error), opts ...Option) *Queue[In, Out] {
	return New(func(ctx context.Context, take func() []*Call[In, Out]) {
		calls := take()
		if len(calls) == 0 {
			return
		}
		ins := make([]In, len(calls))
		for i, call := range calls {
			ins[i] = call.In
		}
		ctx, step := observe.Together(ctx, "batch", time.Now(), Contexts(calls))
		outs, err := fn(ctx, ins)
		step.End(err)
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

// Shared returns a queue like Func, for a look-up: out answers all calls of a batch.
func Shared[In, Out any](fn func(ctx context.Context, ins []In) (out Out, err error), opts ...Option) *Queue[In, Out] {
	return Func(func(ctx context.Context, ins []In) ([]Out, error) {
		out, err := fn(ctx, ins)
		return slices.Repeat([]Out{out}, len(ins)), err
	}, opts...)
}

// Do adds in to the next batch and waits for the answer. It returns ErrFull or ErrClosed at once if the call cannot be
// queued. If ctx ends first, Do returns ctx's error, with ErrWithdrawn if no batch has taken the call yet.
func (q *Queue[In, Out]) Do(ctx context.Context, in In) (Out, error) {
	var none Out
	if err := ctx.Err(); err != nil {
		return none, fmt.Errorf("%w: %w", ErrWithdrawn, err)
	}
	call := &Call[In, Out]{In: in, ctx: ctx, answered: make(chan struct{})}
	if err := q.enqueue(call); err != nil {
		return none, err
	}
	select {
	case <-call.answered:
		return call.out, call.err
	case <-ctx.Done():
	}
	if q.withdraw(call) {
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
func (q *Queue[In, Out]) Waiting() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.waiting
}

// Close refuses further calls, waits until all queued calls are answered, and then ends the queue's context.
func (q *Queue[In, Out]) Close() {
	q.mu.Lock()
	q.closed = true
	q.mu.Unlock()
	q.workers.Wait()
	q.cancel()
}

type options struct {
	maxBatch, maxQueue, concurrency, fullConcurrency int
	timeout                                          time.Duration
	gather                                           int
	idle                                             func(context.Context)
}

// Option changes a queue. A bound below 1 is taken as 1.
type Option func(*options)

// WithMaxSize bounds the calls of one batch. Default 256.
func WithMaxSize(n int) Option { return func(o *options) { o.maxBatch = max(1, n) } }

// WithConcurrency bounds the batches that run at the same time. Default 1:
// batches run one after another, and all calls that arrive during one join the next.
func WithConcurrency(n int) Option { return func(o *options) { o.concurrency = max(1, n) } }

// WithFullConcurrency lets up to n batches run concurrently if the additional ones begin full: a batch that cannot grow
// gains nothing by waiting. Default: WithConcurrency is the limit.
func WithFullConcurrency(n int) Option { return func(o *options) { o.fullConcurrency = n } }

// WithTimeout ends the context of a batch after d. Default: no bound.
func WithTimeout(d time.Duration) Option { return func(o *options) { o.timeout = d } }

// WithIdle calls f whenever no call waits after a batch, so that f can release resources that batches keep from one to
// the next. With a concurrency of 1, f and the batches never run at the same time: a call that arrives during f waits
// for it. ctx belongs to the queue.
func WithIdle(f func(ctx context.Context)) Option { return func(o *options) { o.idle = f } }

// WithGather delays a batch until the queue is as long as the previous batch plus the calls that it left waiting, but
// for at most 1/part of that batch's duration and 5 ms. Callers that call again as soon as they are answered then share
// one batch instead of falling into cohorts that take turns. A call that follows a batch of one does not wait. Default:
// no delay.
func WithGather(part int) Option { return func(o *options) { o.gather = max(1, part) } }
