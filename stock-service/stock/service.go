// Package stock is the domain of the stock service: products and their levels, operations and their outcomes, and the
// rules that keep both correct.
//
// An operation is a deduction under an operation flag. A flag has one outcome, written once, in the operation's
// transaction. A repeat gets that outcome. The transaction alone decides: the flag in Redis only saves a look-up; the
// lock shortens waits and gives a fencing token, but does not make a deduction correct.
//
// Adapters: stockdb keeps the ledger in MySQL, deduct holds the deduction strategies, stockhttp serves the API.
package stock

import (
	"context"
	"strconv"

	"orderstock/pkg/observe"
	"orderstock/pkg/operation"
)

// Flags are the operation flags in Redis: a hint that an operation was not attempted yet.
type Flags interface {
	// Take removes the flag and reports whether this call removed it. False proves nothing: the flag may have been taken,
	// never set, or Redis is away.
	Take(ctx context.Context, flag string) bool
}

// Ledger keeps operations, levels and flows. In addition to the errors that they name, its methods return
// ErrUnavailable if the database does not answer. Writes return operation.ErrLocked if another transaction holds a row.
type Ledger interface {
	// Find returns the operations recorded under the flags, by flag. A flag without one is missing.
	Find(ctx context.Context, flags ...string) (map[string]operation.Operation, error)
	// Cancel ends a flag. If nothing is recorded, it writes a tombstone; if the items were deducted, it restores them; any
	// other outcome stays. It may return ErrUnknownOutcome.
	Cancel(ctx context.Context, flag string) (operation.Operation, error)
	// Flows returns the flow rows under the flags, sorted by flag, product and kind.
	Flows(ctx context.Context, flags ...string) ([]operation.Flow, error)
	// Goods returns the products with these ids, by ascending id. Unknown ones are missing.
	Goods(ctx context.Context, ids ...int64) ([]operation.Goods, error)
	// GoodsAfter returns up to limit products with ids above after, by ascending id.
	GoodsAfter(ctx context.Context, after int64, limit int) ([]operation.Goods, error)
	// Restock executes a valid restock, once under its flag, and returns the product after it. It may return
	// ErrFlagConflict, ErrLevelOverflow and ErrUnknownOutcome.
	Restock(ctx context.Context, r operation.Restock) (operation.Goods, error)
}

// Deducter executes deductions, and serializes concurrent ones on the same products.
type Deducter interface {
	// Deduct records the outcome of the request, or returns the outcome that its flag already has. After
	// operation.ErrLocked, ErrUnavailable, ErrOverloaded, ErrStaleToken, ErrUnknownGoods and ErrFlagConflict nothing
	// changed; after ErrUnknownOutcome the deduction may or may not have been made.
	Deduct(ctx context.Context, r Request) (operation.Operation, error)
}

// Service implements the use cases of the stock service. It is safe for concurrent use.
type Service struct {
	flags    Flags
	ledger   Ledger
	deducter Deducter
	gate     operation.Gate
}

// NewService returns a Service backed by the given ports.
func NewService(flags Flags, ledger Ledger, deducter Deducter) *Service {
	return &Service{flags: flags, ledger: ledger, deducter: deducter}
}

// Deduct takes the items from the stock under the flag, all or none. A repeat gets the outcome of the first attempt.
// Its errors are the errors of a Deducter and of operation.NewItems, and ErrInvalidFlag.
func (s *Service) Deduct(ctx context.Context, flag string, items []operation.Item) (operation.Operation, error) {
	if !observe.ValidID(flag) {
		return operation.Operation{}, operation.ErrInvalidFlag
	}
	items, err := operation.NewItems(items)
	if err != nil {
		return operation.Operation{}, err
	}
	// If this call takes the flag, it is the first attempt. If not, only the ledger knows: an earlier attempt may have
	// taken the flag and died. The unique key decides between two attempts that both find nothing recorded.
	if !s.take(ctx, flag) {
		recorded, err := s.find(ctx, flag)
		if err != nil {
			return operation.Operation{}, err
		}
		if op, found := recorded[flag]; found {
			return op.Answer(items)
		}
	}
	report, err := s.gate.Pass(items)
	if err != nil {
		return operation.Operation{}, err
	}
	op, err := s.deducter.Deduct(ctx, Request{Flag: flag, Items: items})
	report(op, err)
	return op, err
}

