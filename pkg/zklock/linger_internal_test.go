package zklock

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// counted is a context that counts the calls of Err.
type counted struct {
	context.Context
	times atomic.Int64
}

func (a *counted) Err() error {
	a.times.Add(1)
	return a.Context.Err()
}

// A lock that is held for long, such as that of a worker's number, costs its process no work.
func TestAHeldLockCostsNothing(t *testing.T) {
	const most = 1
	for _, linger := range []time.Duration{0, 100 * time.Millisecond} {
		synctest.Test(t, func(t *testing.T) {
			ctx, lose := context.WithCancel(t.Context())
			held := &counted{Context: ctx}
			q := &localQueue{opts: options{linger: linger}, wake: make(chan struct{}, 1)}
			go q.serve(&turn{holder: &holder{ctx: held}, held: true, rival: true})
			time.Sleep(10*time.Second + time.Millisecond)
			if n := held.times.Load(); n > most {
				t.Errorf("linger %s: looked %d times in 10 s, want %d", linger, n, most)
			}
			lose() // or serve would never end
		})
	}
}
