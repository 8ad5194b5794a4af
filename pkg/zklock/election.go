package zklock

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"unicode/utf8"

	"github.com/go-zookeeper/zk"
)

// Election chooses one leader among the candidates of all processes, as package concurrency of
// etcd's client does. Candidates queue as those who want a Mutex do, in the order in which they
// came, without local hand-off: the first leads. It is a cheap value; those of one path are the
// same election. Its methods are safe for concurrent use.
//
// On the wire it is a Mutex on the same path, and excludes it.
type Election struct {
	s    *Session
	path string
	opts options
}

// maxValue bounds a candidate's value, in bytes. A server cuts the connection of a client whose
// request is longer than a megabyte.
const maxValue = 64 << 10

// NewElection returns the election on path, "/" and names separated by "/". The nodes of the path
// need not exist. WithHandoff and WithLinger have no effect.
func NewElection(s *Session, path string, opts ...Option) *Election {
	return &Election{s: s, path: path, opts: optionsOf(opts)}
}

// Path returns the election's path in ZooKeeper.
func (e *Election) Path() string { return e.path }

// Campaign waits until the caller leads, or ctx ends, over reconnects and session losses; its
// errors are those of Mutex.Acquire. The value, at most 64 KiB of UTF-8, tells others about the
// candidate, for example where to reach it; Observe and Inspect show it.
func (e *Election) Campaign(ctx context.Context, value string) (*Leadership, error) {
	began := now()
	l, err := e.campaign(ctx, value)
	err = acquireError(ctx, e.path, err)
	e.opts.hooks.waited(e.path, began, err)
	return l, err
}

func (e *Election) campaign(ctx context.Context, value string) (*Leadership, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	o := e.opts
	var err error
	if o.data, err = e.data(value); err != nil {
		return nil, err
	}
	c, err := e.s.stand(ctx, mutexLine(e.path, []kind{kindLock}, false), o)
	if err != nil {
		return nil, err
	}
	return &Leadership{Lock: c.lock(ctx, e.path), election: e, node: c.path}, nil
}

// data returns what a candidate's node holds.
func (e *Election) data(value string) ([]byte, error) {
	if len(value) > maxValue || !utf8.ValidString(value) {
		return nil, fmt.Errorf("value of %d bytes: want at most %d bytes of UTF-8", len(value), maxValue)
	}
	owner := e.opts.owner
	owner.Value = value
	return owner.encode(), nil
}

// Leadership is one term of office: the Lock that the leader holds. Its context ends when it is
// lost, and another may lead; what the leader writes should carry its token. Its methods are safe
// for concurrent use.
type Leadership struct {
	*Lock
	election *Election
	node     string
}

// Resign gives the leadership up: the next candidate leads. It is Release.
func (l *Leadership) Resign(ctx context.Context) error { return l.Release(ctx) }

// Proclaim replaces the leader's value; see Campaign. It tries again over reconnects until ctx
// ends. It returns ErrLost or ErrReleased when the caller does not lead any more.
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
	s := l.election.s
	ctx, stop := under(ctx, l.ctx)
	defer stop()
	for pause := (retryPause{}); ; {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		_, err := call(ctx, s, func() (*zk.Stat, error) { return s.conn.Set(l.node, data, -1) }, nil)
		switch {
		case errors.Is(err, zk.ErrNoNode):
			return fmt.Errorf("%w: %w", ErrLost, errNodeDeleted)
		case !passing(err):
			return err
		}
		if err := pause.wait(ctx, s); err != nil {
			return err
		}
	}
}

// Leader returns the leader as ZooKeeper has it, who may have died and not be expired yet. It
// returns ErrNoLeader when nobody stands.
func (e *Election) Leader(ctx context.Context) (Contender, error) {
	leader, _, err := e.leader(ctx)
	if err == nil && leader.Node == "" {
		err = ErrNoLeader
	}
	if err != nil {
		return Contender{}, fmt.Errorf("leader of %s: %w", e.path, err)
	}
	return leader, nil
}

// Observe yields the leader, and again each time that another leads or the leader proclaims
// another value; the zero Contender when nobody leads any more. Leaders and values that have
// passed by the time the loop asks are left out. It goes on over reconnects and session losses and
// yields an error last, ctx's cause when ctx ends:
//
//	for leader, err := range election.Observe(ctx) {
//		if err != nil {
//			return err
//		}
//		use(leader.Owner.Value)
//	}
func (e *Election) Observe(ctx context.Context) iter.Seq2[Contender, error] {
	return func(yield func(Contender, error) bool) {
		var last Contender
		for {
			leader, err := e.another(ctx, last)
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

// another waits until the leader, or its value, is another than last.
func (e *Election) another(ctx context.Context, last Contender) (Contender, error) {
	for pause := (retryPause{}); ; {
		leader, changed, err := e.leader(ctx)
		if passing(err) {
			if err := pause.wait(ctx, e.s); err != nil {
				return Contender{}, err
			}
			continue
		}
		if err != nil || leader.Node != last.Node || leader.Owner.Value != last.Owner.Value {
			return leader, err
		}
		pause = retryPause{}
		if err := changed(); err != nil {
			return Contender{}, err
		}
	}
}

// leader returns the first in the queue, the zero Contender if there is none, and a function that
// waits until there may be another, or until ctx ends.
func (e *Election) leader(ctx context.Context) (leader Contender, changed func() error, err error) {
	for {
		if _, err := e.s.ready(ctx); err != nil {
			return Contender{}, nil, err
		}
		names, err := e.s.children(ctx, e.path)
		if err != nil && !errors.Is(err, zk.ErrNoNode) {
			return Contender{}, nil, err
		}
		queue, err := e.s.queue(ctx, e.path, names, kindLock)
		if err != nil {
			return Contender{}, nil, err
		}
		if len(queue) == 0 {
			return Contender{}, func() error { return e.arrival(ctx) }, nil
		}
		w := e.s.watch(e.path + "/" + queue[0].Name)
		if err = w.wait(ctx, e.s); err == nil {
			leader, err = e.s.contender(ctx, e.path, queue[0])
		}
		if errors.Is(err, zk.ErrNoNode) {
			continue // it has gone since
		}
		return leader, func() error { return happened(ctx, e.s, w.fired) }, err
	}
}

// arrival waits until somebody stands, or may.
func (e *Election) arrival(ctx context.Context) error {
	names, events, err := e.s.childrenW(ctx, e.path)
	if errors.Is(err, zk.ErrNoNode) {
		events, err = call(ctx, e.s, func() (<-chan zk.Event, error) {
			exists, _, events, err := e.s.conn.ExistsW(e.path)
			if exists {
				return nil, err
			}
			return events, err
		}, nil)
		if events == nil {
			return unlessPassing(err)
		}
	}
	if err != nil || len(members(names, kindLock)) > 0 {
		return unlessPassing(err)
	}
	return happened(ctx, e.s, events)
}

// unlessPassing leaves out an error that trying again may overcome.
func unlessPassing(err error) error {
	if passing(err) {
		return nil
	}
	return err
}

// happened waits for an event, or its channel's end.
func happened[T any](ctx context.Context, s *Session, event <-chan T) error {
	select {
	case <-event:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-s.ctx.Done():
		return ErrSessionClosed
	}
}
