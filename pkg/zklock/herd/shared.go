package herd

import (
	"context"
	"strings"

	"orderstock/pkg/zklock"
)

// Shared is the case study's shared and exclusive lock in its first form: children named
// <host>-R-<number> and <host>-W-<number>, with everyone watching the parent. A reader goes when
// no writer is before it, a writer when nobody is.
type Shared struct {
	queue
	host string
}

// NewShared returns a lock whose contenders are the children of path, named after host, which may
// hold any character but a slash. The path is created, as a persistent node, when it is missing.
func NewShared(s *zklock.Session, path, host string) *Shared {
	m := &Shared{queue: queue{root: path}, host: strings.ReplaceAll(host, "/", "_")}
	m.init(s)
	return m
}

// AcquireRead waits until the lock is held for reading, beside other readers, or ctx ends.
func (m *Shared) AcquireRead(ctx context.Context) (*Lock, error) {
	return m.acquire(ctx, m.host+"-R-", true, afterWriters)
}

// AcquireWrite waits until the lock is held for writing, alone, or ctx ends.
func (m *Shared) AcquireWrite(ctx context.Context) (*Lock, error) {
	return m.acquire(ctx, m.host+"-W-", true, afterAll)
}

func afterWriters(names []string, own string) (ahead string, goes, listed bool) {
	return inLine(names, own, func(prefix string) bool { return strings.HasSuffix(prefix, "-W-") })
}

func afterAll(names []string, own string) (ahead string, goes, listed bool) {
	return inLine(names, own, func(prefix string) bool {
		return strings.HasSuffix(prefix, "-W-") || strings.HasSuffix(prefix, "-R-")
	})
}

func inLine(names []string, own string, blocks func(prefix string) bool) (ahead string, goes, listed bool) {
	_, mine, _ := split(own)
	for _, name := range names {
		prefix, seq, ok := split(name)
		switch {
		case name == own:
			listed = true
		case ok && blocks(prefix) && seq < mine:
			ahead = name
		}
	}
	return ahead, ahead == "", listed
}
