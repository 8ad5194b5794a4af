package zklock_test

import (
	"context"
	"errors"
	"path"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"orderstock/pkg/zklock"
)

// The reply of a create is lost, so that the node may be there or not. It is, and must be found again:
// a second node would wait for ever behind the first, which has no contender.
func TestLostReplyOfCreateLeavesNoGhost(t *testing.T) {
	s, l := dialLink(t)
	dir := newRoot(t)
	for name, m := range kindsOfMutex(s, dir+"/lock") {
		t.Run(name, func(t *testing.T) {
			release(t, acquire(t, m)) // its parent is there now
			awaitChildren(t, s.Conn(), m.Path(), 0)
			creates, syncs := l.requests(opCreate), l.requests(opSync)
			l.cutAfter(opCreate)
			lock := acquire(t, m)
			awaitChildren(t, s.Conn(), m.Path(), 1)
			if n := l.requests(opCreate) - creates; n != 1 {
				t.Errorf("%d creates, want 1: the node was there", n)
			}
			if l.requests(opSync) == syncs { // of an ensemble, another server may not know of the node yet
				t.Error("the node was looked for without a sync")
			}
			release(t, lock)
			awaitChildren(t, s.Conn(), m.Path(), 0)
		})
	}
}

// The same with a context that ends while the connection is away.
func TestLostReplyOfCreateAfterGivingUp(t *testing.T) {
	s, l := dialLink(t)
	m := zklock.NewMutex(s, newRoot(t)+"/lock", zklock.WithHandoff(1, 0))
	release(t, acquire(t, m))
	ctx, cancel := context.WithCancel(t.Context())
	l.once(opCreate, func() bool { cancel(); return true })
	if _, err := m.Acquire(ctx); !errors.Is(err, context.Canceled) {
		t.Fatalf("error %v", err)
	}
	// Until the create has arrived, there is no node either. The sync that begins the search comes after it.
	eventually(t, "a sync before the sweep", func() bool { return l.requests(opSync) > 0 })
	awaitChildren(t, connect(t).Conn(), m.Path(), 0)
	release(t, acquire(t, m))
}

// The connection breaks after any one request of an acquisition and its release: the lock is still
// acquired and released, and no node is left.
func TestCutAtEveryRequest(t *testing.T) {
	s, l := dialLink(t)
	other := connect(t)
	dir := newRoot(t)
	for name, m := range kindsOfMutex(s, dir+"/lock") {
		t.Run(name, func(t *testing.T) {
			k := 0
			for again := true; again; k++ {
				release(t, acquire(t, zklock.NewMutex(other, m.Path(), zklock.WithHandoff(1, 0)))) // so that m looks
				again = cutAtRequest(t, l, m, other, k+1)
			}
			const least = 3 // create, look at the queue, delete
			if k <= least {
				t.Errorf("only %d requests were cut, want at least %d", k-1, least)
			}
		})
	}
}

// cutAtRequest acquires and releases with the connection cut after request k, and reports whether there
// were that many requests.
func cutAtRequest(t *testing.T, l *link, m *zklock.Mutex, other *zklock.Session, k int) bool {
	t.Helper()
	l.mu.Lock()
	n := 0
	l.onRequest = func(int32) bool {
		n++
		return n == k
	}
	l.mu.Unlock()
	lock := acquire(t, m)
	if err := lock.Context().Err(); err != nil {
		t.Errorf("cut at request %d: lost at once: %v", k, context.Cause(lock.Context()))
	}
	release(t, lock)
	awaitChildren(t, other.Conn(), m.Path(), 0)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.onRequest = nil
	return n >= k
}

// The reply of a delete is lost: Release waits for the reconnect, and the node is gone.
func TestLostReplyOfDelete(t *testing.T) {
	s, l := dialLink(t)
	m := zklock.NewMutex(s, newRoot(t)+"/lock", zklock.WithHandoff(1, 0))
	lock := acquire(t, m)
	l.cutAfter(opDelete)
	release(t, lock)
	awaitChildren(t, s.Conn(), m.Path(), 0)
}

