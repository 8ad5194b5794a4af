package zklock

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/go-zookeeper/zk"

	"orderstock/pkg/zklock/internal/conn"
	"orderstock/pkg/zklock/internal/queue"
)

// Semaphore is a lock that up to a given number of holders have together, among all processes. All of
// them must agree on the number: an acquisition is refused if its number is not the present holders'.
// It is fair and not reentrant, and has no local hand-off. Its methods are safe for
// concurrent use.
//
// It has the nodes of Apache Curator's InterProcessSemaphoreV2 in ZooKeeper: a lease is a node in
// path/leases, and a contender holds the mutex path/locks while it takes one. So one contender at a
// time waits for a lease to come back, and the others wait in order for the mutex.
type Semaphore struct {
	s      *Session
	path   string
	leases int
	opts   options
}

// NewSemaphore returns the semaphore on path with the given number of leases. If that is less than 1,
// each acquisition fails at once. The nodes of the path need not exist.
func NewSemaphore(s *Session, path string, leases int, opts ...Option) *Semaphore {
	o := optionsOf(s, opts)
	o.owner.Leases = leases
	o.node.Data = o.owner.encode()
	return &Semaphore{s: s, path: path, leases: leases, opts: o}
}

// Path returns the semaphore's path in ZooKeeper.
func (m *Semaphore) Path() string { return m.path }

// Acquire waits for a lease until ctx ends; see Mutex.Acquire. A later lease has a greater token, but
// since several are held at a time the tokens do not fence anything off.
//
// While others hold leases of a semaphore with a different number of them on the same path, all
// acquisitions fail with ErrLeaseCount.
func (m *Semaphore) Acquire(ctx context.Context) (*Lock, error) { return m.acquire(ctx, 1, false) }

// TryAcquire takes a lease if one is left and nobody else is about to take one, and returns
// ErrNotAcquired at once otherwise.
func (m *Semaphore) TryAcquire(ctx context.Context) (*Lock, error) { return m.acquire(ctx, 1, true) }

// AcquireN waits for n leases until ctx ends, all or none; see Acquire. They are one Lock: it has the
// token of the last lease, is lost with any of them, and releases all. Later contenders wait,
// so an acquisition of many leases has its turn, and two of them cannot wait for each
// other. Curator's acquire(n) does not keep this order, and two of them can.
func (m *Semaphore) AcquireN(ctx context.Context, n int) (*Lock, error) {
	return m.acquire(ctx, n, false)
}

// TryAcquireN is TryAcquire for n leases, all or none; see AcquireN.
func (m *Semaphore) TryAcquireN(ctx context.Context, n int) (*Lock, error) {
	return m.acquire(ctx, n, true)
}

func (m *Semaphore) acquire(ctx context.Context, n int, try bool) (*Lock, error) {
	began := conn.Now()
	lock, err := m.lease(ctx, n, try)
	return lock, m.opts.acquired(ctx, m.path, began, err)
}

func (m *Semaphore) lease(ctx context.Context, n int, try bool) (*Lock, error) {
	switch {
	case m.leases < 1:
		return nil, fmt.Errorf("semaphore of %d leases: give NewSemaphore 1 or more", m.leases)
	case n < 1 || n > m.leases:
		return nil, fmt.Errorf("%d of %d leases: ask for 1 to %d", n, m.leases, m.leases)
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	}
	requests, stop := conn.Until(ctx, m.s.conn.Context())
	defer stop()
	var leases []*holder
	err := m.s.queueAgain(requests, func(*conn.Lifetime) (err error) {
		leases, err = m.leaseOnce(requests, n, try)
		return err
	})
	if err != nil {
		return nil, err
	}
	if n == 1 {
		return leases[0].lock(ctx, m.path), nil
	}
	return lockOf(ctx, m.path, leases), nil
}

// lockOf makes one handle of several leases, which is lost with the first of them.
func lockOf(ctx context.Context, path string, leases []*holder) *Lock {
	last := leases[len(leases)-1]
	life, end := context.WithCancelCause(last.ctx)
	for _, h := range leases[:len(leases)-1] {
		context.AfterFunc(h.ctx, func() { end(context.Cause(h.ctx)) })
	}
	lock := newLock(ctx, life, path, Token{Czxid: last.czxid}, last.hooks)
	lock.holders = leases
	lock.giveUp = func(ctx context.Context) error {
		defer end(ErrReleased)
		var errs []error
		for _, h := range slices.Backward(leases) {
			errs = append(errs, h.release(ctx))
		}
		return errors.Join(errs...)
	}
	return lock
}

// leaseOnce takes n leases, one after the other. It holds the mutex of the semaphore, so that
// nobody else takes a lease.
func (m *Semaphore) leaseOnce(ctx context.Context, n int, try bool) ([]*holder, error) {
	if err := m.checkLeases(ctx, n, try); err != nil {
		return nil, err
	}
	mutex, err := m.s.acquire(ctx, mutexLine(m.path+"/locks", []queue.Kind{queue.Lock}), m.opts, try)
	if err != nil {
		return nil, err
	}
	defer mutex.drop()
	if err := m.checkLeases(ctx, n, try); err != nil {
		return nil, err
	}
	whileHeld, stop := conn.Until(ctx, mutex.ctx)
	defer stop()
	leases := make([]*holder, 0, n)
	for len(leases) < n && err == nil {
		var h *holder
		if h, err = m.s.queueUp(whileHeld, mutex.life, m.line(), m.opts, try); err == nil {
			leases = append(leases, h)
		}
	}
	lost := slices.ContainsFunc(leases, func(h *holder) bool { return !h.alive() })
	if lost || err != nil && ctx.Err() == nil && mutex.ctx.Err() != nil {
		err = fmt.Errorf("%s: %w", m.path, queue.ErrVanished)
	}
	if err != nil {
		for _, h := range leases {
			h.drop()
		}
		return nil, err
	}
	return leases, nil
}

// line is the queue of the leases. One contender at a time waits in it, so it may be woken by each
// change: by one event for each lease that comes back.
func (m *Semaphore) line() queue.Line {
	return queue.Line{
		Dir: m.path + "/leases", Own: queue.Lease, Kinds: []queue.Kind{queue.Lease}, Crowd: true,
		Rule: func(members []queue.Member, at int) *queue.Member {
			if at < m.leases {
				return nil
			}
			return &members[0] // any of the leases
		},
	}
}

// checkLeases checks, before anything is written, that the leases of others are of a semaphore with
// the same number of them, and with try that n are left.
func (m *Semaphore) checkLeases(ctx context.Context, n int, try bool) error {
	c, dir := m.s.conn, m.path+"/leases"
	names, err := c.Children(ctx, dir)
	if errors.Is(err, zk.ErrNoNode) {
		return nil
	}
	if err != nil {
		return err
	}
	taken := queue.Members(names, queue.Lease)
	for _, t := range taken { // one tells: a lease of a different number was refused
		other, err := contenderOf(ctx, c, dir, t)
		if errors.Is(err, zk.ErrNoNode) {
			continue
		}
		if err != nil {
			return err
		}
		if leases := other.Owner.Leases; leases != 0 && leases != m.leases { // Curator's leases do not say
			return fmt.Errorf("%w: %d, %s has one of %d", ErrLeaseCount, m.leases, t.Name, leases)
		} else if leases != 0 {
			break
		}
	}
	if try && len(taken)+n > m.leases {
		return ErrNotAcquired
	}
	return nil
}
