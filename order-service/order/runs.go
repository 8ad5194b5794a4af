package order

import (
	"context"
	"sync"
)

// runs holds the orders that this process works on.
type runs struct {
	mu     sync.Mutex
	byID   map[int64]*run
	closed bool
	all    sync.WaitGroup
}

// run is the work on one order, from its insert to its outcome or to the pending limit.
type run struct {
	cancel context.CancelFunc
	done   chan struct{}

	// Valid once done is closed.
	order    Order
	inserted bool
	err      error
}

func (r *runs) add(id int64, one *run) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return false
	}
	r.byID[id] = one
	r.all.Add(1)
	return true
}

func (r *runs) get(id int64) *run {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.byID[id]
}

func (r *runs) remove(id int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.byID, id)
	r.all.Done()
}

func (r *runs) close(ctx context.Context) error {
	r.mu.Lock()
	r.closed = true
	r.mu.Unlock()
	done := make(chan struct{})
	go func() {
		r.all.Wait()
		close(done)
	}()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
	}
	r.mu.Lock()
	for _, one := range r.byID {
		one.cancel()
	}
	r.mu.Unlock()
	<-done
	return ctx.Err()
}
