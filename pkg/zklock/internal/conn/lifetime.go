package conn

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"
)

// Instant is a reading of the process's monotonic clock, in nanoseconds.
type Instant int64

var clockStart = time.Now()

// Now reads the monotonic clock.
func Now() Instant { return Instant(time.Since(clockStart)) }

// Clock computes for how long one ZooKeeper session is alive for certain. The server expires a session
// that it has not heard from for the session timeout, so the session lives at least that long after
// the latest answered request was sent. It is safe for concurrent use.
type Clock struct {
	ID      int64        // of the session
	Timeout atomic.Int64 // nanoseconds, as negotiated
	heard   atomic.Int64 // Instant when the latest answered request was sent
	expired atomic.Bool  // the server has said so
}

// hear notes that the server has heard from this client at the time sent or later.
func (c *Clock) hear(sent Instant) {
	for {
		old := c.heard.Load()
		if old >= int64(sent) || c.heard.CompareAndSwap(old, int64(sent)) {
			return
		}
	}
}

// Expired reports whether the server has said that the session is over. Then its nodes are gone, or the server
// is removing them. Nothing else says so: neither silence nor a refusal, nor that a new session was asked for.
func (c *Clock) Expired() bool { return c.expired.Load() }

// Left returns for how long the session is alive for certain, by the local clock. Zero or less
// means that the server may have expired it.
func (c *Clock) Left() time.Duration {
	if c.expired.Load() {
		return 0
	}
	return time.Duration(c.heard.Load() + c.Timeout.Load() - int64(Now()))
}

// Lifetime is a span of time during which one ZooKeeper session is known to be alive. A session that
// answers again after its lifetime was ended by the local clock begins another Lifetime.
type Lifetime struct {
	*Clock
	ctx context.Context
	end context.CancelCauseFunc
	// over ends after ctx: thousands of removals must not delay the holders that wait for ctx's end.
	over   context.Context
	remove context.CancelFunc
}

// AfterEnd calls f in a goroutine when the lifetime has ended, unless stop was called.
func (l *Lifetime) AfterEnd(f func()) (stop func() bool) { return context.AfterFunc(l.over, f) }

// Context returns a context that ends with the lifetime. Its cause is ErrLost then.
func (l *Lifetime) Context() context.Context { return l.ctx }

// Alive reports whether the server cannot have expired the session yet. It reads the clock: a
// process that was paused learns of the loss here before any timer has fired.
func (l *Lifetime) Alive() bool { return l.ctx.Err() == nil && l.Left() > 0 }

// lookAgain is the pause between two looks at a session that is over by the local clock, while its connection goes on.
// After a pause of the process it may answer again there, which is no change that the monitor announces.
const lookAgain = 20 * time.Millisecond

// keepLifetime begins and ends the lifetimes until c is closed. Nothing else does.
func (c *Conn) keepLifetime() {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		up, clock, changed := c.monitor.state()
		c.turnLifetime(up, clock)
		wait := time.Hour
		if l := c.Lifetime(); l != nil {
			wait = l.Left()
		} else if up && clock != nil {
			wait = lookAgain
		}
		timer.Reset(max(wait, time.Millisecond))
		select {
		case <-changed:
		case <-timer.C:
		case <-c.ctx.Done():
			c.endLifetime(fmt.Errorf("%w: %w", ErrLost, ErrClosed))
			return
		}
	}
}

// turnLifetime ends a lifetime that is over, and begins one if there is a live session.
func (c *Conn) turnLifetime(up bool, clock *Clock) {
	if l := c.Lifetime(); l != nil {
		switch {
		case l.expired.Load():
			c.endLifetime(ErrExpired)
		case l.Clock != clock || clock.Left() <= 0:
			c.endLifetime(ErrSilence)
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.lifetime == nil && up && clock != nil && clock.Left() > 0 {
		l := &Lifetime{Clock: clock}
		l.ctx, l.end = context.WithCancelCause(context.WithoutCancel(c.ctx))
		l.over, l.remove = context.WithCancel(context.WithoutCancel(c.ctx)) //nolint:gosec // endLifetime calls it
		c.lifetime = l
	}
	close(c.changed)
	c.changed = make(chan struct{})
}

func (c *Conn) endLifetime(cause error) {
	c.mu.Lock()
	l := c.lifetime
	c.lifetime = nil
	c.mu.Unlock()
	if l == nil {
		return
	}
	if !errors.Is(cause, ErrClosed) {
		c.Log.Warn("zookeeper session over", "session", fmt.Sprintf("%#x", uint64(l.ID)), "cause", cause)
	}
	l.end(cause)
	c.Go(l.remove)
}

// Lifetime returns the current lifetime, nil while no session is alive.
func (c *Conn) Lifetime() *Lifetime {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.lifetime
}

// Timeout returns the session timeout as the server set it, and 0 while no session is alive.
func (c *Conn) Timeout() time.Duration {
	if l := c.Lifetime(); l != nil {
		return time.Duration(l.Timeout.Load())
	}
	return 0
}

// Up reports whether there is a connection on which a session is served.
func (c *Conn) Up() bool {
	up, _, _ := c.monitor.state()
	return up
}

// Ready waits until a session is alive and there is a connection to use it on.
func (c *Conn) Ready(ctx context.Context) (*Lifetime, error) {
	for {
		c.mu.Lock()
		l, changed := c.lifetime, c.changed
		c.mu.Unlock()
		if up, _, _ := c.monitor.state(); up && l != nil && c.ctx.Err() == nil {
			return l, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-c.ctx.Done():
			return nil, context.Cause(c.ctx)
		}
	}
}
