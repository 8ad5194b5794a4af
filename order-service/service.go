package order

import (
	"context"
	"sync"
	"time"
)

// Config bounds the use cases. The zero value of a field means its default.
type Config struct {
	// ConfirmBudget is how long a client waits for its order's outcome. Default 3 s.
	ConfirmBudget time.Duration
	// PendingLimit is how long the placing process keeps at an order, and the age
	// from which the reconciler takes it. Default 5 s.
	PendingLimit time.Duration
	// CancelAfter is the age from which the reconciler cancels an order that the
	// stock service has not settled. Default 60 s.
	CancelAfter time.Duration
	// PriceTTL is how long a price may be used after it was asked for. Default 2 s.
	PriceTTL time.Duration
	// MaxInFlight bounds the orders that are being placed at the same time. Default 2048.
	MaxInFlight int64
}

func (c Config) withDefaults() Config {
	set := func(d *time.Duration, to time.Duration) {
		if *d <= 0 {
			*d = to
		}
	}
	set(&c.ConfirmBudget, 3*time.Second)
	set(&c.PendingLimit, 5*time.Second)
	set(&c.CancelAfter, 60*time.Second)
	set(&c.PriceTTL, 2*time.Second)
	if c.MaxInFlight <= 0 {
		c.MaxInFlight = 2048
	}
	return c
}

// Service is the order service's use cases. Safe for concurrent use.
type Service struct {
	cfg       Config
	store     Store
	stock     Stock
	flags     Flags
	ids       IDs
	catalogue *catalogue
	runs      *runs
	stats     Stats
}

// NewService returns a service that works on those. Close it.
func NewService(store Store, stock Stock, flags Flags, ids IDs, cfg Config) *Service {
	cfg = cfg.withDefaults()
	return &Service{
		cfg: cfg, store: store, stock: stock, flags: flags, ids: ids,
		catalogue: newCatalogue(stock, cfg.PriceTTL),
		runs:      &runs{byID: map[int64]*run{}},
	}
}

// Close waits for the orders that are still being worked on after their client
// was answered. When ctx ends first, their work ends, and the reconciler of
// another replica settles them. No order may be placed any more.
func (s *Service) Close(ctx context.Context) error {
	err := s.runs.close(ctx)
	s.catalogue.fetch.Close()
	return err
}

// Get returns an order with its items, or ErrNotFound or ErrUnavailable.
func (s *Service) Get(ctx context.Context, id int64) (Order, error) {
	return s.store.Get(ctx, id)
}

// Page returns up to limit orders with ids above after, by rising id; of one
// status unless it is "". ErrUnavailable.
func (s *Service) Page(ctx context.Context, status Status, after int64, limit int) ([]Order, error) {
	return s.store.Page(ctx, status, after, limit)
}

// runs are the orders that this process works on.
type runs struct {
	mu     sync.Mutex
	byID   map[int64]*run
	closed bool
	all    sync.WaitGroup
}

// run is the work on one order, from its insert to its end or to the limit of patience.
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
