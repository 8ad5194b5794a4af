package faultpoint

import (
	"context"
	"sync"
	"time"
)

// meetWithin is how long a Meeting waits: longer than others need to come, on any machine.
const meetWithin = 3 * time.Second

// Meeting holds one arrival between two lines until something happens. If nothing happens for 3 s, nobody waits any
// more. The zero value is ready. It is safe for concurrent use.
type Meeting struct {
	// Again holds another arrival after the first was let go.
	Again bool

	mu      sync.Mutex
	waiting chan struct{} // closed to let the one that waits go; nil if nobody waits
	over    bool
}

// Wait waits until Free is called, but not if another one waits or nobody waits any more. Its error is the context's.
func (m *Meeting) Wait(ctx context.Context) error {
	m.mu.Lock()
	if m.over || m.waiting != nil {
		m.mu.Unlock()
		return nil
	}
	free := make(chan struct{})
	m.waiting = free
	m.mu.Unlock()
	limit := time.NewTimer(meetWithin)
	defer limit.Stop()
	select {
	case <-free:
		return nil
	case <-ctx.Done():
	case <-limit.C:
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.waiting == free {
		m.waiting, m.over = nil, ctx.Err() == nil
	}
	return ctx.Err()
}

// Free lets the one that waits go, and reports whether there was one.
func (m *Meeting) Free() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.waiting == nil {
		return false
	}
	close(m.waiting)
	m.waiting, m.over = nil, !m.Again
	return true
}

// Meet waits for the next call of Meet, or lets the one that waits go.
func (m *Meeting) Meet(ctx context.Context) error {
	if m.Free() {
		return nil
	}
	return m.Wait(ctx)
}
