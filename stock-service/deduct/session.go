package deduct

import (
	"context"
	"fmt"

	"orderstock/pkg/coordination"
	"orderstock/pkg/operation"
	"orderstock/pkg/zklock"
)

// Session is the ZooKeeper session that holds all of a process's locks.
type Session struct {
	*coordination.Session
	hooks zklock.Hooks
}

// OpenSession begins to connect. Callers must Close the session.
func OpenSession(cfg Config) *Session {
	return &Session{coordination.Open("locks", cfg.Config), newLockHooks(cfg.Metrics)}
}

// Acquire takes the mutex at path.
func (s *Session) Acquire(ctx context.Context, path string, opts ...zklock.Option) (Lock, error) {
	session, err := s.Get(ctx)
	if err != nil {
		return Lock{}, fmt.Errorf("%w: %w", operation.ErrUnavailable, err)
	}
	lock, err := zklock.NewMutex(session, path, append(opts, zklock.WithHooks(s.hooks))...).Acquire(ctx)
	if err != nil {
		return Lock{}, err
	}
	held := HeldLock(lock)
	held.Wanted = lock.Wanted
	return held, nil
}

// Holder returns the token of the present holder of the mutex at path, in any process, without its local part; zero if
// there is none.
func (s *Session) Holder(ctx context.Context, path string) (operation.Token, error) {
	session, err := s.Get(ctx)
	if err != nil {
		return operation.Token{}, err
	}
	status, err := zklock.Inspect(ctx, session, path)
	if err != nil || len(status.Holders) == 0 {
		return operation.Token{}, err
	}
	return operation.Token(status.Holders[0].Token.Bytes()), nil
}

// HeldLock returns a held lock of package zklock or herd as a Lock.
func HeldLock(lock interface {
	Token() zklock.Token
	Context() context.Context
	Release(ctx context.Context) error
},
) Lock {
	return Lock{Token: operation.Token(lock.Token().Bytes()), Alive: lock.Context(), Release: lock.Release}
}
