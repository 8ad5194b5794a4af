package zklock

import (
	"sync/atomic"
	"time"
)

// instant is a reading of the process's monotonic clock, in nanoseconds.
type instant int64

var clockStart = time.Now()

func now() instant { return instant(time.Since(clockStart)) }

// lease is what this client knows of one ZooKeeper session. The server expires a session when it
// has heard nothing from it for its timeout, so it lives at least until that long after the latest
// sending of a request that has been answered.
type lease struct {
	id      int64
	timeout atomic.Int64 // nanoseconds, as negotiated
	heard   atomic.Int64 // instant
	expired atomic.Bool  // as the server said
}

// hear notes that the server has heard from this client at the time sent or later.
func (l *lease) hear(sent instant) {
	for {
		old := l.heard.Load()
		if old >= int64(sent) || l.heard.CompareAndSwap(old, int64(sent)) {
			return
		}
	}
}

// left returns for how long the session is alive for certain, by the local clock. Nothing or less
// means that the server may have given its locks to others.
func (l *lease) left() time.Duration {
	if l.expired.Load() {
		return 0
	}
	return time.Duration(l.heard.Load() + l.timeout.Load() - int64(now()))
}
