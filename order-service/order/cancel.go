package order

import (
	"context"
	"errors"
	"fmt"

	"orderstock/pkg/request"
)

// Cancel cancels a pending or confirmed order; the stock of a confirmed one
// comes back, once. Cancel may be repeated. It writes the wish before it asks the
// stock service, so the wish is carried out even if this process dies. Until then
// the order is returned CANCELLING. If the write was not answered, the order is
// returned as it was read before, and the wish may be written or not.
// ErrNotFound, ErrRejected, ErrOverloaded, ErrUnavailable.
func (s *Service) Cancel(ctx context.Context, id int64) (Order, error) {
	request.AddAttrs(ctx, "order_id", id)
	if !s.cancelling.TryAcquire(1) {
		s.stats.Shed.Add(1)
		return Order{}, fmt.Errorf("cancel order: %w", ErrOverloaded)
	}
	defer s.cancelling.Release(1)
	o, err := s.Get(ctx, id)
	if err != nil {
		return Order{}, fmt.Errorf("cancel order: %w", err)
	}
	ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), s.cfg.ConfirmBudget)
	defer stop()
	o, err = s.cancel(ctx, o, ReasonClient)
	switch {
	case errors.Is(err, ErrUnanswered) && o.Status != Cancelling:
		request.Logger(ctx).Warn("wish to cancel unanswered", "error", err.Error())
	case err != nil && o.Status != Cancelling:
		return Order{}, fmt.Errorf("cancel order: %w", err)
	case err != nil:
		request.Logger(ctx).Warn("cancellation left to the reconciler", "error", err.Error())
	case o.Status == Rejected:
		return o, ErrRejected
	}
	return o, nil
}

// cancel writes the wish, cancels the flag at the stock service, and settles
// the order by the answer. It returns an order that cannot be cancelled any more
// as it is, and an order whose wish is written but not carried out CANCELLING,
// with the error.
func (s *Service) cancel(ctx context.Context, o Order, reason string) (Order, error) {
	o, err := s.wishToCancel(ctx, o, reason)
	if err != nil || o.Status != Cancelling {
		return o, err
	}
	op, err := s.stock.Cancel(ctx, o.Flag())
	if err != nil {
		return o, fmt.Errorf("cancel operation: %w", err)
	}
	end, err := s.settle(ctx, o, op)
	if err != nil {
		return o, err
	}
	if o.Outcome == "" || end.Status == Cancelled {
		s.stats.Cancelled.Add(1)
	}
	return end, nil
}

// wishToCancel takes the order to CANCELLING, unless it is there, or rejected, or cancelled.
func (s *Service) wishToCancel(ctx context.Context, o Order, reason string) (Order, error) {
	for o.Status == Pending || o.Status == Confirmed {
		moved, err := s.store.Move(ctx, Move{ID: o.ID, From: o.Status, To: Cancelling, Reason: reason})
		if err != nil {
			return o, fmt.Errorf("write wish to cancel: %w", err)
		}
		if moved {
			o = o.at(Cancelling, reason)
			break
		}
		if o, err = s.latest(ctx, o); err != nil {
			return o, fmt.Errorf("write wish to cancel: %w", err)
		}
	}
	return o, nil
}
