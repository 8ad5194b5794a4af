package published_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"orderstock/loadtest/tables/published"
	"orderstock/pkg/servers/serverstest"
)

func connect(t *testing.T) *zk.Conn {
	t.Helper()
	conn, _, err := zk.Connect([]string{serverstest.ZooKeeper(t).Addr()}, 10*time.Second, zk.WithLogInfo(false))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	return conn
}

// result is the observation of a crowd at one lock.
type result struct {
	acquired, failed, overlaps atomic.Int64
}

// crowd lets 24 clients take the lock 8 times each. They hold it for 3 ms and
// wait for at most patience.
func crowd(t *testing.T, r *result, faults []published.Fault, patience time.Duration) {
	t.Helper()
	var (
		dir     = serverstest.ZooKeeperRoot(t) + "/a/b/lock"
		holders atomic.Int64
		all     sync.WaitGroup
	)
	for range 3 {
		conn := connect(t)
		for range 8 {
			all.Go(func() {
				lock := published.New(conn, dir, faults...)
				for range 8 {
					ctx, cancel := context.WithTimeout(t.Context(), patience)
					held, err := lock.Acquire(ctx)
					cancel()
					if err != nil {
						r.failed.Add(1)
						continue
					}
					r.acquired.Add(1)
					if holders.Add(1) > 1 {
						r.overlaps.Add(1)
					}
					time.Sleep(3 * time.Millisecond) // the work under the lock
					holders.Add(-1)
					if err := held.Release(t.Context()); err != nil {
						t.Error(err)
					}
				}
			})
		}
	}
	all.Wait()
}

// TestEachFaultShows runs the lock without its faults and with each that a crowd alone brings out. A fault may need
// several crowds: a slow machine grants the impatient a dozen locks, which may not overlap although nothing keeps them.
func TestEachFaultShows(t *testing.T) {
	const long = 20 * time.Second
	for _, test := range []struct {
		name     string
		faults   []published.Fault
		patience time.Duration
		shows    func(r, sound *result) bool
	}{
		{"none, patient", nil, long, func(r, _ *result) bool {
			return r.acquired.Load() > 0 && r.overlaps.Load() == 0 && r.failed.Load() == 0
		}},
		{"none, impatient", nil, 30 * time.Millisecond, func(r, _ *result) bool {
			return r.overlaps.Load() == 0 && r.acquired.Load() > 0
		}},
		{"I", []published.Fault{published.Parent}, long, func(r, _ *result) bool { return r.failed.Load() > 0 }},
		{"J", []published.Fault{published.Latch}, 300 * time.Millisecond, func(r, sound *result) bool {
			return r.acquired.Load() < sound.acquired.Load()/2
		}},
		{"K", []published.Fault{published.NoSecondLook}, 30 * time.Millisecond, func(r, _ *result) bool {
			return r.overlaps.Load() > 0
		}},
		{"L", []published.Fault{published.LeftBehind}, 30 * time.Millisecond, func(r, sound *result) bool {
			return r.acquired.Load() < sound.acquired.Load()/4
		}},
		{"N", []published.Fault{published.SplitName}, long, func(r, _ *result) bool { return r.overlaps.Load() > 0 }},
	} {
		t.Run(test.name, func(t *testing.T) {
			var r, sound result
			for begun := time.Now(); !test.shows(&r, &sound); {
				if time.Since(begun) > time.Minute {
					t.Fatalf("acquired %d, failed %d, overlaps %d; the sound lock %d, %d, %d", r.acquired.Load(), r.failed.Load(),
						r.overlaps.Load(), sound.acquired.Load(), sound.failed.Load(), sound.overlaps.Load())
				}
				// On a slow machine, the sound lock fails the impatient, too.
				if test.faults != nil && test.patience < long {
					crowd(t, &sound, nil, test.patience)
				}
				crowd(t, &r, test.faults, test.patience)
			}
		})
	}
}

// TestFirstChildIsAnothersNode: a holder whose session ended releases the lock of the next one (fault M).
func TestFirstChildIsAnothersNode(t *testing.T) {
	for _, faults := range [][]published.Fault{nil, {published.FirstChild}} {
		dir := serverstest.ZooKeeperRoot(t) + "/lock"
		asleep, err := published.New(connect(t), dir, faults...).Acquire(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		awake := connect(t)
		children, _, err := awake.Children(dir)
		if err != nil || len(children) != 1 {
			t.Fatalf("children %v, %v", children, err)
		}
		if err := awake.Delete(dir+"/"+children[0], -1); err != nil { // as the server does when the session ends
			t.Fatal(err)
		}
		if _, err := published.New(awake, dir).Acquire(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := asleep.Release(t.Context()); err != nil {
			t.Fatal(err)
		}
		if left, _, err := awake.Children(dir); err != nil || (len(left) == 0) != (faults != nil) {
			t.Errorf("with %v: of the next holder's node there is %v, %v", faults, left, err)
		}
	}
}
