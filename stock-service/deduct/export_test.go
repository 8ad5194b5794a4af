package deduct

import (
	"context"
	"log/slog"
	"time"

	"orderstock/pkg/coordination"
	"orderstock/pkg/operation"
)

// Keeper is the keeper of a lock that a test defines.
type Keeper struct{ k *keeper }

func NewKeeper(acquire Acquire, holder func(context.Context) (operation.Token, error), patience time.Duration) Keeper {
	return Keeper{&keeper{
		locker: newLocker(Config{Config: coordination.Config{Log: slog.New(slog.DiscardHandler)}}),
		mutex:  acquire, holder: holder, patience: patience, turn: make(chan struct{}, 1),
	}}
}

// Acquire waits for a group's turn, and for the lock.
func (k Keeper) Acquire(ctx context.Context) Lock { return k.k.acquire(ctx, func() {}) }

// Idle ends the use of the lock if a group has it, and says that no work waits.
func (k Keeper) Idle(ctx context.Context) {
	select {
	case k.k.turn <- struct{}{}:
	default: // Acquire got the lock
	}
	k.k.done(ctx, false, false)
}

// Waiting returns the number of operations that wait for the next group, of any partition.
func Waiting(s Strategy) int {
	g := s.(*grouped)
	n := g.across.calls.Waiting()
	for _, p := range g.partitions {
		n += p.calls.Waiting()
	}
	return n
}

// Done ends a group's use of the lock. More says that work waits for it, useless that it is lost or its token stale.
func (k Keeper) Done(ctx context.Context, more, useless bool) { k.k.done(ctx, more, useless) }
