package order

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"orderstock/pkg/observe"
	"orderstock/pkg/retry"
)

// replayOr answers a request that could not be drafted. A repeat gets its first answer even while the stock service is
// down; a new request gets the refusal.
func (s *Service) replayOr(ctx context.Context, r Request, refusal error) (Placement, error) {
	if r.key == "" {
		return Placement{}, refusal
	}
	prior, err := s.store.FindByKey(ctx, r.key)
	switch {
	case errors.Is(err, ErrNotFound):
		return Placement{}, refusal
	case err != nil:
		return Placement{}, fmt.Errorf("look up idempotency key: %w", err)
	}
	return s.replay(ctx, prior, r)
}

// replay answers a request whose key has an order already.
func (s *Service) replay(ctx context.Context, prior Order, r Request) (Placement, error) {
	if prior.BodyHash != r.hash {
		return Placement{}, ErrKeyReused
	}
	observe.AddAttrs(ctx, "order_id", prior.ID)
	s.stats.Replayed.Add(1)
	if prior.Outcome == "" {
		prior = s.awaitOutcome(ctx, prior)
	}
	return Placement{Order: prior.AtOutcome(), Replayed: true}, nil
}

// storedLimit bounds the read of an order whose client cannot wait longer.
const storedLimit = time.Second

// unfinished answers a client whose order is still in progress with the order as stored, usually pending.
func (s *Service) unfinished(ctx context.Context, o Order) (Placement, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), storedLimit)
	defer cancel()
	o, err := s.latest(ctx, o)
	if err != nil { // not found is no answer either: the insert may be in flight
		//nolint:errorlint // for the reason given
		return Placement{}, fmt.Errorf("%w: order %d: %v", ErrUnanswered, o.ID, err)
	}
	return Placement{Order: o.AtOutcome()}, nil
}

// awaitOutcome waits for the outcome of an order that any process may be working on, and returns the order. If
// ctx ends first, it returns the order as it was given.
func (s *Service) awaitOutcome(ctx context.Context, o Order) Order {
	if r := s.runs.get(o.ID); r != nil {
		select {
		case <-r.done:
		case <-ctx.Done():
			return o
		}
	}
	poll := retry.Policy{First: 10 * time.Millisecond, Max: 500 * time.Millisecond}
	latest, err := retry.Do(ctx, poll, func() (Order, error) {
		latest, err := s.latest(ctx, o)
		if err == nil && latest.Outcome == "" {
			err = errNoOutcome
		}
		return latest, err
	})
	if err != nil {
		return o
	}
	return latest
}

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
