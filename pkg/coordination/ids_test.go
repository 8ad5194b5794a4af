package coordination_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"orderstock/pkg/coordination"
	"orderstock/pkg/servers"
	"orderstock/pkg/servers/serverstest"
)

func connection(t *testing.T, addr string) *zk.Conn {
	t.Helper()
	conn, events, err := zk.Connect([]string{addr}, 5*time.Second, zk.WithLogger(log.New(io.Discard, "", 0)))
	must(t, err)
	t.Cleanup(func() {
		conn.Close()
		for range events { // closed once the connection's goroutines have ended
		}
	})
	return conn
}

func lease(t *testing.T, conn *zk.Conn, root string, o coordination.IDOptions) *coordination.IDs {
	t.Helper()
	ids := coordination.KeepIDs(t.Context(), conn, root, o)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), 10*time.Second)
		defer cancel()
		_ = ids.Close(ctx) // closed before by some tests, cut off from ZooKeeper by others
	})
	eventually(t, "a number is leased", func() bool { return ids.Ready(t.Context()) == nil })
	return ids
}

// refused leases a number, which must fail with want.
func refused(t *testing.T, conn *zk.Conn, root string, o coordination.IDOptions, want error) {
	t.Helper()
	ids := coordination.KeepIDs(t.Context(), conn, root, o)
	eventually(t, want.Error(), func() bool { return errors.Is(ids.Ready(t.Context()), want) })
	must(t, ids.Close(t.Context()))
}

// first returns an id as soon as there is one: if a write to ZooKeeper takes longer than a short reserve, the next one
// has to be awaited.
func first(t *testing.T, g *coordination.IDs) (id int64) {
	t.Helper()
	eventually(t, "the first id", func() bool {
		var err error
		id, err = g.Next()
		return err == nil
	})
	return id
}

func TestNoIDComesTwice(t *testing.T) {
	addr, root := serverstest.ZooKeeper(t).Addr(), serverstest.ZooKeeperRoot(t)
	var (
		mu   sync.Mutex
		seen = map[int64]bool{}
		all  sync.WaitGroup
	)
	for range 4 {
		g := lease(t, connection(t, addr), root+"/ids", coordination.IDOptions{})
		for range 4 {
			all.Go(func() {
				last := int64(0)
				mine := make([]int64, 0, 5000)
				for range 5000 {
					id, err := g.Next()
					if err != nil {
						t.Error(err)
						return
					}
					if id <= last {
						t.Errorf("%d came after %d", id, last)
						return
					}
					last = id
					mine = append(mine, id)
				}
				mu.Lock()
				defer mu.Unlock()
				for _, id := range mine {
					if seen[id] {
						t.Errorf("%d came twice", id)
					}
					seen[id] = true
				}
			})
		}
	}
	all.Wait()
	if len(seen) != 4*4*5000 {
		t.Errorf("%d ids", len(seen))
	}
}

// TestReadyTakesNoID: the first id after any number of questions is the first of its millisecond.
func TestReadyTakesNoID(t *testing.T) {
	g := lease(t, connection(t, serverstest.ZooKeeper(t).Addr()), serverstest.ZooKeeperRoot(t), coordination.IDOptions{})
	for range 1000 {
		must(t, g.Ready(t.Context()))
	}
	if id, err := g.Next(); err != nil || id&0xfff != 0 {
		t.Errorf("id %d, %v: %d ids of its millisecond were taken before it", id, err, id&0xfff)
	}
}

