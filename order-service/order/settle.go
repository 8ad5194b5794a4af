package order

import (
	"context"
	"errors"
	"fmt"

	"orderstock/pkg/operation"
	"orderstock/pkg/request"
)

// The reasons that the service itself gives.
const (
	ReasonClient   = "cancelled by the client"
	ReasonExpired  = "expired: the stock service settled nothing in time"
	ReasonConflict = "flag_conflict: another operation has the order's flag"
	ReasonUnknown  = "unknown_goods: the stock service does not know the goods"
	ReasonForeign  = "the operation was cancelled at the stock service"
)

// settle brings the order to the end that the recorded operation means, unless
// somebody else did, and returns it as it stands then. A deduction does not end
// an order whose cancellation is under way: that stays CANCELLING.
func (s *Service) settle(ctx context.Context, o Order, op Operation) (Order, error) {
	if !op.of(o) {
		request.Logger(ctx).Error("another operation has the order's flag", "order_id", o.ID, "state", string(op.State))
		return s.refuse(ctx, o, ErrFlagConflict)
	}
	switch op.State {
	case operation.Done:
		return s.move(ctx, o, Confirmed, "", Pending)
	case operation.Rejected:
		return s.move(ctx, o, Rejected, op.Reason, Pending, Cancelling)
	case operation.Cancelled, operation.Restored:
		if o.Status == Pending {
			o, err := s.move(ctx, o, Cancelled, ReasonForeign, Pending)
			if err != nil || o.Status != Cancelling {
				return o, err
			}
			return s.move(ctx, o, Cancelled, o.Reason, Cancelling) // its cancellation was asked for meanwhile, for a reason
		}
		return s.move(ctx, o, Cancelled, o.Reason, Cancelling, Pending)
	}
	return o, fmt.Errorf("settle order %d: operation in state %q", o.ID, op.State)
}

// refuse ends an order that can never be deducted. Goods that the stock
// service does not know: the flag is cancelled, so that no late call deducts
// when they appear, then the order. Another operation under the flag: the order
// is cancelled and the flag left alone, as it is not the order's.
func (s *Service) refuse(ctx context.Context, o Order, cause error) (Order, error) {
	if errors.Is(cause, ErrFlagConflict) {
		return s.move(ctx, o, Cancelled, ReasonConflict, Pending, Cancelling)
	}
	return s.cancel(ctx, o, ReasonUnknown)
}

// move takes the order from one of the statuses in from, tried in turn, to to.
// It returns the order as it stands then. Where somebody else moved it, that may
// be elsewhere, or at to for another reason.
func (s *Service) move(ctx context.Context, o Order, to Status, reason string, from ...Status) (Order, error) {
	for _, f := range from {
		moved, err := s.store.Move(ctx, Move{ID: o.ID, From: f, To: to, Reason: reason})
		if err != nil {
			return o, fmt.Errorf("set status: %w", err)
		}
		if moved {
			return o.at(to, reason), nil
		}
	}
	o, err := s.latest(ctx, o)
	if err != nil {
		return o, fmt.Errorf("set status: %w", err)
	}
	return o, nil
}

// latest reads the order again. With an error it returns the order as it was given.
func (s *Service) latest(ctx context.Context, o Order) (Order, error) {
	stored, err := s.store.Status(ctx, o.ID)
	if err != nil {
		return o, err
	}
	stored.Items = o.Items
	return stored, nil
}

// at returns the order after a step to status, as the store has it.
func (o Order) at(status Status, reason string) Order {
	o.Status, o.Reason = status, reason
	if o.Outcome == "" && status.End() {
		o.Outcome = status
	}
	return o
}
