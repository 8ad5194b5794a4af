package zklock

import (
	"context"
	"errors"
	"fmt"

	"github.com/go-zookeeper/zk"

	"orderstock/pkg/zklock/internal/conn"
)

// Semaphore is a lock that up to a given number of holders have together, among all processes. All of
// them must agree on the number: an acquisition fails with ErrLeaseCount if its number is not the present holders'.
// It is fair and not reentrant, and has no local hand-off. Its methods are safe for concurrent use.
//
// It has the nodes of Apache Curator's InterProcessSemaphoreV2 in ZooKeeper: a lease is a node in
// path/leases, and a contender holds the mutex path/locks while it takes one. So one contender at a
// time waits for a lease to come back, and the others wait in order for the mutex.
type Semaphore struct {
	queued
	leases int
}

// NewSemaphore returns the semaphore on path with that many leases. With less than 1, each acquisition fails at once.
func NewSemaphore(s *Session, path string, leases int, opts ...Option) *Semaphore {
	o := optionsOf(s, opts, Option.setLock)
	o.owner.Leases = leases
	return &Semaphore{newQueued(s, path, o), leases}
}

// Acquire waits for a lease until ctx ends; see Mutex.Acquire. A later lease has a greater token, but
// since several are held at a time the tokens do not fence anything off.
func (m *Semaphore) Acquire(ctx context.Context) (*Lock, error) { return m.acquire(ctx, false) }

// TryAcquire takes a lease if one is left and nobody else is about to take one, and returns
// ErrNotAcquired at once otherwise.
func (m *Semaphore) TryAcquire(ctx context.Context) (*Lock, error) { return m.acquire(ctx, true) }

func (m *Semaphore) acquire(ctx context.Context, try bool) (*Lock, error) {
	return m.acquiring(ctx, func() (*Lock, error) { return m.lease(ctx, try) })
}

func (m *Semaphore) lease(ctx context.Context, try bool) (*Lock, error) {
	switch {
	case m.leases < 1:
		return nil, fmt.Errorf("semaphore of %d leases: give NewSemaphore 1 or more", m.leases)
	case m.opts.invalid != nil:
		return nil, m.opts.invalid
	}
	requests, stop := conn.Until(ctx, m.s.conn.Context())
	defer stop()
	var h *holder
	err := m.s.queueAgain(requests, func(*conn.Lifetime) (err error) {
		h, err = m.leaseOnce(requests, try)
		return err
	})
	if err != nil {
		return nil, err
	}
	return h.lock(ctx, m.path), nil
}

// leaseOnce takes a lease. It holds the mutex of the semaphore, so that nobody else takes one.
func (m *Semaphore) leaseOnce(ctx context.Context, try bool) (*holder, error) {
	if err := m.checkLeases(ctx, try); err != nil {
		return nil, err
	}
	mutex, err := m.s.acquire(ctx, line{
		dir: m.path + "/locks", own: lockKind, kinds: []kind{lockKind}, before: inTurn, opts: &m.opts,
	}, try)
	if err != nil {
		return nil, err
	}
	defer mutex.drop()
	if err := m.checkLeases(ctx, try); err != nil {
		return nil, err
	}
	whileHeld, stop := conn.Until(ctx, mutex.ctx)
	defer stop()
	h, err := m.s.queueUp(whileHeld, mutex.life, m.line(), try)
	if err != nil && ctx.Err() == nil && mutex.ctx.Err() != nil {
		err = fmt.Errorf("%s: %w", m.path, errVanished)
	}
	return h, err
}

// line is the queue of the leases. One contender at a time waits in it, so it may be woken by each
// change: by one event for each lease that comes back.
func (m *Semaphore) line() line {
	return line{
		dir: m.path + "/leases", own: leaseKind, kinds: []kind{leaseKind}, watchParent: true, opts: &m.opts,
		before: func(members []member, at int) string {
			if at < m.leases {
				return ""
			}
			return members[0].name // any of the leases
		},
	}
}

// checkLeases checks, before anything is written, that the leases of others are of a semaphore with
// the same number of them, and with try that one is left.
func (m *Semaphore) checkLeases(ctx context.Context, try bool) error {
	c, dir := m.s.conn, m.path+"/leases"
	names, err := c.Children(ctx, dir)
	if errors.Is(err, zk.ErrNoNode) {
		return nil
	}
	if err != nil {
		return err
	}
	taken := membersOf(names, leaseKind)
	for _, t := range taken { // one tells: a lease of a different number was refused
		other, err := contenderOf(ctx, c, dir, t)
		if errors.Is(err, zk.ErrNoNode) {
			continue
		}
		if err != nil {
			return err
		}
		if leases := other.Owner.Leases; leases != 0 && leases != m.leases { // Curator's leases do not say
			return fmt.Errorf("%w: %d, %s has one of %d", ErrLeaseCount, m.leases, t.name, leases)
		} else if leases != 0 {
			break
		}
	}
	if try && len(taken) >= m.leases {
		return ErrNotAcquired
	}
	return nil
}
