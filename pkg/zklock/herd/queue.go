package herd

import (
	"context"
	"errors"
	"fmt"

	"github.com/go-zookeeper/zk"
	"github.com/google/uuid"

	"orderstock/pkg/zklock"
)

// queue is a parent whose ephemeral sequential children stand in line.
type queue struct {
	node
	root string
}

// ErrUsedUp says that the parent has numbered as many children as it can, which is 2^31-1. The names
// of these locks hold nothing else to tell contenders apart: remove the parent, and its numbers
// begin anew, or take another path.
var ErrUsedUp = errors.New("herd: the numbers of the parent's children are used up")

// turn tells from the children whether own may go, and else whom it waits for: a sibling, or
// nobody in particular ("": any change of the children). listed is false when own is not there.
type turn func(names []string, own string) (ahead string, goes, listed bool)

// acquire takes a place in the queue and waits for its turn. everyone says that waiters watch the
// parent, and so wake at each change, rather than only the node that turn names.
func (q *queue) acquire(ctx context.Context, prefix string, everyone bool, next turn) (*Lock, error) {
	own, err := q.enqueue(ctx, prefix)
	if err != nil {
		return nil, fmt.Errorf("acquire %s: %w", q.root, err)
	}
	remove := func(ctx context.Context) error { return q.remove(ctx, q.root+"/"+own) }
	err = q.await(ctx, own, everyone, next)
	if err == nil {
		var lock *Lock
		if lock, err = q.hold(ctx, q.root+"/"+own, remove); err == nil {
			return lock, nil
		}
	}
	q.abandon(ctx, remove)
	return nil, fmt.Errorf("acquire %s: %w", q.root, err)
}

// await looks at the children again after every wake-up: that the node ahead is gone does not say
// that none is ahead, since it may have been a waiter that gave up (fault K).
func (q *queue) await(ctx context.Context, own string, everyone bool, next turn) error {
	for {
		names, events, err := q.look(ctx, everyone)
		if err != nil {
			return err
		}
		ahead, goes, listed := next(names, own)
		switch {
		case !listed:
			return zklock.ErrLost
		case goes:
			return nil
		case !everyone:
			exists, watch, err := q.existsW(ctx, q.root+"/"+ahead)
			if err != nil {
				return err
			}
			if !exists {
				continue
			}
			events = watch
		}
		if err := q.wake(ctx, events); err != nil {
			return err
		}
	}
}

func (q *queue) look(ctx context.Context, watch bool) ([]string, <-chan zk.Event, error) {
	if watch {
		return q.childrenW(ctx, q.root)
	}
	names, err := retry(ctx, func() ([]string, error) {
		names, _, err := q.conn.Children(q.root)
		return names, err
	})
	return names, nil, err
}

// enqueue creates the own node and returns its name. The names are the case study's and have no
// place for an identity, so the node's data carries one: by it a create whose reply was lost is
// found again.
func (q *queue) enqueue(ctx context.Context, prefix string) (string, error) {
	id := uuid.NewString()
	type answer struct {
		path string
		err  error
	}
	answers := make(chan answer, 1)
	for {
		go func() {
			p, err := q.conn.Create(q.root+"/"+prefix, []byte(id), zk.FlagEphemeralSequential, q.acl)
			answers <- answer{p, err}
		}()
		var a answer
		select {
		case a = <-answers:
		case <-ctx.Done():
			q.abandon(ctx, func(ctx context.Context) error {
				select {
				case a := <-answers:
					if a.err == nil {
						return q.remove(ctx, a.path)
					}
				case <-ctx.Done():
				}
				return q.removeByID(ctx, prefix, id)
			})
			return "", context.Cause(ctx)
		}
		switch {
		case a.err == nil:
			name := a.path[len(q.root)+1:]
			if _, seq, ok := split(name); ok && usedUp(seq) {
				q.abandon(ctx, func(ctx context.Context) error { return q.remove(ctx, a.path) })
				return "", ErrUsedUp
			}
			return name, nil
		case errors.Is(a.err, zk.ErrNodeExists):
			return "", ErrUsedUp
		case errors.Is(a.err, zk.ErrNoNode):
			if err := q.makeParents(ctx, q.root); err != nil {
				return "", err
			}
		case disconnected(a.err):
			name, err := q.find(ctx, prefix, id)
			if err != nil {
				q.abandon(ctx, func(ctx context.Context) error { return q.removeByID(ctx, prefix, id) })
			}
			if err != nil || name != "" {
				return name, err
			}
		case errors.Is(a.err, zk.ErrSessionExpired):
			// The node, if there was one, went with its session; the connection has a new one.
		default:
			return "", a.err
		}
	}
}

// find returns the name of the child with this prefix whose data is id, or "".
func (q *queue) find(ctx context.Context, prefix, id string) (string, error) {
	names, _, err := q.look(ctx, false)
	if errors.Is(err, zk.ErrNoNode) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	for _, name := range names {
		if p, _, ok := split(name); !ok || p != prefix {
			continue
		}
		data, err := retry(ctx, func() ([]byte, error) {
			data, _, err := q.conn.Get(q.root + "/" + name)
			return data, err
		})
		if errors.Is(err, zk.ErrNoNode) {
			continue
		}
		if err != nil {
			return "", err
		}
		if string(data) == id {
			return name, nil
		}
	}
	return "", nil
}

func (q *queue) removeByID(ctx context.Context, prefix, id string) error {
	name, err := q.find(ctx, prefix, id)
	if err != nil || name == "" {
		return err
	}
	return q.remove(ctx, q.root+"/"+name)
}
