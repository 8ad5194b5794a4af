package herd_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"orderstock/pkg/zklock"
	"orderstock/pkg/zklock/herd"
	"orderstock/pkg/zklock/internal/zktest"
)

// TestCounterAtItsEnd: the server gives its last number again and again, and so one name to
// different contenders.
func TestCounterAtItsEnd(t *testing.T) {
	t.Parallel()
	const numbersLeft = 40
	server := zktest.StartNearEnd(t, numbersLeft, "/sequential", "/shared", "/named")
	s, err := zklock.Connect(within(t), []string{server.Addr})
	must(t, err)
	t.Cleanup(func() { _ = s.Close() })
	for name, acquire := range locks(t, s, "") {
		if name == "single node" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			var acquired, inside, overlaps atomic.Int64
			ctx, cancel := context.WithTimeout(t.Context(), limit)
			defer cancel()
			var all sync.WaitGroup
			for range 8 {
				all.Go(func() {
					for {
						lock, err := acquire(ctx)
						if err != nil {
							if !errors.Is(err, herd.ErrUsedUp) {
								t.Error(err)
							}
							return
						}
						acquired.Add(1)
						if inside.Add(1) > 1 {
							overlaps.Add(1)
						}
						time.Sleep(time.Millisecond) // the work
						inside.Add(-1)
						if err := lock.Release(ctx); err != nil {
							t.Error(err)
							return
						}
					}
				})
			}
			all.Wait()
			if acquired.Load() != numbersLeft || overlaps.Load() > 0 {
				t.Errorf("%d acquisitions, %d of them while another one held; want %d and none",
					acquired.Load(), overlaps.Load(), numbersLeft)
			}
		})
	}
}
