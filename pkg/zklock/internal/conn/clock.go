package conn

import (
	"sync/atomic"
	"time"
)

// Instant is a reading of the process's monotonic clock, in nanoseconds.
type Instant int64

var clockStart = time.Now()

// Now reads the monotonic clock.
func Now() Instant { return Instant(time.Since(clockStart)) }

// Clock tells for how long one ZooKeeper session is alive for certain. The server expires a session
// that it has not heard from for the session timeout, so the session lives at least that long after
// the latest answered request was sent. It is safe for concurrent use.
type Clock struct {
	ID      int64        // of the session
	Timeout atomic.Int64 // nanoseconds, as negotiated
	heard   atomic.Int64 // Instant at which the latest answered request was sent
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

// Left returns for how long the session is alive for certain, by the local clock. Zero or less
// means that the server may have expired it.
func (c *Clock) Left() time.Duration {
	if c.expired.Load() {
		return 0
	}
	return time.Duration(c.heard.Load() + c.Timeout.Load() - int64(Now()))
}
