package zklock

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/go-zookeeper/zk"
)

// Semaphore is a lock that up to a given number hold together, among all processes. All of them
// must agree on the number, and who differs from those who hold it is refused. It is fair, not reentrant, and has no local hand-off. Its methods are
// safe for concurrent use.
//
// On the wire it is Apache Curator's InterProcessSemaphoreV2: a lease is a node in path/leases,
// and who wants one holds the mutex path/locks meanwhile, so that one waits at a time for a lease
// to come back and the others wait in order for the mutex.
type Semaphore struct {
	s      *Session
	path   string
	leases int
	opts   options
}

// NewSemaphore returns the semaphore on path, of as many leases: of less than 1, each acquisition
// fails at once. The nodes of the path need not exist.
func NewSemaphore(s *Session, path string, leases int, opts ...Option) *Semaphore {
	o := optionsOf(opts)
	o.owner.Leases = leases
	o.data = o.owner.encode()
	return &Semaphore{s: s, path: path, leases: leases, opts: o}
}

// Path returns the semaphore's path in ZooKeeper.
func (m *Semaphore) Path() string { return m.path }

// Acquire waits for a lease until ctx ends; see Mutex.Acquire. Tokens rise with the leases, but as
// several hold one at a time they do not fence anything off.
//
// While others hold leases of a semaphore of another number on the same path, all acquisitions fail
// with ErrLeaseCount.
func (m *Semaphore) Acquire(ctx context.Context) (*Lock, error) { return m.acquire(ctx, 1, false) }

// TryAcquire takes a lease if one is left and nobody else is about to take one, and returns
// ErrNotAcquired at once otherwise.
func (m *Semaphore) TryAcquire(ctx context.Context) (*Lock, error) { return m.acquire(ctx, 1, true) }

// AcquireN waits for n leases until ctx ends, all or none; see Acquire. They are one Lock: it has
// the token of the last lease, is lost with any of them, and releases all. Those who come later wait
// meanwhile, so that who wants many has a turn, and two who want many cannot wait for each other.
// Curator's acquire(n) does not wait in this order, and can.
func (m *Semaphore) AcquireN(ctx context.Context, n int) (*Lock, error) {
	return m.acquire(ctx, n, false)
}

// TryAcquireN is TryAcquire for n leases, all or none; see AcquireN.
func (m *Semaphore) TryAcquireN(ctx context.Context, n int) (*Lock, error) {
	return m.acquire(ctx, n, true)
}

func (m *Semaphore) acquire(ctx context.Context, n int, try bool) (*Lock, error) {
	began := now()
	lock, err := m.lease(ctx, n, try)
	err = acquireError(ctx, m.path, err)
	m.opts.hooks.waited(m.path, began, err)
	return lock, err
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
	var claims []*claim
	_, err := m.s.insist(ctx, func() (_ *claim, err error) {
		claims, err = m.leaseOnce(ctx, n, try)
		return nil, err
	})
	if err != nil {
		return nil, err
	}
	if n == 1 {
		return claims[0].lock(ctx, m.path), nil
	}
	return lockOf(ctx, m.path, claims), nil
}

// lockOf makes the handle of claims of one term, which is lost with the first of them.
func lockOf(ctx context.Context, path string, claims []*claim) *Lock {
	last := claims[len(claims)-1]
	life, end := context.WithCancelCause(last.ctx)
	for _, c := range claims[:len(claims)-1] {
		context.AfterFunc(c.ctx, func() { end(context.Cause(c.ctx)) })
	}
	lock := newLock(ctx, life, path, Token{Czxid: last.czxid}, last.hooks)
	lock.claims = claims
	lock.giveUp = func(ctx context.Context) error {
		defer end(ErrReleased)
		var errs []error
		for _, c := range slices.Backward(claims) {
			errs = append(errs, c.release(ctx))
		}
		return errors.Join(errs...)
	}
	return lock
}

