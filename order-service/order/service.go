package order

import (
	"context"
	"fmt"
	"time"

	"golang.org/x/sync/semaphore"

	"orderstock/pkg/config"
)

// Config bounds the use cases. The zero value of a field means its default. The order service reads it from its
// environment, by the tags; the comments become the text of the documents.
type Config struct {
	// ConfirmBudget bounds a client's wait for its order's outcome.
	ConfirmBudget time.Duration `env:"CONFIRM_BUDGET" envDefault:"3s"`
	// PendingLimit is how old an order is when the reconciler takes it; not below CONFIRM_BUDGET.
	PendingLimit time.Duration `env:"PENDING_LIMIT" envDefault:"5s"`
	// CancelAfter is how old an unsettled order is when the reconciler cancels it; above PENDING_LIMIT.
	CancelAfter time.Duration `env:"CANCEL_AFTER" envDefault:"60s"`
	// ReconcileInterval is the pause between the reconciler's rounds.
	ReconcileInterval time.Duration `env:"RECONCILE_INTERVAL" envDefault:"1s"`
	// ReconcileMaxPause is the longest pause while the stock service is down, and of a replica that gave up the lead.
	ReconcileMaxPause time.Duration `env:"RECONCILE_MAX_PAUSE" envDefault:"10s"`
	// PriceTTL bounds the age of a fetched price.
	PriceTTL time.Duration `env:"PRICE_TTL" envDefault:"2s"`
	// MaxInFlight bounds the orders, or operations, in flight; others get 503 at once.
	MaxInFlight int64 `env:"MAX_IN_FLIGHT" envDefault:"2048"`

	// ReadTimeout bounds a read, including its wait for a slot.
	ReadTimeout time.Duration `envDefault:"5s"`
	// ReconcileBatch bounds the orders of one status in a round.
	ReconcileBatch int `envDefault:"200"`
}

// Reads wait for a slot, so that they leave connections, memory and processor time to the orders: at most readsAtOnce
// single orders and pagesAtOnce pages are read at a time. A page may hold 1,000 items. While orders are being placed,
// each page is followed by a pause of pagePause times its duration, so that pages take a tenth of one connection's
// time. A page that fails is followed by none, and no pause is longer than half of Config.ReadTimeout: otherwise one
// stall would have all pages refused for longer than it lasted.
const (
	readsAtOnce = 8
	pagesAtOnce = 1
	pagePause   = 9
)

// Service implements the order service's use cases. It is safe for concurrent use.
type Service struct {
	cfg       Config
	store     Store
	stock     Stock
	flags     Flags
	ids       IDs
	catalogue *catalogue
	runs      *runs
	stats     Stats

	placing, cancelling, reading, paging *semaphore.Weighted
}

// NewService returns a Service backed by the given ports. Callers must Close it.
func NewService(store Store, stock Stock, flags Flags, ids IDs, cfg Config) *Service {
	config.Defaults(&cfg)
	return &Service{
		cfg: cfg, store: store, stock: stock, flags: flags, ids: ids,
		catalogue: newCatalogue(stock, cfg.PriceTTL),
		runs:      &runs{byID: map[int64]*run{}},
		placing:   semaphore.NewWeighted(cfg.MaxInFlight), cancelling: semaphore.NewWeighted(cfg.MaxInFlight),
		reading: semaphore.NewWeighted(readsAtOnce), paging: semaphore.NewWeighted(pagesAtOnce),
	}
}

// Close refuses further orders and waits for the orders in flight. If ctx ends first, Close cancels the work on them,
// which leaves them to the reconciler of another replica, and returns ctx's error.
func (s *Service) Close(ctx context.Context) error {
	err := s.runs.close(ctx)
	s.catalogue.fetch.Close()
	return err
}

// Get returns an order with its items, or ErrNotFound, ErrOverloaded or ErrUnavailable.
func (s *Service) Get(ctx context.Context, id int64) (o Order, err error) {
	err = s.withSlot(ctx, s.reading, 0, func(ctx context.Context) error {
		o, err = s.store.Get(ctx, id)
		return err
	})
	return o, err
}

// Page returns the first orders of the range, and whether there are more. They have at most MaxPageItems items in all.
// An order may become visible after orders with higher ids. With settled, the page ends before the first id that may
// still be missing, which is settledAfter old by the store's clock. Errors: ErrOverloaded, ErrUnavailable.
func (s *Service) Page(ctx context.Context, r Range, settled bool) (page []Order, more bool, err error) {
	err = s.withSlot(ctx, s.paging, pagePause, func(ctx context.Context) error {
		if settled {
			now, err := s.store.Now(ctx)
			if err != nil {
				return err
			}
			r.Before = now.Add(-settledAfter)
		}
		page, more, err = s.store.Page(ctx, r)
		return err
	})
	return page, more, err
}

const (
	// insertWithin is the age after which an order is no longer inserted, as after a pause of its process.
	insertWithin = 15 * time.Second
	// settledAfter is the age of ids that are visible or never will be. It allows for insertWithin, for the commit, and
	// for a replica's clock that is late by half a minute.
	settledAfter = time.Minute
)

// withSlot calls read once one of the slots is free, and returns ErrOverloaded if none is free in time. While orders
// are being placed, the slot stays taken after the read for pause times its duration, unless it fails: see pagePause.
func (s *Service) withSlot(ctx context.Context, slots *semaphore.Weighted, pause time.Duration,
	read func(context.Context) error,
) error {
	ctx, cancel := context.WithTimeout(ctx, s.cfg.ReadTimeout)
	defer cancel()
	if err := slots.Acquire(ctx, 1); err != nil {
		s.stats.Shed.Add(1)
		return fmt.Errorf("%w: %w", ErrOverloaded, err)
	}
	start, served := time.Now(), false
	defer func() { // after a panic, too
		if !served || s.stats.InFlight.Load() == 0 {
			pause = 0
		}
		time.AfterFunc(min(pause*time.Since(start), s.cfg.ReadTimeout/2), func() { slots.Release(1) })
	}()
	err := read(ctx)
	served = err == nil
	return err
}
