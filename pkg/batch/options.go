package batch

import (
	"context"
	"time"
)

type options struct {
	maxBatch, maxQueue, concurrency, fullConcurrency int
	timeout                                          time.Duration
	gather                                           int
	idle                                             func(context.Context)
}

// Option changes a group. A bound below 1 is taken as 1.
type Option func(*options)

// WithMaxSize bounds the calls of one batch. Default 256.
func WithMaxSize(n int) Option { return func(o *options) { o.maxBatch = max(1, n) } }

// WithMaxQueue bounds the calls that wait for a batch. One more gets ErrFull.
// Default 4096.
func WithMaxQueue(n int) Option { return func(o *options) { o.maxQueue = max(1, n) } }

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
// for it. ctx belongs to the group.
func WithIdle(f func(ctx context.Context)) Option { return func(o *options) { o.idle = f } }

// WithGather delays a batch until the queue is as long as the previous batch
// plus the calls that it left waiting, but for at most 1/part of that batch's
// duration and 5 ms. Callers that call again as soon as they are answered then
// share one batch instead of falling into cohorts that take turns. A call that
// follows a batch of one does not wait. Default: no delay.
func WithGather(part int) Option { return func(o *options) { o.gather = max(1, part) } }
