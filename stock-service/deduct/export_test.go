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
		locker:  newLocker(Config{Config: coordination.Config{Log: slog.New(slog.DiscardHandler)}}),
		acquire: acquire, holder: holder, patience: patience, turn: make(chan struct{}, 1),
	}}
}

func (k Keeper) Hold(ctx context.Context) Lock { return k.k.hold(ctx, func() {}) }
func (k Keeper) LetGo(ctx context.Context) {
	select {
	case k.k.turn <- struct{}{}:
	default: // Hold got the lock
	}
	k.k.leave(ctx, false)
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

// Leave ends the use of the lock; more says that work waits for it.
func (k Keeper) Leave(ctx context.Context, more bool) { k.k.leave(ctx, more) }

// LeaveAgain ends the use of the lock by a group that must be carried out again.
func (k Keeper) LeaveAgain(ctx context.Context) {
	holding{k.k}.leave(ctx, true)
}
