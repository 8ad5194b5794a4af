package locktest_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"orderstock/pkg/servers/serverstest"
	"orderstock/pkg/zklock"
)

// observed is a session that counts the watch events of nodes under root that its client gets, from whatever watch.
// Others may write elsewhere: a session watches "/", too.
func observed(t *testing.T, root string) (*zklock.Session, *atomic.Int64) {
	t.Helper()
	var events atomic.Int64
	monitor := zklock.NewMonitor(nil)
	conn, ended, err := zk.Connect([]string{serverstest.ZooKeeper(t).Addr()}, 30*time.Second,
		zk.WithDialer(monitor.Dial), zk.WithLogInfo(false), zk.WithEventCallback(func(ev zk.Event) {
			if strings.HasPrefix(ev.Path, root+"/") {
				events.Add(1)
			}
		}))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), soon)
	defer cancel()
	s, err := zklock.Wrap(ctx, conn, monitor)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		conn.Close()
		for range ended {
		}
	})
	return s, &events
}

// queueUp starts n waiters and returns when each has its node. Each that is granted the lock sends
// its handle's release and goes.
func queueUp[L interface{ Release(context.Context) error }](
	t *testing.T, ctx context.Context, s *zklock.Session, path string, n int, acquire func(context.Context) (L, error),
) (granted <-chan L, wait func()) {
	t.Helper()
	locks := make(chan L, n)
	var all sync.WaitGroup
	for range n {
		all.Go(func() {
			if lock, err := acquire(ctx); err == nil {
				locks <- lock
			}
		})
	}
	awaitChildren(t, s, path, n+1, 90*time.Second) // and the holder's
	return locks, all.Wait
}

// TestWakeups counts the watch events of each release: one, however many wait.
func TestWakeups(t *testing.T) {
	t.Parallel()
	crowds := []int{10, 100, 1000}
	if testing.Short() {
		crowds = crowds[:2]
	}
	for _, waiters := range crowds {
		t.Run(fmt.Sprint(waiters), func(t *testing.T) {
			root := serverstest.ZooKeeperRoot(t)
			counter := direct(t)
			releases := min(waiters, 40)

			s, events := observed(t, root)
			mutex := plain(s, root+"/lock")
			holder := acquire(t, mutex, soon)
			ctx, cancel := context.WithCancel(t.Context())
			granted, wait := queueUp(t, ctx, counter, root+"/lock", waiters, mutex.Acquire)
			settle(events.Load, 0)
			before := events.Load()
			release(t, holder)
			for range releases - 1 {
				release(t, <-granted)
			}
			last := <-granted
			settle(events.Load, before+int64(releases))
			if n := events.Load() - before; n != int64(releases) {
				t.Errorf("%d watch events for %d releases with %d waiters", n, releases, waiters)
			}
			cancel()
			wait()
			release(t, last)
			awaitChildren(t, counter, root+"/lock", 0, soon)
		})
	}
}

// settle returns when the count has reached the least, which it waits for no longer than soon, and has stopped.
func settle(count func() int64, least int64) {
	for limit := time.Now().Add(soon); count() < least && time.Now().Before(limit); time.Sleep(10 * time.Millisecond) {
	}
	for last := int64(-1); last != count(); time.Sleep(500 * time.Millisecond) {
		last = count()
	}
}
