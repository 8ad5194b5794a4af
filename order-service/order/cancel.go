package order

import (
	"context"
	"errors"
	"fmt"

	"orderstock/pkg/observe"
	"orderstock/pkg/operation"
)

// Cancel cancels a pending or confirmed order and returns the stock of a confirmed one, once. It may be repeated. It
// writes the request to cancel before it calls the stock service, so the order is cancelled even if this process dies.
// An order whose cancellation is not finished is returned as CANCELLING. If that write was not answered, or its result
// cannot be read, Cancel returns the order as it was read before; the request may or may not be written. Errors:
// ErrNotFound, ErrRejected, ErrOverloaded, ErrUnavailable.
func (s *Service) Cancel(ctx context.Context, id int64) (Order, error) {
	observe.AddAttrs(ctx, "order_id", id)
	if !s.cancelling.TryAcquire(1) {
		s.stats.Shed.Add(1)
		return Order{}, fmt.Errorf("cancel order: %w", ErrOverloaded)
	}
	defer s.cancelling.Release(1)
	reading, end := context.WithTimeout(ctx, s.cfg.ReadTimeout) // without a slot for reads: a cancellation has its own
	o, err := s.store.Get(reading, id)
	end()
	if err != nil {
		return Order{}, fmt.Errorf("cancel order: %w", err)
	}
	ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), s.cfg.ConfirmBudget)
	defer stop()
	o, err = s.cancel(ctx, o, ReasonClient)
	switch {
	case errors.Is(err, ErrUnanswered) && o.Status != Cancelling:
		observe.Logger(ctx).Warn("wish to cancel unanswered", "error", err.Error())
	case err != nil && o.Status != Cancelling:
		return Order{}, fmt.Errorf("cancel order: %w", err)
	case err != nil:
		observe.Logger(ctx).Warn("cancellation left to the reconciler", "error", err.Error())
	case o.Status == Rejected:
		return o, ErrRejected
	}
	return o, nil
}

// cancel writes the request to cancel, cancels the flag at the stock service, and settles the order by the answer. An
// order that can no longer be cancelled is returned as it is. If the stock service fails after the request is written,
// cancel returns the order as CANCELLING, and the error.
func (s *Service) cancel(ctx context.Context, o Order, reason string) (Order, error) {
	o, err := s.wishToCancel(ctx, o, reason)
	if err != nil || o.Status != Cancelling {
		return o, err
	}
	op, err := s.cancelFlag(ctx, o)
	if err != nil {
		return o, err
	}
	return s.settle(ctx, o, op)
}

// cancelFlag cancels the order's flag at the stock service.
func (s *Service) cancelFlag(ctx context.Context, o Order) (operation.Operation, error) {
	ctx, step := observe.Begin(ctx, "cancel-flag")
	op, err := s.stock.Cancel(ctx, o.Flag())
	step.End(err, "state", string(op.State))
	if err != nil {
		return op, fmt.Errorf("cancel operation: %w", err)
	}
	return op, nil
}

// wishToCancel moves the order to CANCELLING, unless it is cancelling, rejected or cancelled already.
func (s *Service) wishToCancel(ctx context.Context, o Order, reason string) (Order, error) {
	for o.Status == Pending || o.Status == Confirmed {
		moved, err := s.moveOnce(ctx, "cancel-order", Move{ID: o.ID, From: o.Status, To: Cancelling, Reason: reason})
		if err != nil {
			return o, fmt.Errorf("write wish to cancel: %w", err)
		}
		if moved {
			o = o.at(Cancelling, reason)
			break
		}
		if o, err = s.latest(ctx, o); err != nil { // the order may have been moved: see Store.Move
			return o, fmt.Errorf("write wish to cancel: %w: %v", ErrUnanswered, err) //nolint:errorlint // not that error
		}
	}
	return o, nil
}
