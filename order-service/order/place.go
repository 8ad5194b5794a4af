package order

import (
	"context"
	"errors"
	"fmt"
	"time"

	"orderstock/pkg/request"
	"orderstock/pkg/retry"
)

// Placement is the answer to a request: the order as it stood at its first
// end, or pending where that is not known yet.
type Placement struct {
	Order Order
	// Replayed is true where an earlier request with the same key placed the order.
	Replayed bool
}

// Place carries a request out. It returns when the order has its first end, or
// pending after the confirm budget, when ctx ends, or as soon as nothing more
// can be learned; the work goes on without the caller, and what it leaves
// undone is the reconciler's.
//
// A request whose key has an order already gets that order's answer, and no
// second one is made: the insert finds that out. Errors, after which no order
// was made: ErrKeyReused, ErrUnknownGoods, ErrTotalOverflow, ErrOverloaded,
// ErrStockUnavailable, ErrUnavailable; and ErrUnanswered, after which one may
// have been.
func (s *Service) Place(ctx context.Context, r Request) (Placement, error) {
	release, err := s.admit()
	if err != nil {
		return Placement{}, err
	}
	defer func() { release() }()
	ctx, cancel := context.WithTimeout(ctx, s.cfg.ConfirmBudget)
	defer cancel()

	o, err := s.draft(ctx, r)
	if err != nil {
		return s.replayOr(ctx, r, err)
	}

	// From here on the order is its own, not the client's: it is carried to an end whoever goes away.
	work, err := s.carry(ctx, o, release)
	if err != nil {
		return Placement{}, err
	}
	release = func() {}
	select {
	case <-work.done:
	case <-ctx.Done():
		return s.unfinished(ctx, o)
	}
	switch {
	case work.err != nil:
		return Placement{}, work.err
	case !work.inserted: // the key has an order, perhaps since a moment ago
		return s.replay(ctx, work.order, r)
	case work.order.Status == Cancelling: // somebody is just ending it
		return Placement{Order: s.awaitOutcome(ctx, work.order).AtFirstEnd()}, nil
	}
	return Placement{Order: work.order.AtFirstEnd()}, nil
}

// admit takes a place among the orders in flight, or returns ErrOverloaded.
func (s *Service) admit() (release func(), err error) {
	if !s.placing.TryAcquire(1) {
		s.stats.Shed.Add(1)
		return nil, ErrOverloaded
	}
	s.stats.InFlight.Add(1)
	return func() {
		s.stats.InFlight.Add(-1)
		s.placing.Release(1)
	}, nil
}

// draft returns the order to be written: with an id, and prices of the stock service's.
func (s *Service) draft(ctx context.Context, r Request) (Order, error) {
	if s.stock.Down() {
		return Order{}, fmt.Errorf("place order: %w", ErrStockUnavailable)
	}
	items, err := s.catalogue.price(ctx, r.items)
	if err != nil {
		return Order{}, fmt.Errorf("price order: %w", err)
	}
	sum, err := total(items)
	if err != nil {
		return Order{}, err
	}
	id, err := s.ids.Next()
	if err != nil {
		return Order{}, fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	now := time.Now().UTC().Truncate(time.Microsecond)
	return Order{
		ID: id, Status: Pending, Key: r.key, BodyHash: r.hash,
		Items: items, Total: sum, CreatedAt: now, UpdatedAt: now,
	}, nil
}

// replayOr answers a request that could not be drafted: a repeat is told its
// first answer also while the stock service is down, a new one the error.
func (s *Service) replayOr(ctx context.Context, r Request, refusal error) (Placement, error) {
	if r.key == "" {
		return Placement{}, refusal
	}
	prior, err := s.store.FindByKey(ctx, r.key)
	switch {
	case errors.Is(err, ErrNotFound):
		return Placement{}, refusal
	case err != nil:
		return Placement{}, fmt.Errorf("look idempotency key up: %w", err)
	}
	return s.replay(ctx, prior, r)
}

// replay answers a request whose key has an order already.
func (s *Service) replay(ctx context.Context, prior Order, r Request) (Placement, error) {
	if prior.BodyHash != r.hash {
		return Placement{}, ErrKeyReused
	}
	request.AddAttrs(ctx, "order_id", prior.ID)
	s.stats.Replayed.Add(1)
	if prior.Outcome == "" {
		prior = s.awaitOutcome(ctx, prior)
	}
	return Placement{Order: prior.AtFirstEnd(), Replayed: true}, nil
}

// unfinished answers a client whose order is still being worked on: pending, if it is written.
func (s *Service) unfinished(ctx context.Context, o Order) (Placement, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	o, err := s.latest(ctx, o)
	if err != nil { // not found is no answer either: the insert may be on its way
		return Placement{}, fmt.Errorf("%w: order %d: %v", ErrUnanswered, o.ID, err) //nolint:errorlint // for the reason given
	}
	return Placement{Order: o.AtFirstEnd()}, nil
}

// awaitOutcome waits for the first end of an order that is worked on here,
// elsewhere, or by nobody at present, and returns it as it stands when ctx ends.
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
			err = ErrOutcomeUnknown
		}
		return latest, err
	})
	if err != nil {
		return o
	}
	return latest
}
