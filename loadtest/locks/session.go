package locks

import (
	"context"
	"path"
	"strings"
	"sync/atomic"

	"orderstock/pkg/zklock"
	"orderstock/pkg/zklock/herd"
)

// connectSession measures the locks that work on a zklock.Session: the package's mutex and the herd locks.
func connectSession(ctx context.Context, j job) (*subject, error) {
	session, err := zklock.Connect(ctx, strings.Split(j.servers, ","), zklock.WithSessionTimeout(sessionTimeout))
	if err != nil {
		return nil, err
	}
	s := &subject{close: session.Close}
	switch j.lock {
	case singleLock, watchAllLock, namedLock, sharedLock:
		s.measureHerd(session, j.lock)
	default:
		s.measureMutex(session, j.lock)
	}
	return s, nil
}

func (s *subject) measureMutex(session *zklock.Session, lock string) {
	var wakeups atomic.Int64
	options := []zklock.Option{zklock.WithHooks(zklock.Hooks{Woken: func(string) { wakeups.Add(1) }})}
	if lock == noHandoffLock {
		options = append(options, zklock.WithHandoff(1, 0))
	}
	s.wakeups = wakeups.Load
	s.contender = func(path string) (acquireFunc, error) {
		return acquirer(zklock.NewMutex(session, path, options...).Acquire), nil
	}
}

// herdLock is one of the herd locks.
type herdLock interface {
	Acquire(ctx context.Context) (*herd.Lock, error)
	Wakeups() int64
}

// writing is a shared lock whose contenders are all writers.
type writing struct{ *herd.Shared }

func (w writing) Acquire(ctx context.Context) (*herd.Lock, error) { return w.AcquireWrite(ctx) }

func newHerdLock(session *zklock.Session, lock, at string) (herdLock, error) {
	switch lock {
	case singleLock:
		return herd.NewSingleNode(session, at), nil
	case namedLock:
		return herd.NewNamed(session, path.Dir(at), path.Base(at), 0)
	case sharedLock:
		return writing{herd.NewShared(session, at, "bench")}, nil
	}
	return herd.NewSequential(session, at), nil
}

// measureHerd makes one lock for each path, as each counts its wake-ups.
func (s *subject) measureHerd(session *zklock.Session, lock string) {
	locks := map[string]herdLock{}
	s.wakeups = func() (n int64) {
		for _, l := range locks {
			n += l.Wakeups()
		}
		return n
	}
	s.contender = func(path string) (acquireFunc, error) {
		if locks[path] == nil {
			l, err := newHerdLock(session, lock, path)
			if err != nil {
				return nil, err
			}
			locks[path] = l
		}
		return acquirer(locks[path].Acquire), nil
	}
}

func acquirer[L interface{ Release(context.Context) error }](acquire func(context.Context) (L, error)) acquireFunc {
	return func(ctx context.Context) (releaseFunc, error) {
		lock, err := acquire(ctx)
		if err != nil {
			return nil, err
		}
		return lock.Release, nil
	}
}
