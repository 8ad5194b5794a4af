package zklock

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"unicode/utf8"

	"github.com/go-zookeeper/zk"

	"orderstock/pkg/zklock/internal/conn"
	"orderstock/pkg/zklock/internal/queue"
)

// Election chooses one leader among the candidates of all processes, as package concurrency of etcd's
// client does. Candidates queue like the contenders of a Mutex, first come, first served, without
// local hand-off: the first one leads. It is a cheap value; all with one path are the same election.
// Its methods are safe for concurrent use.
//
// It has the same nodes in ZooKeeper as a Mutex on the same path, and excludes that Mutex.
type Election struct {
	s    *Session
	path string
	opts options
}

// maxValue bounds a candidate's value, in bytes. A server cuts the connection of a client whose
// request is longer than a megabyte.
const maxValue = 64 << 10

// NewElection returns the election on path, an absolute path in ZooKeeper; see NewMutex. The nodes of
// the path need not exist. WithHandoff and WithLinger have no effect.
func NewElection(s *Session, path string, opts ...Option) *Election {
	return &Election{s: s, path: path, opts: optionsOf(s, opts)}
}

// Path returns the election's path in ZooKeeper.
func (e *Election) Path() string { return e.path }

// Campaign waits until the caller leads, or ctx ends, over reconnects and session losses. It
// returns the errors of Mutex.Acquire. The value, at most 64 KiB of UTF-8, describes the candidate to others,
// for example its address; Observe and Inspect show it.
func (e *Election) Campaign(ctx context.Context, value string) (*Leadership, error) {
	began := conn.Now()
	leader, err := e.campaign(ctx, value)
	return leader, e.opts.acquired(ctx, e.path, began, err)
}

func (e *Election) campaign(ctx context.Context, value string) (*Leadership, error) {
	o := e.opts
	var err error
	if o.node.Data, err = e.data(value); err != nil {
		return nil, err
	}
	h, err := e.s.acquire(ctx, mutexLine(e.path, []queue.Kind{queue.Lock}), o, false)
	if err != nil {
		return nil, err
	}
	return &Leadership{Lock: h.lock(ctx, e.path), election: e, node: h.Path}, nil
}

// data returns the data of a candidate's node.
func (e *Election) data(value string) ([]byte, error) {
	if len(value) > maxValue || !utf8.ValidString(value) {
		return nil, fmt.Errorf("value of %d bytes: want at most %d bytes of UTF-8", len(value), maxValue)
	}
	owner := e.opts.owner
	owner.Value = value
	return owner.encode(), nil
}

// Leadership is the Lock that the leader holds. Its context ends when it is lost, and another may
// lead. The leader's writes should carry its token. Its methods are safe for concurrent use.
type Leadership struct {
	*Lock
	election *Election
	node     string
}

// Resign gives the leadership up: the next candidate leads. It is Release.
func (l *Leadership) Resign(ctx context.Context) error { return l.Release(ctx) }

// Proclaim replaces the leader's value; see Campaign. It tries again over reconnects until ctx ends.
// It returns ErrLost or ErrReleased if the caller does not lead any more.
func (l *Leadership) Proclaim(ctx context.Context, value string) error {
	data, err := l.election.data(value)
	if err == nil {
		err = l.proclaim(ctx, data)
	}
	if err != nil {
		return fmt.Errorf("proclaim %s: %w", l.path, err)
	}
	return nil
}

func (l *Leadership) proclaim(ctx context.Context, data []byte) error {
	ctx, stop := conn.Until(ctx, l.ctx)
	defer stop()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	err := conn.Retry(ctx, func() error { return l.election.s.conn.Set(ctx, l.node, data) })
	if errors.Is(err, zk.ErrNoNode) {
		return errNodeDeleted
	}
	return err
}

// Leader returns the leader that ZooKeeper knows. It may have died without its session having expired
// yet. Leader returns ErrNoLeader if there is no candidate.
func (e *Election) Leader(ctx context.Context) (Contender, error) {
	ctx, stop := conn.Until(ctx, e.s.conn.Context())
	defer stop()
	leader, _, err := e.leader(ctx)
	if err == nil && leader.Node == "" {
		err = ErrNoLeader
	}
	if err != nil {
		return Contender{}, fmt.Errorf("leader of %s: %w", e.path, err)
	}
	return leader, nil
}

// Observe yields the leader, then again each time that another one leads or the leader proclaims
// another value, and the zero Contender when nobody leads any more. It leaves out leaders and values
// that have been replaced by the time the loop asks. It goes on over reconnects and session losses. It
// yields an error last: the cause of ctx's end, if ctx ends:
//
//	for leader, err := range election.Observe(ctx) {
//		if err != nil {
//			return err
//		}
//		use(leader.Owner.Value)
//	}
func (e *Election) Observe(ctx context.Context) iter.Seq2[Contender, error] {
	return func(yield func(Contender, error) bool) {
		ctx, stop := conn.Until(ctx, e.s.conn.Context())
		defer stop()
		for last := (Contender{}); ; {
			leader, err := e.next(ctx, last)
			if err != nil {
				yield(Contender{}, fmt.Errorf("observe %s: %w", e.path, err))
				return
			}
			if last = leader; !yield(leader, nil) {
				return
			}
		}
	}
}

// next waits until the leader or its value differs from last.
func (e *Election) next(ctx context.Context, last Contender) (leader Contender, err error) {
	for {
		var changed func() error
		err = conn.Retry(ctx, func() error {
			leader, changed, err = e.leader(ctx)
			return err
		})
		if err != nil || leader.Node != last.Node || leader.Owner.Value != last.Owner.Value {
			return leader, err
		}
		if err := changed(); err != nil {
			return Contender{}, err
		}
	}
}

// leader returns the first candidate, the zero Contender if there is none, and a function that waits
// until there may be another one, or until ctx ends.
func (e *Election) leader(ctx context.Context) (leader Contender, changed func() error, err error) {
	c := e.s.conn
	for {
		if _, err := c.Ready(ctx); err != nil {
			return Contender{}, nil, err
		}
		names, err := c.Children(ctx, e.path)
		if err != nil && !errors.Is(err, zk.ErrNoNode) {
			return Contender{}, nil, err
		}
		members, err := queue.Ordered(ctx, c, e.path, names, queue.Lock)
		if err != nil {
			return Contender{}, nil, err
		}
		if len(members) == 0 {
			return Contender{}, func() error { return e.awaitCandidate(ctx) }, nil
		}
		watch := c.Watch(e.path + "/" + members[0].Name)
		if _, err = watch.Armed(ctx); err == nil {
			leader, err = contenderOf(ctx, c, e.path, members[0])
		}
		if errors.Is(err, zk.ErrNoNode) {
			continue // it has gone since
		}
		return leader, func() error { return conn.Wait(ctx, watch.Fired()) }, err
	}
}

// awaitCandidate waits until there may be a candidate. It returns nil after a temporary error, so that
// the caller looks again.
func (e *Election) awaitCandidate(ctx context.Context) error {
	c := e.s.conn
	children, events, err := c.ChildrenW(ctx, e.path)
	if errors.Is(err, zk.ErrNoNode) {
		var exists bool
		if exists, events, err = c.ExistsW(ctx, e.path); exists {
			return nil // it has been created since
		}
	}
	switch {
	case conn.Temporary(err):
		return nil
	case err != nil || len(queue.Members(children.Names, queue.Lock)) > 0:
		return err
	}
	return conn.Wait(ctx, events)
}
