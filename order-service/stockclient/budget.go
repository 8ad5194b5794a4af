package stockclient

import (
	"sync"

	"golang.org/x/time/rate"
)

// budget keeps retries a small share of calls, so that a failing service does not get several times its load: each call
// deposits a tenth of a retry, and a few per second are free, so that a quiet client can retry at all. (Finagle's retry
// budget.)
type budget struct {
	mu     sync.Mutex
	tenths int
	free   *rate.Limiter
}

const (
	retryCost = 10
	most      = 200 * retryCost // the maximum balance
)

func newBudget() *budget { return &budget{free: rate.NewLimiter(10, 20)} }

// deposit is called once for each call.
func (b *budget) deposit() {
	b.mu.Lock()
	b.tenths = min(b.tenths+1, most)
	b.mu.Unlock()
}

// withdraw takes one retry and reports whether there was one.
func (b *budget) withdraw() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.tenths < retryCost {
		return b.free.Allow()
	}
	b.tenths -= retryCost
	return true
}
