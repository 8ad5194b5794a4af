package batch

import (
	"context"
	"fmt"
	"runtime"
	"runtime/debug"
	"sync"
	"time"
)

func (q *Queue[In, Out]) enqueue(call *Call[In, Out]) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	switch {
	case q.closed:
		return ErrClosed
	case q.waiting >= q.opts.maxQueue:
		return ErrFull
	}
	q.calls = append(q.calls, call)
	q.waiting++
	if q.waiting == q.gathering.wanted {
		q.gathering.enough <- struct{}{} // does not block: wanted is set again only after it was received
		q.gathering.wanted = 0
	}
	another := q.waiting%q.opts.maxBatch == 0 // batch is full
	if q.running < q.opts.concurrency || another && q.running < q.opts.fullConcurrency {
		q.running++
		q.workers.Go(q.work)
	}
	return nil
}

// work runs batches until no call waits and none arrived while idle ran. A worker beyond WithConcurrency ends as soon
// as no full batch waits.
func (q *Queue[In, Out]) work() {
	for idled := false; ; {
		q.mu.Lock()
		idle := q.waiting == 0
		surplus := q.running > q.opts.concurrency && q.waiting < q.opts.maxBatch
		if idle && idled || surplus {
			if idle {
				q.calls = nil
			}
			q.running--
			q.mu.Unlock()
			return
		}
		q.mu.Unlock()
		if idle {
			q.opts.idle(q.ctx)
		} else {
			Yield() // so that ready callers can enqueue before the batch is taken
			q.gather()
			q.runOne()
		}
		idled = idle
	}
}

func (q *Queue[In, Out]) runOne() {
	var (
		batch []*Call[In, Out]
		began time.Time
	)
	take := func() []*Call[In, Out] {
		if began.IsZero() {
			batch, began = q.take(), time.Now()
		}
		return batch
	}
	ctx, cancel := q.ctx, context.CancelFunc(func() {})
	if q.opts.timeout > 0 {
		ctx, cancel = context.WithTimeout(ctx, q.opts.timeout)
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
		q.mu.Lock()
		q.gathering.took, q.gathering.calls = time.Since(began), len(batch)+q.waiting
		q.mu.Unlock()
	}()
	q.run(ctx, take)
}

// take removes the oldest calls from the queue, at most a batch of them.
func (q *Queue[In, Out]) take() []*Call[In, Out] {
	q.mu.Lock()
	defer q.mu.Unlock()
	batch := make([]*Call[In, Out], 0, min(q.waiting, q.opts.maxBatch))
	passed := 0
	for _, call := range q.calls {
		if len(batch) == q.opts.maxBatch {
			break
		}
		passed++
		if !call.withdrawn {
			call.taken = true
			batch = append(batch, call)
		}
	}
	q.calls = q.calls[passed:]
	q.waiting -= len(batch)
	return batch
}

// withdraw removes the call from the queue and reports whether it was still there.
func (q *Queue[In, Out]) withdraw(call *Call[In, Out]) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if call.taken {
		return false
	}
	call.withdrawn = true
	q.waiting--
	if len(q.calls) > 2*q.waiting+64 { // do not pile up withdrawn calls behind a stuck batch
		live := make([]*Call[In, Out], 0, q.waiting)
		for _, c := range q.calls {
			if !c.withdrawn {
				live = append(live, c)
			}
		}
		q.calls = live
	}
	return true
}

// Yield lets the goroutines that are ready to run go first. Without it, a goroutine that another has just woken runs
// before the ones that became ready with it, and finds only its own work. It does not wait: if nothing else is ready it
// returns at once. It yields three times, because the scheduler occasionally resumes a goroutine that yielded before
// the others have run.
func Yield() {
	for range 3 {
		runtime.Gosched()
	}
}

// maxGather bounds the wait of WithGather.
const maxGather = 5 * time.Millisecond

// gatherer is the state of WithGather. The queue's mutex guards all but turn.
type gatherer struct {
	turn  sync.Mutex    // held by the batch that gathers
	took  time.Duration // by the previous batch, from take to its end
	calls int           // of the previous batch, and left waiting by it
	// wanted is the length of the queue that the gathering batch waits for; 0 if
	// none gathers. enough receives a value once the queue is that long.
	wanted int
	enough chan struct{}
}

// gather implements WithGather.
func (q *Queue[In, Out]) gather() {
	if q.opts.gather == 0 {
		return
	}
	q.gathering.turn.Lock()
	defer q.gathering.turn.Unlock()
	q.mu.Lock()
	limit := min(q.gathering.took/time.Duration(q.opts.gather), maxGather)
	wanted := min(q.gathering.calls, q.opts.maxBatch)
	if q.waiting >= wanted || limit <= 0 {
		q.mu.Unlock()
		return
	}
	q.gathering.wanted = wanted
	q.mu.Unlock()
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-q.gathering.enough:
	case <-timer.C:
		q.mu.Lock()
		if q.gathering.wanted == 0 {
			<-q.gathering.enough // it came just now: take it out of the channel
		}
		q.gathering.wanted = 0
		q.mu.Unlock()
	}
}
