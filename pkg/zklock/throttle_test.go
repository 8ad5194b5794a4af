package zklock_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"orderstock/pkg/zklock"
)

// A server that throttles refuses requests that had to wait, among them creates and deletes. All
// acquisitions succeed nevertheless, and no node stays.
func TestThrottledServer(t *testing.T) {
	t.Parallel()
	addr := throttledServer(t)
	join := func() *zklock.Session {
		s, err := zklock.Connect(t.Context(), []string{addr})
		must(t, err)
		t.Cleanup(func() { closeSession(t, s) })
		return s
	}
	const paths = 4
	ctx, cancel := context.WithTimeout(t.Context(), 5*patience)
	defer cancel()
	var all sync.WaitGroup
	for range 2 {
		s := join()
		for i := range 16 {
			all.Go(func() {
				m := zklock.NewMutex(s, fmt.Sprintf("/lock-%d", i%paths), zklock.WithHandoff(1, 0))
				for range 5 {
					lock, err := m.Acquire(ctx)
					if err == nil {
						err = lock.Release(ctx)
					}
					check(t, err)
				}
			})
		}
	}
	working, ended := context.WithCancel(t.Context())
	go func() { all.Wait(); ended() }()
	other := join()
	refused := 0
	for i := 0; working.Err() == nil && (refused == 0 || i < 200); i++ {
		if throttles(other.Conn()) {
			refused++
		}
	}
	<-working.Done()
	if refused == 0 {
		t.Error("no request was throttled")
	}
	for i := range paths {
		path := fmt.Sprintf("/lock-%d", i)
		awaitChildren(t, other.Conn(), path, 0)
		release(t, acquire(t, zklock.NewMutex(other, path)))
	}
}

// Close of a wrapped connection removes the locks' nodes, although the server throttles.
func TestThrottledServerAtClose(t *testing.T) {
	t.Parallel()
	const locks = 32
	addr := throttledServer(t)
	s, conn := wrapAt(t, addr)
	for i := range locks {
		acquire(t, zklock.NewMutex(s, fmt.Sprintf("/locks/%d", i)))
	}
	hammer, stop := context.WithCancel(t.Context())
	var all sync.WaitGroup
	var refused atomic.Int64
	for range 16 {
		all.Go(func() {
			for hammer.Err() == nil {
				if throttles(conn) {
					refused.Add(1)
				}
			}
		})
	}
	eventually(t, "a throttled request", func() bool { return refused.Load() > 0 })
	time.AfterFunc(2*time.Second, stop) // Close tries for 10 s
	closeSession(t, s)
	stop()
	all.Wait()
	left := 0
	for i := range locks {
		names, _, err := conn.Children(fmt.Sprintf("/locks/%d", i))
		for throttled(err) { // by what is left of the requests, or by a pause of the machine
			names, _, err = conn.Children(fmt.Sprintf("/locks/%d", i))
		}
		check(t, err)
		left += len(names)
	}
	if left > 0 {
		t.Errorf("%d of %d nodes are left", left, locks)
	}
}

// throttledServer starts a server that refuses requests which waited, and returns its address.
func throttledServer(t *testing.T) string {
	t.Helper()
	return startServer(t,
		"-Dzookeeper.request_throttle_max_requests=2",
		"-Dzookeeper.request_throttle_stall_time=5",
		"-Dzookeeper.throttled_op_wait_time=4").addr
}

// throttles sends a request and reports whether the server has throttled it.
func throttles(conn *zk.Conn) bool {
	_, _, err := conn.Exists("/")
	return throttled(err)
}

func throttled(err error) bool { return err != nil && err.Error() == "unknown error: -127" }
