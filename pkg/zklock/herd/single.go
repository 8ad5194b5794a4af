package herd

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"path"

	"github.com/go-zookeeper/zk"

	"orderstock/pkg/zklock"
	"orderstock/pkg/zklock/internal/conn"
)

// SingleNode is the case study's "low" lock: every contender creates the same ephemeral node, or
// watches it if it exists. Each release wakes all waiters, and one wins, in no order.
//
// Each acquisition has a second node, made and deleted in one transaction with the first. It proves the
// ownership: all acquisitions share one path, and a delete does not say whose node is meant, so without
// it a stale release would delete the next holder's node (fault M).
type SingleNode struct {
	base
	path string
}

// NewSingleNode returns a lock on path, which becomes an ephemeral node while it is held.
func NewSingleNode(s *zklock.Session, path string) *SingleNode {
	m := &SingleNode{path: path}
	m.init(s)
	return m
}

// Acquire waits until the lock is held or ctx ends; it then returns ctx's cause.
func (m *SingleNode) Acquire(ctx context.Context) (*Lock, error) {
	lock, err := m.acquire(ctx)
	if err != nil {
		return nil, fmt.Errorf("acquire %s: %w", m.path, err)
	}
	return lock, nil
}

func (m *SingleNode) acquire(ctx context.Context) (*Lock, error) {
	waiting, stop := conn.Until(ctx, m.conn.Context())
	defer stop()
	for {
		proof := m.path + "." + rand.Text()
		release := func(ctx context.Context) error {
			return m.remove(ctx, func() error {
				return m.conn.Multi(ctx,
					&zk.DeleteRequest{Path: proof, Version: -1}, &zk.DeleteRequest{Path: m.path, Version: -1})
			})
		}
		won, err := m.create(waiting, proof, release)
		if err != nil {
			return nil, err
		}
		if won {
			lock, err := m.hold(ctx, m.path, release)
			if err != nil {
				m.abandon(ctx, release)
			}
			return lock, err
		}
		// The request that looks sets the watch: a deletion before it is seen, one after it wakes (fault J).
		var (
			exists bool
			events <-chan zk.Event
		)
		err = conn.Retry(waiting, func() error {
			exists, events, err = m.conn.ExistsW(waiting, m.path)
			return err
		})
		if err == nil && exists {
			err = m.wake(waiting, events)
		}
		if err != nil {
			return nil, err
		}
	}
}

// create makes the lock's node and the proof together, and reports whether it did. The proof shows
// afterwards whether a create that was not answered has taken effect.
func (m *SingleNode) create(
	ctx context.Context, proof string, undo func(context.Context) error,
) (won bool, err error) {
	doubtful := false
	err = conn.Retry(ctx, func() error {
		answered := make(chan struct{})
		err := m.withParents(ctx, path.Dir(m.path), func() error {
			_, err := conn.Do(ctx, m.conn, func() ([]zk.MultiResponse, error) {
				return m.conn.ZK.Multi(
					&zk.CreateRequest{Path: m.path, Acl: m.acl, Flags: zk.FlagEphemeral},
					&zk.CreateRequest{Path: proof, Acl: m.acl, Flags: zk.FlagEphemeral},
				)
			}, func([]zk.MultiResponse, error) { close(answered) })
			if ctx.Err() != nil && errors.Is(err, context.Cause(ctx)) {
				m.abandon(ctx, func(ctx context.Context) error {
					_ = conn.Wait(ctx, answered) // if it fails, so does the removal
					return undo(ctx)
				})
			}
			return err
		})
		won = err == nil
		doubtful = doubtful || conn.Temporary(err)
		if errors.Is(err, zk.ErrNodeExists) {
			if err = nil; doubtful {
				_, err = m.conn.Get(ctx, proof)
				won = err == nil
			}
			if errors.Is(err, zk.ErrNoNode) {
				err = nil
			}
		}
		return err
	})
	if err != nil && doubtful {
		m.abandon(ctx, undo)
	}
	return won, err
}
