package zklock

import (
	"context"
	"fmt"

	"github.com/go-zookeeper/zk"
)

// Semaphore is a lock that up to a given number hold together, among all processes. All of them
// must agree on the number. It is fair, not reentrant, and has no local hand-off. Its methods are
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
func (m *Semaphore) Acquire(ctx context.Context) (*Lock, error) { return m.acquire(ctx, false) }

// TryAcquire takes a lease if one is left and nobody else is about to take one, and returns
// ErrNotAcquired at once otherwise.
func (m *Semaphore) TryAcquire(ctx context.Context) (*Lock, error) { return m.acquire(ctx, true) }

func (m *Semaphore) acquire(ctx context.Context, try bool) (*Lock, error) {
	began := now()
	lock, err := m.lease(ctx, try)
	err = acquireError(ctx, m.path, err)
	m.opts.hooks.waited(m.path, began, err)
	return lock, err
}

func (m *Semaphore) lease(ctx context.Context, try bool) (*Lock, error) {
	if m.leases < 1 {
		return nil, fmt.Errorf("semaphore of %d leases: give NewSemaphore 1 or more", m.leases)
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	c, err := m.s.insist(ctx, func() (*claim, error) { return m.leaseOnce(ctx, try) })
	if err != nil {
		return nil, err
	}
	return c.lock(ctx, m.path), nil
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

func (m *Semaphore) leaseOnce(ctx context.Context, try bool) (*claim, error) {
	l := m.line(try)
	if try {
		if err := m.s.mightGet(ctx, l); err != nil {
			return nil, err
		}
	}
	gate, err := m.s.stand(ctx, mutexLine(m.path+"/locks", try), m.opts)
	if err != nil {
		return nil, err
	}
	defer gate.drop()
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
