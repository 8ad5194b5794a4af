package batch

import (
	"runtime"
	"sync"
	"time"
)

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
