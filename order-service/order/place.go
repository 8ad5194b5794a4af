package order

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"orderstock/pkg/observe"
	"orderstock/pkg/operation"
	"orderstock/pkg/retry"
)

// Placement is the answer to a request: the order at its outcome, or pending if that is not known yet.
type Placement struct {
	Order Order
	// Replayed is true if an earlier request with the same key placed the order.
	Replayed bool
}

// Place handles a request: it drafts the order, writes it, sets its flag, asks the stock service for the deduction,
// reads the ledger, and settles the order. It returns when the order has an outcome. It returns the order pending when
// the confirm budget is used up, when ctx ends, or as soon as nothing more can be learned. The work continues without
// the caller, and the reconciler finishes the rest.
//
// If the request's key has an order already, which the insert finds out, Place returns that order's answer and places
// no second one. After ErrUnanswered an order may have been placed; after any other error none was.
func (s *Service) Place(ctx context.Context, r Request) (Placement, error) {
	release, err := s.admit()
	if err != nil {
		return Placement{}, err
	}
	defer func() { release() }()
	ctx, cancel := context.WithTimeout(ctx, s.cfg.ConfirmBudget)
	defer cancel()

	report, err := s.stock.Pass(ctx, r.items)
	if err != nil {
		return s.replayOr(ctx, r, fmt.Errorf("place order: %w", err))
	}
	o, err := s.draft(ctx, r)
	if err != nil {
		report(operation.Operation{}, nil)
		return s.replayOr(ctx, r, err)
	}

	// From here on the order is driven to an outcome even if the client goes away.
	work, err := s.carry(ctx, o, report, release)
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
	case !work.inserted: // the key has an order already
		return s.replay(ctx, work.order, r)
	case work.order.Status == Cancelling: // another call is about to finish it
		return Placement{Order: s.awaitOutcome(ctx, work.order).AtOutcome()}, nil
	}
	return Placement{Order: work.order.AtOutcome()}, nil
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

// draft returns the order to be written, with an id and the stock service's prices.
func (s *Service) draft(ctx context.Context, r Request) (Order, error) {
	prices, err := s.catalogue.price(ctx, r.items)
	if err != nil {
		return Order{}, fmt.Errorf("price order: %w", err)
	}
	sum, err := total(r.items, prices)
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
		Items: r.items, Prices: prices, Total: sum, CreatedAt: now, UpdatedAt: now, InsertBefore: now.Add(insertWithin),
		Trace: observe.Parent(ctx),
	}, nil
}

// carry starts the work on a drafted order, which uses report. The work lasts up to the pending limit, also after ctx
// has ended, and calls release at its end.
func (s *Service) carry(ctx context.Context, o Order, report operation.Report, release func()) (*run, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.cfg.PendingLimit)
	r := &run{cancel: cancel, done: make(chan struct{})}
	if !s.runs.add(o.ID, r) {
		cancel()
		report(operation.Operation{}, nil)
		return nil, fmt.Errorf("%w: stopping", ErrUnavailable)
	}
	observe.AddAttrs(ctx, "order_id", o.ID)
	go func() {
		defer s.runs.remove(o.ID)
		defer release()
		defer cancel()
		defer close(r.done)
		r.order, r.inserted, r.err = s.work(ctx, o, report)
	}()
	return r, nil
}

// work takes an order through its steps: insert, set the flag, call, confirm, settle. It leaves an order without
// an outcome to the reconciler.
func (s *Service) work(ctx context.Context, o Order, report operation.Report) (stored Order, inserted bool, err error) {
	start := time.Now()
	stored, inserted, err = s.insert(ctx, o)
	if err != nil || !inserted {
		report(operation.Operation{}, err)
		return stored, false, err
	}
	o = stored
	s.setFlag(ctx, o)
	if ended, end := s.call(ctx, o, report); ended {
		return end, true, nil
	}
	op, err := s.confirm(ctx, o)
	if err != nil {
		observe.Logger(ctx).Warn("order not confirmed, left to the reconciler", "error", err.Error())
		s.stats.Unsettled.Add(1)
		return o, true, nil
	}
	again := retry.Policy{First: 50 * time.Millisecond, Max: time.Second}
	end, err := retry.Do(ctx, again, func() (Order, error) { return s.settle(ctx, o, op) })
	if err != nil {
		observe.Logger(ctx).Warn("order not settled, left to the reconciler", "error", err.Error())
		s.stats.Unsettled.Add(1)
		return o, true, nil
	}
	s.stats.placed(end, time.Since(start))
	return end, true, nil
}