// A context that has ended bounds the wait for the release, not the release.
func TestReleaseWithAnEndedContext(t *testing.T) {
	s := connect(t)
	m := zklock.NewMutex(s, newRoot(t)+"/lock", zklock.WithHandoff(1, 0))
	lock := acquire(t, m)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := lock.Release(ctx); err != nil && !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	awaitChildren(t, s.Conn(), m.Path(), 0)
}

// An administrator, or a faulty client, deletes the holder's node: the holder's context ends.
func TestDeletedNodeIsALoss(t *testing.T) {
	other := connect(t)
	dir := newRoot(t) + "/lock"
	for name := range kindsOfMutex(other, dir) {
		t.Run(name, func(t *testing.T) {
			s, l := dialLink(t)
			m := kindsOfMutex(s, dir)[name]
			watched := l.after(opGetData, 1)
			lock := acquire(t, m)
			await(t, watched, "the watch on the holder's node")
			node := path.Join(m.Path(), awaitChildren(t, other.Conn(), m.Path(), 1)[0])
			must(t, errorOf(s.Conn().Sync("/"))) // answered after the watch
			again := l.after(opGetData, 1)
			must(t, errorOf(other.Conn().Set(node, []byte("changed"), -1)))
			await(t, again, "another watch after a change of the data")
			if err := lock.Context().Err(); err != nil {
				t.Fatalf("a change of the data: %v", context.Cause(lock.Context()))
			}
			must(t, other.Conn().Delete(node, -1))
			await(t, lock.Context().Done(), "the loss of the lock")
			wantErr(t, lock.Release(t.Context()), zklock.ErrLost, "release of a lost lock")
			release(t, acquire(t, m))
		})
	}
}

// A session that may not delete its nodes gets an error, instead of waiting for its own node, and goes
// on when it has the permission.
func TestWithoutDeletePermission(t *testing.T) {
	s, other := connect(t), connect(t)
	acl := func(more int32) []zk.ACL { return zk.WorldACL(zk.PermRead | zk.PermCreate | zk.PermAdmin | more) }
	for name, m := range kindsOfMutex(s, newRoot(t)+"/lock") {
		t.Run(name, func(t *testing.T) {
			must(t, errorOf(other.Conn().Create(m.Path(), nil, 0, acl(0))))
			wantErr(t, acquire(t, m).Release(t.Context()), zk.ErrNoAuth, "release")
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			wantErr(t, errorOf(m.Acquire(ctx)), zk.ErrNoAuth, "acquire behind the node that stays")
			wantErr(t, errorOf(m.TryAcquire(ctx)), zk.ErrNoAuth, "try behind the node that stays")
			must(t, errorOf(other.Conn().SetACL(m.Path(), acl(zk.PermDelete), -1)))
			release(t, acquire(t, m))
			awaitChildren(t, other.Conn(), m.Path(), 0)
		})
	}
}

// An administrator deletes a waiter's node: it queues again when its turn would have come.
func TestDeletedWaiterQueuesAgain(t *testing.T) {
	s, other := connect(t), connect(t)
	for name, m := range kindsOfMutex(s, newRoot(t)+"/lock") {
		t.Run(name, func(t *testing.T) {
			held := acquire(t, zklock.NewMutex(other, m.Path()))
			holder := awaitChildren(t, other.Conn(), m.Path(), 1)[0]
			a := begin(t.Context(), m)
			for _, name := range awaitChildren(t, other.Conn(), m.Path(), 2) {
				if name != holder {
					must(t, other.Conn().Delete(path.Join(m.Path(), name), -1))
				}
			}
			release(t, held)
			release(t, a.wait(t))
		})
	}
}

