package zklock

import (
	"context"
	"errors"
)

// Locker is a lock of any kind: a Mutex, a ReentrantMutex, a Semaphore, or a side of an RWMutex.
type Locker interface {
	// Path returns the lock's path in ZooKeeper.
	Path() string
	// Acquire waits for the lock until ctx ends; see Mutex.Acquire.
	Acquire(ctx context.Context) (*Lock, error)
	// TryAcquire returns ErrNotAcquired at once if the lock is taken; see Mutex.TryAcquire.
	TryAcquire(ctx context.Context) (*Lock, error)
}

var _, _, _, _ Locker = (*Mutex)(nil), (*ReentrantMutex)(nil), (*Semaphore)(nil), side{}

// Do runs f while it holds l: it waits for the lock until ctx ends, and releases it when f
// returns or panics. The context of f is ctx with an earlier end, when the lock is lost.
//
// Do returns the error of the acquisition, and then has not run f; otherwise the error of f, joined
// with ErrLost if the lock was lost before f returned: then others may have held it meanwhile.
func Do(ctx context.Context, l Locker, f func(ctx context.Context, lock *Lock) error) (err error) {
	lock, err := l.Acquire(ctx)
	if err != nil {
		return err
	}
	defer func() {
		undo, cancel := context.WithTimeout(context.WithoutCancel(ctx), undoTimeout)
		defer cancel()
		err = errors.Join(err, lock.Release(undo))
	}()
	held, stop := under(ctx, lock.Context())
	defer stop()
	return f(held, lock)
}