// One number, and holders that are robbed of it again and again, as if their
// session had expired while they were paused: none of them has noticed, some
// take it back, and the ids that any of them ever gives are all different. Chance
// decides whether a robbed holder or a new one is faster, so the rounds go on until
// three new ones were.
func TestHoldersOfOneNumberNeverGiveTheSameID(t *testing.T) {
	conn, root := connection(t, serverstest.ZooKeeper(t).Addr()), serverstest.ZooKeeperRoot(t)
	var (
		holders []*coordination.IDs
		seen    = map[int64]int{}
	)
	for deadline := time.Now().Add(time.Minute); len(holders) < 4; {
		if time.Now().After(deadline) {
			t.Fatalf("only %d ever had the number", len(holders))
		}
		g := coordination.KeepIDs(t.Context(), conn, root, coordination.IDOptions{
			Numbers: 1, Reserve: 100 * time.Millisecond,
		})
		end, err := time.Now().Add(400*time.Millisecond), g.Ready(t.Context())
		for ; err != nil && time.Now().Before(end); time.Sleep(time.Millisecond) {
			err = g.Ready(t.Context())
		}
		if err == nil {
			holders = append(holders, g)
		} else { // one of the robbed was faster
			must(t, g.Close(t.Context()))
		}
		for i, g := range holders {
			for range rand.IntN(50) {
				id, err := g.Next()
				if err != nil {
					break
				}
				if other, twice := seen[id]; twice {
					t.Fatalf("%d came from holders %d and %d", id, other, i)
				}
				seen[id] = i
			}
		}
		// As if another process had had the number: the holder may not move the mark, and nobody take it before then.
		data, stat, err := conn.Get(root + "/marks/0000")
		must(t, err)
		mark, _, _ := strings.Cut(string(data), " ")
		_, err = conn.Set(root+"/marks/0000", []byte(mark+" another"), stat.Version)
		if err != nil && !errors.Is(err, zk.ErrBadVersion) {
			t.Fatal(err)
		}
	}
	for _, g := range holders {
		if err := g.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}
}

// stepped is a wall clock that can be set.
type stepped struct{ by atomic.Int64 }

func (c *stepped) set(by time.Duration) { c.by.Store(int64(by)) }
func (c *stepped) now() time.Time       { return time.Now().Add(time.Duration(c.by.Load())) }

func TestIDsGoOnAfterAClockADayAheadIsSetRight(t *testing.T) {
	var clock stepped
	conn, root := connection(t, serverstest.ZooKeeper(t).Addr()), serverstest.ZooKeeperRoot(t)
	g := lease(t, conn, root, coordination.IDOptions{Now: clock.now})
	seen := map[int64]bool{}
	for i, by := range []time.Duration{0, 24 * time.Hour, 0, 48 * time.Hour, 0} {
		clock.set(by)
		eventually(t, "an id by the clock as it was set", func() bool {
			id, err := g.Next()
			if err == nil && seen[id] {
				t.Fatalf("step %d: %d came twice", i, id)
			}
			seen[id] = err == nil
			return err == nil
		})
	}
}

// Without a new lease, ids would lag behind a clock that was set forward: their time follows the
// monotonic clock.
func TestANumberIsLeasedAnewAfterTheClockWasSetForth(t *testing.T) {
	conn, root := connection(t, serverstest.ZooKeeper(t).Addr()), serverstest.ZooKeeperRoot(t)
	var clock stepped
	g := lease(t, conn, root, coordination.IDOptions{Now: clock.now, Numbers: 1})
	clock.set(24 * time.Hour)
	eventually(t, "the mark lies ahead of the clock", func() bool {
		_, err := g.Next()
		data, _, readErr := conn.Get(root + "/marks/0000")
		if readErr != nil {
			t.Fatal(readErr)
		}
		var mark int64
		if _, err := fmt.Sscan(string(data), &mark); err != nil {
			t.Fatal(err)
		}
		return err == nil && mark > clock.now().UnixMilli()
	})
}

func TestAClockThatStepsBackIsAnErrorWhereNoOtherNumberIsFree(t *testing.T) {
	var clock stepped
	g := lease(t, connection(t, serverstest.ZooKeeper(t).Addr()), serverstest.ZooKeeperRoot(t),
		coordination.IDOptions{Now: clock.now, Numbers: 1, Reserve: 500 * time.Millisecond})
	last := first(t, g)
	clock.set(-time.Minute)
	eventually(t, "a minute back, the error says so", func() bool { // at once, unless the background has dropped the lease
		id, err := g.Next()
		if err == nil {
			t.Fatalf("a minute back: id %d", id)
		}
		return errors.Is(err, coordination.ErrClockBack)
	})
	if _, err := g.Next(); !errors.Is(err, coordination.ErrNoLease) {
		t.Fatalf("a minute back: %v, want ErrNoLease", err)
	}
	clock.set(0)
	eventually(t, "it caught up", func() bool {
		id, err := g.Next()
		if err == nil && id <= last {
			t.Fatalf("%d after %d", id, last)
		}
		return err == nil
	})
}

