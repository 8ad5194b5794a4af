package deduct

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"orderstock/pkg/coordination"
	"orderstock/pkg/observe"
	"orderstock/pkg/operation"
	"orderstock/pkg/zklock"
)

// Lock is a held lock.
type Lock struct {
	// Token fences the writes under the lock; it is zero if the lock has none.
	Token operation.Token
	// Alive ends when the lock is lost or released; it is nil if the lock cannot detect a loss.
	Alive context.Context
	// Release gives the lock up.
	Release func(context.Context) error
	// Wanted returns nil when another process waits for the lock, and an error when its context or the lock ends. It is
	// nil if the lock does not know its waiters.
	Wanted func(context.Context) error
}

// Acquire takes a lock, or fails when ctx ends.
type Acquire func(ctx context.Context) (Lock, error)

// trace adds a step with the lock, from the given time until now, to the trace of ctx, if it has one.
func (l Lock) trace(ctx context.Context, step string, began time.Time, err error) {
	_, past := observe.Began(ctx, step, began)
	past.End(err, "token", l.Token.String())
}

var errLockLost = errors.New("lock lost")

// whileHeld returns a context that ends with ctx, or as soon as one of the locks is lost. A transaction under it is
// then rolled back.
func whileHeld(ctx context.Context, locks ...Lock) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	var stops []func() bool
	for _, lock := range locks {
		if lock.Alive != nil {
			stops = append(stops, context.AfterFunc(lock.Alive, func() { cancel(errLockLost) }))
		}
	}
	return ctx, func() {
		for _, stop := range stops {
			stop()
		}
		cancel(nil)
	}
}

// locker takes locks and releases them.
type locker struct {
	log      *slog.Logger
	wrap     func(Acquire) Acquire // nil or Config.WrapLock
	wait     prometheus.Histogram
	waiting  prometheus.Gauge
	failures prometheus.Counter
}

func newLocker(cfg Config) locker {
	with := promauto.With(cfg.Metrics)
	return locker{
		log: cfg.Log, wrap: cfg.WrapLock,
		wait: with.NewHistogram(lockSeconds("stock_lock_wait_seconds", "Time from asking for a lock to holding it.")),
		waiting: with.NewGauge(prometheus.GaugeOpts{
			Name: "stock_lock_waiting", Help: "Requests of this process that wait for a lock.",
		}),
		failures: with.NewCounter(prometheus.CounterOpts{
			Name: "stock_lock_failures_total", Help: "Locks that could not be acquired in time.",
		}),
	}
}

// take acquires one lock within ctx. Its error is ErrUnavailable or operation.ErrLocked: nothing changed.
func (l *locker) take(ctx context.Context, acquire Acquire) (Lock, error) {
	if l.wrap != nil {
		acquire = l.wrap(acquire)
	}
	asked := time.Now()
	l.waiting.Inc()
	lock, err := acquire(ctx)
	l.waiting.Dec()
	if err != nil {
		l.failures.Inc()
		if errors.Is(err, operation.ErrLocked) {
			return Lock{}, fmt.Errorf("acquire lock: %w", err)
		}
		return Lock{}, fmt.Errorf("%w: acquire lock: %w", operation.ErrUnavailable, err)
	}
	l.wait.Observe(time.Since(asked).Seconds())
	return lock, nil
}

// releaseLimit bounds a release. The caller's context does not, as it may be over.
const releaseLimit = 2 * time.Second

// release releases the locks, the last first. A failure is only logged: the transaction under the locks has ended in
// any case.
func (l *locker) release(ctx context.Context, locks []Lock) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseLimit)
	defer cancel()
	for i := len(locks) - 1; i >= 0; i-- {
		began := time.Now()
		err := locks[i].Release(ctx)
		locks[i].trace(ctx, "release-lock", began, err)
		if err != nil {
			l.log.Warn("lock not released; it ends with its session", "error", err)
		}
	}
}

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
func (s *Session) Acquire(ctx context.Context, path string, opts ...zklock.MutexOption) (Lock, error) {
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

// holder returns the token of the present holder of the mutex at path, in any process, without its local part; zero if
// there is none.
func (s *Session) holder(ctx context.Context, path string) (operation.Token, error) {
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

// newLockHooks returns hooks that count grants, hand-overs and losses of locks, with metrics registered at r, if r
// is not nil.
func newLockHooks(r prometheus.Registerer) zklock.Hooks {
	with := promauto.With(r)
	counter := func(name, help string) prometheus.Counter {
		return with.NewCounter(prometheus.CounterOpts{Name: "stock_lock_" + name, Help: help})
	}
	held := with.NewHistogram(lockSeconds("stock_lock_held_seconds", "Time for which a lock was held."))
	lost := counter("lost_total", "Locks that were lost while held.")
	orphaned := counter("orphaned_nodes_total", "Queue nodes that could not be removed at once, and are gone.")
	woken := counter("woken_total", "Waiters that ZooKeeper woke.")
	handed := with.NewCounterVec(prometheus.CounterOpts{
		Name: "stock_lock_handovers_total",
		Help: "Grants of a lock, by whether it came from this process, without ZooKeeper.",
	}, []string{"local"})
	local, remote := handed.WithLabelValues("true"), handed.WithLabelValues("false")
	return zklock.Hooks{
		Woken:    func(string) { woken.Inc() },
		Held:     func(_ string, d time.Duration) { held.Observe(d.Seconds()) },
		Lost:     func(string, error) { lost.Inc() },
		Orphaned: func(string) { orphaned.Inc() },
		HandedOver: func(_ string, here bool) {
			if here {
				local.Inc()
				return
			}
			remote.Inc()
		},
	}
}

func lockSeconds(name, help string) prometheus.HistogramOpts {
	return prometheus.HistogramOpts{
		Name: name, Help: help,
		Buckets: prometheus.ExponentialBuckets(0.0001, 4, 9), NativeHistogramBucketFactor: 1.1,
	}
}
