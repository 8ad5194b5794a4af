package herd

import (
	"context"

	"orderstock/pkg/zklock"
)

const sequentialPrefix = "lock-"

// Sequential is the case study's sequential lock before its correction: each contender creates an
// ephemeral sequential child, the smallest holds, and every waiter watches the parent's children.
// It is fair, but each release and each arrival wakes all.
type Sequential struct{ queue }

// NewSequential returns a lock whose contenders are the children of path. The path is created, as a
// persistent node, when it is missing.
func NewSequential(s *zklock.Session, path string) *Sequential {
	m := &Sequential{queue{root: path}}
	m.init(s)
	return m
}

// Acquire waits until the lock is held or ctx ends; it then returns ctx's cause.
func (m *Sequential) Acquire(ctx context.Context) (*Lock, error) {
	return m.acquire(ctx, sequentialPrefix, true, firstOf(sequentialPrefix))
}

// firstOf lets the smallest child with the prefix go; ahead is the next smaller one.
func firstOf(prefix string) turn {
	return func(names []string, own string) (ahead string, goes, listed bool) {
		_, mine, _ := split(own)
		var nearest int32
		for _, name := range names {
			p, seq, ok := split(name)
			switch {
			case name == own:
				listed = true
			case ok && p == prefix && seq < mine && (ahead == "" || nearest < seq):
				ahead, nearest = name, seq
			}
		}
		return ahead, ahead == "", listed
	}
}
