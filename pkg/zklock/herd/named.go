package herd

import (
	"context"
	"fmt"
	"strings"
	"time"

	"orderstock/pkg/zklock"
)

// Named is one of the case study's many locks in one folder: the contenders for a name are the
// children <name>_lock_<number> of the root. It has no herd, since each waits on the one of its
// name before it, but each look lists the contenders of all names.
type Named struct {
	queue
	prefix string
	limit  time.Duration
}

// NewNamed returns the lock of this name under root. Acquire waits for limit at most; 0 sets no limit
// but the context's. The name must not be empty nor hold a slash.
func NewNamed(s *zklock.Session, root, name string, limit time.Duration) (*Named, error) {
	if name == "" || strings.Contains(name, "/") {
		return nil, fmt.Errorf("herd: lock name %q is empty or holds a slash", name)
	}
	m := &Named{queue: queue{root: root}, prefix: name + "_lock_", limit: limit}
	m.init(s)
	return m, nil
}

// Acquire waits until the lock is held, the limit is over (context.DeadlineExceeded) or ctx ends.
func (m *Named) Acquire(ctx context.Context) (*Lock, error) {
	if m.limit > 0 {
		limited, cancel := context.WithTimeout(ctx, m.limit)
		defer cancel()
		ctx = limited
	}
	return m.acquire(ctx, m.prefix, false, firstOf(m.prefix))
}