// While a waiter is cut off, its node and then its predecessor are deleted. After the reconnect the
// server tells of both in any order, and the waiter must not take the lock with a node that is gone.
func TestCutOffWaiterIsNotGrantedOnADeletedNode(t *testing.T) {
	t.Parallel()
	s, l := dialLink(t)
	other := connect(t)
	m := zklock.NewMutex(s, newRoot(t)+"/lock", zklock.WithHandoff(1, 0))
	for range 4 {
		held := acquire(t, zklock.NewMutex(other, m.Path(), zklock.WithHandoff(1, 0)))
		holder := awaitChildren(t, other.Conn(), m.Path(), 1)[0]
		watched := l.after(opGetData, 2) // its own node and its predecessor
		waiting := begin(t.Context(), m)
		await(t, watched, "a watch on the node ahead")
		if _, _, err := s.Conn().Exists("/"); err != nil { // answered after the watches
			t.Fatal(err)
		}
		l.silence()
		var deleted *zk.Stat
		names := awaitChildren(t, other.Conn(), m.Path(), 2)
		for _, name := range names {
			if name == holder {
				continue
			}
			var err error
			if _, deleted, err = other.Conn().Get(path.Join(m.Path(), name)); err != nil {
				t.Fatal(err)
			}
			must(t, other.Conn().Delete(path.Join(m.Path(), name), -1))
		}
		release(t, held)
		l.restore()
		lock := waiting.wait(t)
		if lock.Token().Czxid == deleted.Czxid {
			t.Error("granted on a node that was deleted")
		}
		_ = lock.Release(t.Context()) // other tests check the error
	}
}

// Other nodes under the lock's path do not matter to it.
func TestForeignChildrenAreIgnored(t *testing.T) {
	s := connect(t)
	dir := newRoot(t) + "/lock"
	for _, p := range []string{
		dir, dir + "/_c_", dir + "/_c_lock-", dir + "/lock-", dir + "/config", dir + "/0000000000",
	} {
		must(t, errorOf(s.Conn().Create(p, nil, zk.FlagPersistent, zk.WorldACL(zk.PermAll))))
	}
	for _, opts := range [][]zklock.MutexOption{nil, {zklock.WithHandoff(1, 0)}} {
		m := zklock.NewMutex(s, dir, opts...)
		lock := acquire(t, m)
		if status, err := zklock.Inspect(t.Context(), s, dir); err != nil ||
			len(status.Holders) != 1 || len(status.Waiters) != 0 {
			t.Errorf("status %+v, %v", status, err)
		}
		release(t, lock)
		awaitChildren(t, s.Conn(), dir, 5)
	}
}

// The client library's own Lock excludes this one and is excluded.
func TestExcludesTheClientLibrarysLock(t *testing.T) {
	s := connect(t)
	other, l := dialLink(t)
	m := zklock.NewMutex(s, newRoot(t)+"/lock")
	foreign := zk.NewLock(other.Conn(), m.Path(), zk.WorldACL(zk.PermAll))
	must(t, foreign.Lock())
	wantErr(t, errorOf(m.TryAcquire(t.Context())), zklock.ErrNotAcquired, "try while the library's lock is held")
	a := begin(t.Context(), m)
	awaitChildren(t, other.Conn(), m.Path(), 2)
	must(t, foreign.Unlock())
	lock := a.wait(t)
	locked, watched := make(chan error, 1), l.after(opGetData, 1)
	go func() { locked <- foreign.Lock() }()
	await(t, watched, "the library's wait for the lock")
	release(t, lock)
	select {
	case err := <-locked:
		check(t, err)
	case <-time.After(patience):
		t.Fatal("the library's lock was not acquired")
	}
	check(t, foreign.Unlock())
}

// The reply of a create is lost, its node is not found, and another is made. Then the first appears
// ahead of the second, as in an ensemble after the connection moved to a server that lags. The first
// becomes the place in the queue, and the second is removed.
func TestEarlierNodeWithOurGUIDIsAdopted(t *testing.T) {
	s, l := dialLink(t)
	other := connect(t)
	m := zklock.NewMutex(s, newRoot(t)+"/lock", zklock.WithHandoff(1, 0))
	held := acquire(t, zklock.NewMutex(other, m.Path(), zklock.WithHandoff(1, 0)))
	holder := awaitChildren(t, other.Conn(), m.Path(), 1)[0]
	waiter := func() string {
		names := awaitChildren(t, other.Conn(), m.Path(), 2)
		return path.Join(m.Path(), names[1-slices.Index(names, holder)])
	}
	l.cutAfter(opCreate)
	l.dialing.Lock()
	waiting := begin(t.Context(), m)
	first := waiter()
	must(t, other.Conn().Delete(first, -1))
	l.dialing.Unlock()
	second := waiter()
	must(t, errorOf(s.Conn().Create(first, nil, zk.FlagEphemeral, zk.WorldACL(zk.PermAll))))
	release(t, held)
	lock := waiting.wait(t)
	if left := awaitChildren(t, other.Conn(), m.Path(), 1); left[0] != path.Base(first) {
		t.Errorf("the lock is held with %s, want %s and not %s", left[0], path.Base(first), path.Base(second))
	}
	release(t, lock)
	awaitChildren(t, other.Conn(), m.Path(), 0)
}