// insert writes the order. If the write is not answered, insert reads whether the order is there.
func (s *Service) insert(ctx context.Context, o Order) (stored Order, inserted bool, err error) {
	inserting, step := observe.Begin(ctx, "insert-order")
	stored, inserted, err = s.store.Insert(inserting, o)
	step.End(err, "inserted", strconv.FormatBool(inserted))
	if !errors.Is(err, ErrUnanswered) {
		return stored, inserted, err
	}
	if _, again := s.store.Status(ctx, o.ID); again == nil {
		return o, true, nil
	}
	return Order{}, false, err
}

// setFlag announces a first attempt to the stock service, through Redis. Without the flag the stock service looks the
// operation up in its database, which is slower but just as correct.
func (s *Service) setFlag(ctx context.Context, o Order) {
	ctx, step := observe.Begin(ctx, "set-flag")
	set := s.flags.Set(ctx, o.Flag())
	step.End(nil, "set", strconv.FormatBool(set))
	if !set {
		s.stats.FlagsMissed.Add(1)
	}
}

// call asks the stock service for the deduction. The ledger confirms the answer, so call returns ended only if there is
// no record to wait for: the stock service did nothing, temporarily or permanently.
func (s *Service) call(ctx context.Context, o Order, report operation.Report) (ended bool, end Order) {
	// Leave a third of the budget to the confirmation: it may find the outcome of a call that hangs.
	try, cancel := context.WithTimeout(ctx, s.cfg.ConfirmBudget*2/3)
	defer cancel()
	err := s.deduct(try, o, report)
	if err == nil {
		return false, o
	}
	switch code := operation.CodeOf(err); code {
	case operation.ErrUnknownOutcome:
		return false, o
	case operation.ErrFlagConflict, operation.ErrUnknownGoods:
		end, err := s.refuse(ctx, o, code)
		if err != nil {
			observe.Logger(ctx).Warn("order not cancelled, left to the reconciler", "error", err.Error())
		}
		return true, end
	}
	observe.Logger(ctx).Warn("not deducted, order left to the reconciler", "error", err.Error())
	s.stats.Unsettled.Add(1)
	return true, o
}

// deduct asks the stock service once, for an order that was let pass.
func (s *Service) deduct(ctx context.Context, o Order, report operation.Report) error {
	ctx, step := observe.Begin(ctx, "call-stock")
	op, err := s.stock.Deduct(ctx, o.Flag(), o.Items)
	report(op, err)
	step.End(err, "state", string(op.State))
	return err
}

// confirm reads the ledger for the order's flag, at once and then with growing pauses, until something is recorded or
// ctx ends.
func (s *Service) confirm(ctx context.Context, o Order) (operation.Operation, error) {
	poll := retry.Policy{First: 20 * time.Millisecond, Max: time.Second}
	op, err := retry.Do(ctx, poll, func() (operation.Operation, error) { return s.recorded(ctx, o) })
	if err != nil {
		return operation.Operation{}, fmt.Errorf("confirm: %w", err)
	}
	return op, nil
}

// recorded reads the ledger once. It returns errNoOutcome if nothing is recorded yet.
func (s *Service) recorded(ctx context.Context, o Order) (operation.Operation, error) {
	ctx, step := observe.Begin(ctx, "confirm")
	op, found, err := s.stock.Recorded(ctx, o.Flag())
	step.End(err, "state", string(op.State))
	if err == nil && !found {
		err = errNoOutcome
	}
	return op, err
}
