package zklock_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"orderstock/pkg/zklock"
)

func TestInspectShowsHolderAndWaitersInOrder(t *testing.T) {
	dir := newRoot(t) + "/lock"
	s, other := connect(t), connect(t)
	if status, err := zklock.Inspect(t.Context(), s, dir); err != nil || len(status.Holders)+len(status.Waiters) > 0 {
		t.Errorf("of a lock that nobody wants: %+v, %v", status, err)
	}
	began := time.Now()
	lock := acquire(t, zklock.NewMutex(s, dir, zklock.WithHandoff(1, 0), zklock.WithLabel("billing")))
	first := begin(t.Context(), zklock.NewMutex(other, dir, zklock.WithLabel("stock")))
	awaitChildren(t, s.Conn(), dir, 2)
	foreign, err := other.Conn().CreateProtectedEphemeralSequential(
		dir+"/lock-", []byte("10.0.0.7"), zk.WorldACL(zk.PermAll))
	must(t, err)

	status, err := zklock.Inspect(t.Context(), other, dir)
	must(t, err)
	if len(status.Holders) != 1 || len(status.Waiters) != 2 {
		t.Fatalf("status %+v", status)
	}
	holder := status.Holders[0]
	host, _ := os.Hostname()
	if want := (zklock.Owner{Host: host, PID: os.Getpid(), Label: "billing"}); holder.Owner != want {
		t.Errorf("owner %+v, want %+v", holder.Owner, want)
	}
	if holder.Token != lock.Token() || holder.Session != s.ID() || holder.Mode != "lock" {
		t.Errorf("holder %+v, want token %v and session %#x", holder, lock.Token(), s.ID())
	}
	if d := holder.Since.Sub(began); d.Abs() > time.Minute {
		t.Errorf("since %v", holder.Since)
	}
	if a, b := status.Waiters[0].Owner.Label, status.Waiters[1].Owner.Label; a != "stock" || b != "10.0.0.7" {
		t.Errorf("waiters %q and %q", a, b)
	}
	if text, err := json.Marshal(status); err != nil || !strings.Contains(string(text), lock.Token().String()) {
		t.Errorf("JSON %s, %v", text, err)
	}
	must(t, other.Conn().Delete(foreign, -1))
	release(t, lock)
	release(t, first.wait(t))
}

// ZooKeeper removes the containers of a semaphore while they are empty, and a lock may have a child that is called as
// one of them.
func TestInspectTellsASemaphoreFromALock(t *testing.T) {
	s, dir := connect(t), newRoot(t)
	lock := acquire(t, zklock.NewMutex(s, dir+"/lock"))
	defer release(t, lock)
	release(t, acquire(t, zklock.NewMutex(s, dir+"/lock/leases")))
	release(t, acquire(t, zklock.NewMutex(s, dir+"/lock/locks")))
	lease := acquire(t, zklock.NewSemaphore(s, dir+"/sem", 2))
	defer release(t, lease)
	awaitChildren(t, s.Conn(), dir+"/sem/locks", 0)
	must(t, s.Conn().Delete(dir+"/sem/locks", -1))
	for path, mode := range map[string]string{dir + "/lock": "lock", dir + "/sem": "lease"} {
		status, err := zklock.Inspect(t.Context(), s, path)
		if err != nil || status.Holding != 1 || len(status.Holders) != 1 || status.Holders[0].Mode != mode {
			t.Errorf("status %+v, %v; want one %s", status, err, mode)
		}
	}
}

