package order

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"orderstock/pkg/observe"
	"orderstock/pkg/operation"
)

// The reasons given by the service itself.
const (
	ReasonClient   = "cancelled by the client"
	ReasonExpired  = "expired: the stock service settled nothing in time"
	ReasonConflict = "flag_conflict: another operation has the order's flag"
	ReasonUnknown  = "unknown_goods: the stock service does not know the goods"
	ReasonForeign  = "the operation was cancelled at the stock service"
)

// settle moves the order to the outcome that the recorded operation implies, unless another call has moved it already,
// and returns the order as stored. A deduction does not finish an order that is being cancelled: it stays CANCELLING.
func (s *Service) settle(ctx context.Context, o Order, op operation.Operation) (Order, error) {
	if !belongs(op, o) {
		observe.Logger(ctx).Error("another operation has the order's flag", "order_id", o.ID, "state", string(op.State))
		return s.refuse(ctx, o, operation.ErrFlagConflict)
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
			return s.move(ctx, o, Cancelled, o.Reason, Cancelling) // a request to cancel came first: keep its reason
		}
		return s.move(ctx, o, Cancelled, o.Reason, Cancelling, Pending)
	}
	return o, fmt.Errorf("settle order %d: operation in state %q", o.ID, op.State)
}

// belongs reports whether the operation is the order's.
func belongs(op operation.Operation, o Order) bool {
	return op.State == operation.Cancelled || slices.Equal(op.Items, o.Items)
}

// refuse finishes an order that can never be deducted. If the stock service does not know a product, refuse cancels the
// flag, so that no late call deducts once the product appears, and then the order. If the flag belongs to another
// operation, refuse cancels the order alone.
func (s *Service) refuse(ctx context.Context, o Order, cause operation.Code) (Order, error) {
	if cause == operation.ErrFlagConflict {
		return s.move(ctx, o, Cancelled, ReasonConflict, Pending, Cancelling)
	}
	return s.cancel(ctx, o, ReasonUnknown)
}

// move changes the order's status to the status to, from one of the statuses from, tried in turn. It returns the order
// as stored. If another call has moved it, its status may be another one, or the same for another reason.
func (s *Service) move(ctx context.Context, o Order, to Status, reason string, from ...Status) (Order, error) {
	for _, f := range from {
		moved, err := s.moveOnce(ctx, "set-status", Move{ID: o.ID, From: f, To: to, Reason: reason})
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

// moveOnce is Store.Move, recorded as the step of that name.
func (s *Service) moveOnce(ctx context.Context, name string, m Move) (bool, error) {
	ctx, step := observe.Begin(ctx, name)
	moved, err := s.store.Move(ctx, m)
	step.End(err, "from", string(m.From), "to", string(m.To), "moved", strconv.FormatBool(moved))
	return moved, err
}

// latest reads the order again. If that fails, it returns the order unchanged, and the error.
func (s *Service) latest(ctx context.Context, o Order) (Order, error) {
	stored, err := s.store.Status(ctx, o.ID)
	if err != nil {
		return o, err
	}
	stored.Items, stored.Prices = o.Items, o.Prices
	return stored, nil
}

// at returns the order after a move to status, as the store has it.
func (o Order) at(status Status, reason string) Order {
	o.Status, o.Reason = status, reason
	if o.Outcome == "" && status.IsOutcome() {
		o.Outcome = status
	}
	return o
}