// take is Flags.Take, recorded as a step.
func (s *Service) take(ctx context.Context, flag string) bool {
	ctx, step := observe.Begin(ctx, "take-flag")
	first := s.flags.Take(ctx, flag)
	step.End(nil, "first", strconv.FormatBool(first))
	return first
}

// find is Ledger.Find, recorded as a step.
func (s *Service) find(ctx context.Context, flags ...string) (map[string]operation.Operation, error) {
	ctx, step := observe.Begin(ctx, "lookup-flow")
	found, err := s.ledger.Find(ctx, flags...)
	step.End(err, "found", strconv.Itoa(len(found)))
	return found, err
}

// Cancel ends the flag for good. It returns the errors of Ledger.Cancel, and ErrInvalidFlag.
func (s *Service) Cancel(ctx context.Context, flag string) (operation.Operation, error) {
	if !observe.ValidID(flag) {
		return operation.Operation{}, operation.ErrInvalidFlag
	}
	report, err := s.passCancel(ctx, flag)
	if err != nil {
		return operation.Operation{}, err
	}
	ctx, step := observe.Begin(ctx, "cancel-operation")
	op, err := s.ledger.Cancel(ctx, flag)
	step.End(err, "state", string(op.State))
	report(op, err)
	return op, err
}

// passCancel is Gate.Pass for the items that the cancellation would restore. It reads them only while any product is
// held.
func (s *Service) passCancel(ctx context.Context, flag string) (operation.Report, error) {
	if !s.gate.Any() {
		return s.gate.Pass(nil)
	}
	recorded, err := s.find(ctx, flag)
	if err != nil {
		return nil, err
	}
	return s.gate.Pass(recorded[flag].Items)
}

// Restock adds pieces, once under its flag, and returns the product after it. It returns the errors of Ledger.Restock
// and of validate.
func (s *Service) Restock(ctx context.Context, r operation.Restock) (operation.Goods, error) {
	if err := validate(r); err != nil {
		return operation.Goods{}, err
	}
	items := []operation.Item{{GoodsID: r.GoodsID, Num: r.Num}}
	report, err := s.gate.Pass(items)
	if err != nil {
		return operation.Goods{}, err
	}
	ctx, step := observe.Begin(ctx, "restock")
	goods, err := s.ledger.Restock(ctx, r)
	step.End(err)
	report(operation.Operation{State: operation.Done}, err) // a restock locks its row, also as a repeat
	return goods, err
}

// Recorded returns the operations and the flow rows under the flags. It returns ErrInvalidFlag if any flag is invalid.
func (s *Service) Recorded(
	ctx context.Context, flags []string,
) (map[string]operation.Operation, []operation.Flow, error) {
	for _, flag := range flags {
		if !observe.ValidID(flag) {
			return nil, nil, operation.ErrInvalidFlag
		}
	}
	operations, err := s.find(ctx, flags...)
	if err != nil {
		return nil, nil, err
	}
	flows, err := s.ledger.Flows(ctx, flags...)
	return operations, flows, err
}

// Goods returns the products with these ids, by ascending id. Unknown ones are missing.
func (s *Service) Goods(ctx context.Context, ids []int64) ([]operation.Goods, error) {
	return s.ledger.Goods(ctx, ids...)
}

// GoodsAfter returns up to limit products with ids above after, by ascending id.
func (s *Service) GoodsAfter(ctx context.Context, after int64, limit int) ([]operation.Goods, error) {
	return s.ledger.GoodsAfter(ctx, after, limit)
}