func TestInspectReadsTheFirstTenAndCountsAll(t *testing.T) {
	dir := newRoot(t) + "/lock"
	s := connect(t)
	lock := acquire(t, zklock.NewMutex(s, dir, zklock.WithHandoff(1, 0)))
	defer release(t, lock)
	const waiting = 25
	for range waiting {
		must(t, errorOf(s.Conn().CreateProtectedEphemeralSequential(dir+"/lock-", nil, zk.WorldACL(zk.PermAll))))
	}
	status, err := zklock.Inspect(t.Context(), s, dir)
	must(t, err)
	if status.Holding != 1 || status.Waiting != waiting {
		t.Errorf("%d hold and %d wait, want 1 and %d", status.Holding, status.Waiting, waiting)
	}
	if len(status.Waiters) != 10 {
		t.Errorf("read %d waiters, want the first 10", len(status.Waiters))
	}
	if n := len(status.Waiters); n > 0 && (status.Waiters[0].Token.Czxid <= lock.Token().Czxid ||
		status.Waiters[n-1].Token.Czxid <= status.Waiters[0].Token.Czxid) {
		t.Errorf("waiters %+v are not in order behind %v", status.Waiters, lock.Token())
	}
}

// told counts the calls of all hooks.
type told struct {
	mu sync.Mutex
	n  map[string]int
}

func (c *told) add(what string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.n[what]++
}

func (c *told) hooks() zklock.MutexOption {
	return zklock.WithHooks(zklock.Hooks{
		Held: func(_ string, d time.Duration) {
			if d > 0 {
				c.add("held")
			}
		},
		Lost: func(_ string, cause error) {
			if errors.Is(cause, zklock.ErrLost) {
				c.add("lost")
			}
		},
		Orphaned: func(string) { c.add("orphaned") },
		HandedOver: func(_ string, local bool) {
			if local {
				c.add("local")
			} else {
				c.add("remote")
			}
		},
	})
}

func TestHooksAreCalled(t *testing.T) {
	s, l := dialLink(t)
	c := &told{n: map[string]int{}}
	m := zklock.NewMutex(s, newRoot(t)+"/lock", c.hooks())
	lock := acquire(t, m)
	queued := make(chan struct{})
	next := begin(signalDone(t.Context(), queued), m)
	await(t, queued, "the wait")
	release(t, lock)
	lock = next.wait(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	if _, err := m.Acquire(ctx); err == nil {
		t.Error("acquired twice")
	}
	l.expire(t)
	await(t, lock.Context().Done(), "the loss of the lock")
	if err := lock.Release(t.Context()); !errors.Is(err, zklock.ErrLost) {
		t.Error(err)
	}
	plain := zklock.NewMutex(s, m.Path()+"-plain", c.hooks(), zklock.WithHandoff(1, 0))
	release(t, acquire(t, plain))
	lock = acquire(t, plain)
	l.cutAfter(opDelete)
	release(t, lock)
	eventually(t, "the orphan and the loss are reported", func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		return c.n["orphaned"] > 0 && c.n["lost"] > 0
	})
	c.mu.Lock()
	defer c.mu.Unlock()
	want := map[string]int{"held": 4, "lost": 1, "orphaned": 1, "local": 1, "remote": 1}
	for what, n := range want {
		if c.n[what] != n {
			t.Errorf("told %q %d times, want %d", what, c.n[what], n)
		}
	}
}

// A lock with other names is shown by these names, and never as free.
func TestInspectKnowsNames(t *testing.T) {
	s, dir := connect(t), newRoot(t)+"/lock"
	lock := acquire(t, zklock.NewMutex(s, dir, zklock.WithNames("stock_lock_", "__lock__")))
	defer release(t, lock)
	theirs, err := s.Conn().Create(dir+"/0123__lock__", nil, zk.FlagEphemeralSequential, zk.WorldACL(zk.PermAll))
	must(t, err)
	defer func() { check(t, s.Conn().Delete(theirs, -1)) }()
	status, err := zklock.Inspect(t.Context(), s, dir, "stock_lock_", "__lock__")
	must(t, err)
	if status.Holding != 1 || status.Waiting != 1 || status.Holders[0].Mode != "lock" {
		t.Errorf("status %+v", status)
	}
	if _, err := zklock.Inspect(t.Context(), s, dir); err == nil || !strings.Contains(err.Error(), "WithNames") {
		t.Errorf("without the names: %v", err)
	}
	if _, err := zklock.Inspect(t.Context(), s, dir, ""); err == nil {
		t.Error("an empty name is not refused")
	}
}