// The reply of a create is lost, and then two nodes have its GUID: the create was delayed on its way,
// and was sent again meanwhile. The earlier node counts, since the later one would wait for it, and
// both are removed.
func TestTwoNodesWithOneGUID(t *testing.T) {
	s, l := dialLink(t)
	other := connect(t)
	m := zklock.NewMutex(s, newRoot(t)+"/lock", zklock.WithHandoff(1, 0))
	release(t, acquire(t, m))
	l.cutAfter(opCreate)
	l.dialing.Lock() // no search before the test has seen them
	l.twice = true
	a := begin(t.Context(), m)
	awaitChildren(t, other.Conn(), m.Path(), 2)
	l.dialing.Unlock()
	release(t, a.wait(t))
	awaitChildren(t, other.Conn(), m.Path(), 0)
}

// The session expires just after an acquisition has found its earlier node: it queues again. Where the earlier node is
// found at once, or the expiry comes at another moment, a round shows nothing.
// It takes 10 s: each round ends a session.
func TestExpiryAtAnEarlierNode(t *testing.T) {
	t.Parallel()
	s, l := dialLink(t)
	other := connect(t)
	m := zklock.NewMutex(s, newRoot(t)+"/lock", zklock.WithHandoff(1, 0))
	for range 4 {
		release(t, acquire(t, m))
		l.mu.Lock()
		l.twice = true
		l.mu.Unlock()
		l.cutAfter(opCreate)
		l.dialing.Lock()
		a := begin(t.Context(), m)
		awaitChildren(t, other.Conn(), m.Path(), 2)
		expired := make(chan struct{})
		l.once(opGetData, func() bool { // it learns the owner of the node that it has found
			go func() {
				defer close(expired)
				time.Sleep(time.Millisecond)
				l.expire(t)
			}()
			return false
		})
		l.dialing.Unlock()
		lock := a.wait(t)
		await(t, expired, "the expiry")
		_ = lock.Release(t.Context()) // it may have been granted before
		awaitChildren(t, other.Conn(), m.Path(), 0)
	}
}

// An acquisition without a wait costs a create, a look and a delete, as the client library's lock does. It costs no
// look if nobody came since the last one. Its token is the node's czxid. Hand-off within the process adds nothing
// while nobody waits there.
func TestRequestsOfAnAcquisition(t *testing.T) {
	s, l := dialLink(t)
	other := connect(t)
	count := func() (n int) {
		for _, op := range []int32{opCreate, opChildren, opDelete, opGetData, opExists} {
			n += l.requests(op)
		}
		return n
	}
	dir := newRoot(t)
	for name, m := range map[string]*zklock.Mutex{
		"hand-off":    zklock.NewMutex(s, dir+"/cohort"),
		"no hand-off": zklock.NewMutex(s, dir+"/plain", zklock.WithHandoff(1, 0)),
	} {
		another := zklock.NewMutex(other, m.Path(), zklock.WithHandoff(1, 0))
		for last, want := range map[*zklock.Mutex]int{another: 2, m: 1} {
			for try := 1; ; try++ {
				release(t, acquire(t, last))
				before := count()
				lock := acquire(t, m)
				acquired := count() - before
				names, _, err := s.Conn().Children(m.Path())
				if err != nil || len(names) != 1 {
					t.Fatal(names, err)
				}
				_, stat, err := s.Conn().Get(m.Path() + "/" + names[0])
				if err != nil || stat.Czxid != lock.Token().Czxid {
					t.Errorf("%s: token %v, the node's czxid is %#x, %v", name, lock.Token(), stat.Czxid, err)
				}
				before = count()
				release(t, lock)
				released := count() - before
				if acquired == want && released == 1 {
					break
				}
				// There is a look until the path has had more nodes than the server had transactions in between. On a
				// machine that stands still for 100 ms, the watch is set too.
				if acquired < want || try == 1000 {
					t.Fatalf("%s: %d requests for an acquisition and %d for a release, want %d and 1",
						name, acquired, released, want)
				}
			}
		}
	}
}

