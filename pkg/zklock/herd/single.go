package herd

import (
	"context"
	"errors"
	"fmt"
	"path"

	"github.com/go-zookeeper/zk"
	"github.com/google/uuid"

	"orderstock/pkg/zklock"
)

// SingleNode is the case study's "low" lock: everyone creates the same ephemeral node, and losers
// watch it. Each release wakes all waiters, of which one wins; in no order.
//
// Beside the node stands one of the acquisition's own, made and deleted with it in one transaction.
// It is the proof of ownership: all acquisitions share one path, and ZooKeeper cannot tell in a
// delete whose node is meant, so that a stale release would delete the next holder's (fault M).
type SingleNode struct {
	node
	path string
}

// NewSingleNode returns a lock on path, which becomes an ephemeral node while it is held. Its
// parents are created when they are missing.
func NewSingleNode(s *zklock.Session, path string) *SingleNode {
	m := &SingleNode{path: path}
	m.init(s)
	return m
}

// Acquire waits until the lock is held or ctx ends; it then returns ctx's cause.
func (m *SingleNode) Acquire(ctx context.Context) (*Lock, error) {
	for {
		proof := m.path + "." + uuid.NewString()
		won, err := m.create(ctx, proof)
		if err != nil {
			return nil, fmt.Errorf("acquire %s: %w", m.path, err)
		}
		if won {
			release := func(ctx context.Context) error { return m.delete(ctx, proof) }
			lock, err := m.hold(ctx, m.path, release)
			if err != nil {
				m.abandon(ctx, release)
				return nil, fmt.Errorf("acquire %s: %w", m.path, err)
			}
			return lock, nil
		}
		// The watch is set by the look itself: a deletion before it is seen, one after it wakes (fault J).
		exists, events, err := m.existsW(ctx, m.path)
		if err == nil && exists {
			err = m.wake(ctx, events)
		}
		if err != nil {
			return nil, fmt.Errorf("acquire %s: %w", m.path, err)
		}
	}
}

// create makes lock and proof together. The proof tells afterwards what became of a create whose
// reply was lost.
func (m *SingleNode) create(ctx context.Context, proof string) (bool, error) {
	answers := make(chan error, 1)
	unsure := false
	for {
		go func() {
			_, err := m.conn.Multi(
				&zk.CreateRequest{Path: m.path, Acl: m.acl, Flags: zk.FlagEphemeral},
				&zk.CreateRequest{Path: proof, Acl: m.acl, Flags: zk.FlagEphemeral},
			)
			answers <- err
		}()
		var err error
		select {
		case err = <-answers:
		case <-ctx.Done():
			m.abandon(ctx, func(ctx context.Context) error {
				select {
				case <-answers: //nolint:errcheck // whatever it says, the proof tells
				case <-ctx.Done():
				}
				return m.delete(ctx, proof)
			})
			return false, context.Cause(ctx)
		}
		switch {
		case err == nil:
			return true, nil
		case errors.Is(err, zk.ErrNodeExists) && !unsure:
			return false, nil
		case errors.Is(err, zk.ErrNodeExists):
			return m.proven(ctx, proof)
		case errors.Is(err, zk.ErrNoNode):
			if err := m.makeParents(ctx, path.Dir(m.path)); err != nil {
				return false, err
			}
		case disconnected(err), errors.Is(err, zk.ErrSessionExpired):
			unsure = true
			won, err := m.proven(ctx, proof)
			if won || err != nil {
				return won, err
			}
		default:
			return false, err
		}
	}
}

func (m *SingleNode) proven(ctx context.Context, proof string) (bool, error) {
	exists, err := retry(ctx, func() (bool, error) {
		exists, _, err := m.conn.Exists(proof)
		return exists, err
	})
	if err != nil {
		m.abandon(ctx, func(ctx context.Context) error { return m.delete(ctx, proof) })
	}
	return exists, err
}

// delete removes lock and proof in one transaction, or neither.
func (m *SingleNode) delete(ctx context.Context, proof string) error {
	_, err := retry(ctx, func() (struct{}, error) {
		_, err := m.conn.Multi(
			&zk.DeleteRequest{Path: proof, Version: -1},
			&zk.DeleteRequest{Path: m.path, Version: -1},
		)
		return struct{}{}, err
	})
	if errors.Is(err, zk.ErrNoNode) || errors.Is(err, zk.ErrSessionExpired) {
		return nil
	}
	return err
}