func TestAClockThatStepsBackOverARestartIsAnError(t *testing.T) {
	conn, root := connection(t, serverstest.ZooKeeper(t).Addr()), serverstest.ZooKeeperRoot(t)
	ahead := func() time.Time { return time.Now().Add(time.Hour) }
	first := lease(t, conn, root, coordination.IDOptions{Now: ahead, Numbers: 1})
	if _, err := first.Next(); err != nil {
		t.Fatal(err)
	}
	refused(t, conn, root, coordination.IDOptions{Numbers: 1}, coordination.ErrClockBack) // it may have died
	lease(t, conn, root, coordination.IDOptions{Numbers: 2})
	if took, _, err := conn.Exists(root + "/marks/0001"); err != nil || !took {
		t.Errorf("not the number whose mark is not ahead is taken: %v", err)
	}
}

func TestANumberIsGivenBack(t *testing.T) {
	conn, root := connection(t, serverstest.ZooKeeper(t).Addr()), serverstest.ZooKeeperRoot(t)
	one := coordination.IDOptions{Numbers: 1}
	first := lease(t, conn, root, one)
	last, err := first.Next()
	must(t, err)
	refused(t, conn, root, one, coordination.ErrNoNumber)
	must(t, first.Close(t.Context()))
	if _, err := first.Next(); !errors.Is(err, coordination.ErrNoLease) {
		t.Errorf("after Close: %v, want ErrNoLease", err)
	}
	id, err := lease(t, conn, root, one).Next() // at once, not after the reserve of ten seconds
	if err != nil || id <= last {
		t.Errorf("the next holder gives %d after %d (%v)", id, last, err)
	}
}

// The number of a process whose mark moved without its knowledge, by a write whose answer was lost, stays its own. One
// that another process has is given up.
func TestAMarkThatMovedIsReadAgain(t *testing.T) {
	conn, root := connection(t, serverstest.ZooKeeper(t).Addr()), serverstest.ZooKeeperRoot(t)
	g := lease(t, conn, root, coordination.IDOptions{Reserve: 300 * time.Millisecond})
	marks := func() []string {
		names, _, err := conn.Children(root + "/marks")
		must(t, err)
		return names
	}
	touch := func(change func(mark string) string) {
		t.Helper()
		before := first(t, g)
		path := root + "/marks/" + marks()[0]
		for err := zk.ErrBadVersion; errors.Is(err, zk.ErrBadVersion); {
			var data []byte
			var stat *zk.Stat
			data, stat, err = conn.Get(path)
			must(t, err)
			_, err = conn.Set(path, []byte(change(string(data))), stat.Version)
		}
		eventually(t, "the mark is moved on, or another number's is", func() bool {
			after, err := g.Next()
			return err == nil && after > before && time.UnixMilli(after>>22+1288834974657).Sub(
				time.UnixMilli(before>>22+1288834974657)) > 600*time.Millisecond // two reserves
		})
	}
	touch(func(mark string) string { return mark })
	if n := marks(); len(n) != 1 {
		t.Errorf("after a lost answer: numbers %v; want one", n)
	}
	touch(func(mark string) string { return mark + "-another" })
	if n := marks(); len(n) != 2 {
		t.Errorf("another process has the number: %v; want a second one", n)
	}
}

func TestIDsStopWithoutZooKeeperAndComeBack(t *testing.T) {
	server, err := servers.StartZooKeeper(t.Context(), servers.Options{Dir: t.TempDir()})
	must(t, err)
	t.Cleanup(func() { _ = server.Kill() })
	g := lease(t, connection(t, server.Addr()), "/ids", coordination.IDOptions{Reserve: 500 * time.Millisecond})
	must(t, server.Pause())
	eventually(t, "ids stop", func() bool {
		_, err := g.Next()
		return errors.Is(err, coordination.ErrNoLease)
	})
	must(t, server.Resume())
	eventually(t, "ids come back", func() bool {
		_, err := g.Next()
		return err == nil
	})
}

var must = serverstest.Must