func (m *Semaphore) line(try bool) line {
	return line{
		dir: m.path + "/leases", kind: kindLease, kinds: []kind{kindLease}, try: try,
		rule: func(queue []member, at int) *member {
			if at < m.leases {
				return nil
			}
			return &queue[0] // one of those: see awaitLease
		},
	}
}

// leaseOnce takes n leases, one after the other. Whoever wants any holds the gate meanwhile.
func (m *Semaphore) leaseOnce(ctx context.Context, n int, try bool) ([]*claim, error) {
	if err := m.mightLease(ctx, n, try); err != nil {
		return nil, err
	}
	gate, err := m.s.stand(ctx, mutexLine(m.path+"/locks", []kind{kindLock}, try), m.opts)
	if err != nil {
		return nil, err
	}
	defer gate.drop()
	if err := m.mightLease(ctx, n, try); err != nil { // nobody else takes a lease from here on
		return nil, err
	}
	claims := make([]*claim, 0, n)
	for len(claims) < n && err == nil {
		var c *claim
		if c, err = m.leaseBehind(ctx, gate, try); err == nil {
			claims = append(claims, c)
		}
	}
	if gone := slices.IndexFunc(claims, func(c *claim) bool { return !c.alive() }); err == nil && gone >= 0 {
		err = fmt.Errorf("%s: %w", claims[gone].path, errVanished)
	}
	if err != nil {
		for _, c := range claims {
			c.drop()
		}
		return nil, err
	}
	return claims, nil
}

// mightLease asks, before anything is written, whether the leases that others have are of a
// semaphore of as many, and with try whether n are left.
func (m *Semaphore) mightLease(ctx context.Context, n int, try bool) error {
	dir := m.path + "/leases"
	names, err := m.s.children(ctx, dir)
	if errors.Is(err, zk.ErrNoNode) {
		return nil
	}
	if err != nil {
		return err
	}
	taken := members(names, kindLease)
	for _, t := range taken { // one tells it: those whose number differed were refused
		other, err := m.s.contender(ctx, dir, t)
		if errors.Is(err, zk.ErrNoNode) {
			continue
		}
		if err != nil {
			return err
		}
		if leases := other.Owner.Leases; leases != 0 && leases != m.leases { // Curator's say nothing
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

// leaseBehind takes one lease for the holder of the gate.
func (m *Semaphore) leaseBehind(ctx context.Context, gate *claim, try bool) (*claim, error) {
	l := m.line(try)
	n, err := m.s.createNode(ctx, l.dir, l.kind, m.opts)
	if err != nil {
		return nil, err
	}
	return n.stay(ctx, gate.term, func() (*claim, error) { return n.awaitLease(ctx, gate, l) })
}

// awaitLease waits until the node is one of the first. It is the only one that waits, so it may
// watch them all: one event for each lease that comes back.
func (n *node) awaitLease(ctx context.Context, gate *claim, l line) (*claim, error) {
	for {
		own := n.s.watch(n.path)
		names, events, err := n.s.childrenW(ctx, l.dir)
		queue, at, err := n.look(ctx, gate.term, own, l, names, err)
		if err != nil {
			return nil, err
		}
		if l.rule(queue, at) == nil {
			return n.claim(gate.term, own, len(queue)-1-at)
		}
		if l.try {
			return nil, ErrNotAcquired
		}
		select {
		case <-events:
		case <-own.fired:
		case <-gate.ctx.Done():
			return nil, fmt.Errorf("%w: %w", errVanished, context.Cause(gate.ctx))
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-n.s.ctx.Done():
			return nil, ErrSessionClosed
		}
	}
}

// childrenW reads the names and sets a watch on them. One that is left behind fires when a node of
// ours there goes.
func (s *Session) childrenW(ctx context.Context, dir string) ([]string, <-chan zk.Event, error) {
	type sight struct {
		names  []string
		events <-chan zk.Event
	}
	seen, err := call(ctx, s, func() (sight, error) {
		names, _, events, err := s.conn.ChildrenW(dir)
		return sight{names, events}, err
	}, nil)
	return seen.names, seen.events, err
}
