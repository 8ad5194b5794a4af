package batch

import (
	"context"
	"fmt"
	"runtime"
	"runtime/debug"
	"sync"
	"time"
)

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

// gatherer is the state of WithGather. The group's mutex guards all but turn.
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
func (g *Group[In, Out]) gather() {
	if g.opts.gather == 0 {
		return
	}
	g.gathering.turn.Lock()
	defer g.gathering.turn.Unlock()
	g.mu.Lock()
	limit := min(g.gathering.took/time.Duration(g.opts.gather), maxGather)
	wanted := min(g.gathering.calls, g.opts.maxBatch)
	if g.waiting >= wanted || limit <= 0 {
		g.mu.Unlock()
		return
	}
	g.gathering.wanted = wanted
	g.mu.Unlock()
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-g.gathering.enough:
	case <-timer.C:
		g.mu.Lock()
		if g.gathering.wanted == 0 {
			<-g.gathering.enough // it came just now: take it out of the channel
		}
		g.gathering.wanted = 0
		g.mu.Unlock()
	}
}
