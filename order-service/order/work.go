package order

import (
	"context"
	"errors"
	"fmt"
	"time"

	"orderstock/pkg/request"
	"orderstock/pkg/retry"
)

// carry starts the work on a drafted order. It has the pending limit, whatever
// becomes of ctx, and calls release at its end.
func (s *Service) carry(ctx context.Context, o Order, release func()) (*run, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.cfg.PendingLimit)
	r := &run{cancel: cancel, done: make(chan struct{})}
	if !s.runs.add(o.ID, r) {
		cancel()
		return nil, fmt.Errorf("%w: stopping", ErrUnavailable)
	}
	request.AddAttrs(ctx, "order_id", o.ID)
	go func() {
		defer s.runs.remove(o.ID)
		defer release()
		defer cancel()
		defer close(r.done)
		r.order, r.inserted, r.err = s.work(ctx, o)
	}()
	return r, nil
}

// work is an order's way: insert, set the flag, call, confirm, settle. An
// order without an outcome at the end is left to the reconciler.
func (s *Service) work(ctx context.Context, o Order) (stored Order, inserted bool, err error) {
	start := time.Now()
	stored, inserted, err = s.insert(ctx, o)
	if err != nil || !inserted {
		return stored, false, err
	}
	o = stored
	s.setFlag(ctx, o)
	if done, end := s.call(ctx, o); done {
		return end, true, nil
	}
	op, err := s.confirm(ctx, o)
	if err != nil {
		request.Logger(ctx).Warn("order not confirmed, left to the reconciler", "error", err.Error())
		s.stats.Unsettled.Add(1)
		return o, true, nil
	}
	again := retry.Policy{First: 50 * time.Millisecond, Max: time.Second}
	end, err := retry.Do(ctx, again, func() (Order, error) { return s.settle(ctx, o, op) })
	if err != nil {
		request.Logger(ctx).Warn("order not settled, left to the reconciler", "error", err.Error())
		s.stats.Unsettled.Add(1)
		return o, true, nil
	}
	s.stats.placed(end, time.Since(start))
	return end, true, nil
}

// insert writes the order, and reads again where the write was not answered.
func (s *Service) insert(ctx context.Context, o Order) (stored Order, inserted bool, err error) {
	stored, inserted, err = s.store.Insert(ctx, o)
	if !errors.Is(err, ErrUnanswered) {
		return stored, inserted, err
	}
	if _, again := s.store.Status(ctx, o.ID); again == nil {
		return o, true, nil
	}
	return Order{}, false, err
}

// setFlag tells the stock service, through Redis, that a first attempt is
// coming. Without it the stock service looks the flag up: slower, never wrong.
func (s *Service) setFlag(ctx context.Context, o Order) {
	if !s.flags.Set(ctx, o.Flag()) {
		s.stats.FlagsMissed.Add(1)
	}
}

// call asks the stock service for the deduction. Its answer is confirmed by
// what it recorded; only where it did nothing, now or for good, is there no
// record to wait for, and the order's way ends here.
func (s *Service) call(ctx context.Context, o Order) (done bool, end Order) {
	// Leave a third of the budget to the confirmation: it may find what a call that hangs has done.
	try, cancel := context.WithTimeout(ctx, s.cfg.ConfirmBudget*2/3)
	defer cancel()
	_, err := s.stock.Deduct(try, o.Flag(), o.Items)
	switch {
	case err == nil, errors.Is(err, ErrOutcomeUnknown):
		return false, o
	case errors.Is(err, ErrFlagConflict), errors.Is(err, ErrUnknownGoods):
		end, err := s.refuse(ctx, o, err)
		if err != nil {
			request.Logger(ctx).Warn("order not cancelled, left to the reconciler", "error", err.Error())
		}
		return true, end
	}
	request.Logger(ctx).Warn("stock service not available, order left to the reconciler", "error", err.Error())
	s.stats.Unsettled.Add(1)
	return true, o
}
