package locks

import (
	"context"
	"log/slog"
	"sync/atomic"

	"orderstock/pkg/herd"
	"orderstock/pkg/zklock"
)

// quiet keeps the log of the measured locks out of the measurement's output.
var quiet = zklock.WithLogger(slog.New(slog.DiscardHandler))

// connect connects for the locks that work on a zklock.Session, or by connectClient.
func (w Worker) connect(ctx context.Context) (*subject, error) {
	if w.Lock == clientLock || w.Lock == rawLock {
		return w.connectClient()
	}
	session, err := zklock.Connect(ctx, w.Servers, zklock.WithSessionTimeout(sessionTimeout), quiet)
	if err != nil {
		return nil, err
	}
	var wakeups atomic.Int64
	woken := func() { wakeups.Add(1) }
	s := &subject{wakeups: wakeups.Load, close: session.Close}
	options := []zklock.MutexOption{zklock.WithHooks(zklock.Hooks{Woken: func(string) { woken() }})}
	if w.Lock != zklockLock {
		options = append(options, zklock.WithHandoff(1, 0))
	}
	s.contender = func(at string) (acquireFunc, error) {
		switch w.Lock {
		case singleLock:
			lock := herd.NewSingleNode(session, at)
			lock.Woken = woken
			return acquirer(lock.Acquire), nil
		case watchAllLock:
			lock, err := newWatchAll(session.Conn(), at, session.ACL(), woken)
			return lock.acquire, err
		}
		return acquirer(zklock.NewMutex(session, at, options...).Acquire), nil
	}
	return s, nil
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