// A parent that is made again counts its children from 0 again: there, a number that follows our last one does not show
// that nobody came in between.
func TestParentMadeAgainIsLookedAt(t *testing.T) {
	s, other := connect(t), connect(t)
	dir := newRoot(t)
	for _, nodes := range []int{1, 20} {
		path := dir + "/lock-" + strconv.Itoa(nodes)
		for name, m := range kindsOfMutex(s, path) {
			theirs := zklock.NewMutex(other, m.Path(), zklock.WithHandoff(1, 0))
			for range nodes {
				release(t, acquire(t, m))
			}
			must(t, other.Conn().Delete(m.Path(), -1))
			for range nodes - 1 {
				release(t, acquire(t, theirs))
			}
			held := acquire(t, theirs)
			a := begin(t.Context(), m)
			awaitChildren(t, other.Conn(), m.Path(), 2)
			a.waits(t, s, m.Path(), name+": acquired beside another holder")
			release(t, held)
			release(t, a.wait(t))
		}
	}
}

// The server drops the event of a watch whose owner may not read the node just then. All that wait look again.
func TestReadPermissionIsAwayForAMoment(t *testing.T) {
	t.Parallel()
	s, other := connect(t, zklock.WithSessionTimeout(6*time.Second)), connect(t)
	dir := newRoot(t)
	set := func(node string, perms int32) {
		t.Helper()
		must(t, errorOf(other.Conn().SetACL(node, zk.WorldACL(perms), -1)))
	}
	for name, c := range map[string]struct {
		held, wanted acquirer
		queue        string
		own          bool // each waiter watches the node before its own, and not the queue
	}{
		"semaphore": {
			held: zklock.NewSemaphore(other, dir+"/semaphore", 1), wanted: zklock.NewSemaphore(s, dir+"/semaphore", 1),
			queue: dir + "/semaphore/leases",
		},
		"mutex": {
			held: zklock.NewMutex(other, dir+"/mutex"), wanted: zklock.NewMutex(s, dir+"/mutex"),
			queue: dir + "/mutex", own: true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			lock := acquire(t, c.held)
			node := c.queue
			if c.own {
				node = path.Join(c.queue, awaitChildren(t, other.Conn(), c.queue, 1)[0])
			}
			a := begin(t.Context(), c.wanted)
			awaitChildren(t, other.Conn(), c.queue, 2)
			a.waits(t, s, c.queue, "acquired beside another holder") // it has set its watch
			set(node, zk.PermAll&^zk.PermRead)
			release(t, lock)
			if !c.own {
				set(node, zk.PermAll)
			}
			release(t, a.wait(t))
		})
	}
	t.Run("wanted", func(t *testing.T) {
		t.Parallel()
		m := zklock.NewMutex(s, dir+"/wanted")
		lock := acquire(t, m)
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		wanted := make(chan error, 1)
		go func() { wanted <- lock.Wanted(ctx) }()
		time.Sleep(50 * time.Millisecond) // it has set its watch, on most machines
		set(m.Path(), zk.PermAll&^zk.PermRead)
		must(t, errorOf(other.Conn().Create(m.Path()+"/lock-", nil, zk.FlagEphemeralSequential, zk.WorldACL(zk.PermAll))))
		set(m.Path(), zk.PermAll)
		must(t, <-wanted)
		release(t, lock)
	})
}
