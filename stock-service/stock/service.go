package stock

import (
	"context"

	"orderstock/pkg/operation"
)

// Flags is the hint in Redis that an operation's first attempt is under way.
type Flags interface {
	// Take removes the flag and reports whether this call removed it. False
	// says nothing: the flag was taken before, was never set, or is not to be had.
	Take(ctx context.Context, flag string) bool
}

// Ledger keeps operations, levels and flows. Its methods return ErrUnavailable
// where the database cannot be had, beside what they name.
type Ledger interface {
	// Find returns the operations recorded under the flags; a flag with none is missing from the answer.
	Find(ctx context.Context, flags ...string) (map[string]Operation, error)
	// Cancel ends a flag: with a tombstone where nothing is recorded, by giving a
	// deduction back, and else by leaving the outcome as it is. ErrUnknownOutcome.
	Cancel(ctx context.Context, flag string) (Operation, error)
	// Flows returns the flow rows under the flags, by flag and goods.
	Flows(ctx context.Context, flags ...string) ([]Flow, error)
	// Goods returns the named goods by rising id; those that do not exist are missing.
	Goods(ctx context.Context, ids ...int64) ([]Goods, error)
	// GoodsAfter returns up to limit goods with ids above after, by rising id.
	GoodsAfter(ctx context.Context, after int64, limit int) ([]Goods, error)
	// Restock carries a valid restock out, once under its flag, and returns the
	// goods after it. ErrFlagConflict, ErrLevelOverflow, ErrUnknownOutcome.
	Restock(ctx context.Context, r Restock) (Goods, error)
}

// Deducter carries a deduction out: a strategy of keeping concurrent
// operations on the same goods apart.
type Deducter interface {
	// Deduct records the outcome of the request, or returns the one that its flag
	// has already. Errors: ErrUnavailable, ErrOverloaded, ErrStaleToken,
	// ErrUnknownGoods and ErrFlagConflict, after which nothing changed, and
	// ErrUnknownOutcome.
	Deduct(ctx context.Context, r Request) (Operation, error)
}

// Service is the stock service's use cases. Safe for concurrent use.
type Service struct {
	flags    Flags
	ledger   Ledger
	deducter Deducter
}

// NewService returns a service that works on those.
func NewService(flags Flags, ledger Ledger, deducter Deducter) *Service {
	return &Service{flags: flags, ledger: ledger, deducter: deducter}
}

// Deduct takes the items from the stock under the flag, all or none. A repeat
// is answered with the first attempt's outcome. Beside a Deducter's errors it
// returns those of operation.NewItems and ErrInvalidFlag.
func (s *Service) Deduct(ctx context.Context, flag string, items []operation.Item) (Operation, error) {
	if !ValidFlag(flag) {
		return Operation{}, ErrInvalidFlag
	}
	items, err := operation.NewItems(items)
	if err != nil {
		return Operation{}, err
	}
	// A flag that is there was set for this operation and never taken: this is its
	// first attempt. Anything else is for the ledger to say. An attempt may have
	// taken the flag and died, and two attempts that find nothing recorded are told
	// apart by the unique key.
	if !s.flags.Take(ctx, flag) {
		recorded, err := s.ledger.Find(ctx, flag)
		if err != nil {
			return Operation{}, err
		}
		if op, found := recorded[flag]; found {
			return op.Answer(items)
		}
	}
	return s.deducter.Deduct(ctx, Request{Flag: flag, Items: items})
}

// Cancel ends the flag for good: see Ledger.
func (s *Service) Cancel(ctx context.Context, flag string) (Operation, error) {
	if !ValidFlag(flag) {
		return Operation{}, ErrInvalidFlag
	}
	return s.ledger.Cancel(ctx, flag)
}

// Restock adds stock once under its flag and returns the goods after it.
func (s *Service) Restock(ctx context.Context, r Restock) (Goods, error) {
	if err := r.Validate(); err != nil {
		return Goods{}, err
	}
	return s.ledger.Restock(ctx, r)
}

// Recorded returns what is recorded under the flags: operations and flow rows.
func (s *Service) Recorded(ctx context.Context, flags []string) (map[string]Operation, []Flow, error) {
	for _, flag := range flags {
		if !ValidFlag(flag) {
			return nil, nil, ErrInvalidFlag
		}
	}
	operations, err := s.ledger.Find(ctx, flags...)
	if err != nil {
		return nil, nil, err
	}
	flows, err := s.ledger.Flows(ctx, flags...)
	return operations, flows, err
}

// Goods returns the named goods by rising id; those that do not exist are missing.
func (s *Service) Goods(ctx context.Context, ids []int64) ([]Goods, error) {
	return s.ledger.Goods(ctx, ids...)
}

// GoodsAfter returns a page of the goods: up to limit with ids above after.
func (s *Service) GoodsAfter(ctx context.Context, after int64, limit int) ([]Goods, error) {
	return s.ledger.GoodsAfter(ctx, after, limit)
}
