package zklock_test

import (
	"context"
	"errors"
	"fmt"
	"path"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"orderstock/pkg/zklock"
)

// The faults of the published locks, by the letters of the table in doc.go. Fault N is in
// internal/queue/name_internal_test.go.

// Fault I: the parent is made by "exists, then create": of two first-comers one fails.
func TestFaultIParentMadeByAllAtOnce(t *testing.T) {
	dir := newRoot(t)
	sessions := []*zklock.Session{connect(t), connect(t), connect(t), connect(t)}
	for round := range 10 {
		var all sync.WaitGroup
		for i := range 16 {
			all.Go(func() {
				m := zklock.NewMutex(sessions[i%4], fmt.Sprintf("%s/%d/a/b/c", dir, round), zklock.WithHandoff(1, 0))
				lock, err := m.Acquire(t.Context())
				if err == nil {
					err = lock.Release(t.Context())
				}
				check(t, err)
			})
		}
		all.Wait()
	}
}

// The parent, a container, is reaped between any two steps.
func TestFaultIParentReaped(t *testing.T) {
	t.Parallel()
	dir := newRoot(t)
	s, other := connect(t), connect(t)
	stop, stopped := make(chan struct{}), make(chan struct{})
	var reaped atomic.Int64
	go func() {
		defer close(stopped)
		for {
			select {
			case <-stop:
				return
			default:
			}
			for _, p := range []string{dir + "/a/lock", dir + "/a"} {
				if other.Conn().Delete(p, -1) == nil { // fails while it has children
					reaped.Add(1)
				}
			}
		}
	}()
	t.Cleanup(func() { close(stop); <-stopped })
	const enough = 10
	deadline := time.Now().Add(patience)
	for i := 0; i < 100 || reaped.Load() < enough; i++ {
		if time.Now().After(deadline) {
			if n := reaped.Load(); n < enough {
				t.Fatalf("%d parents were deleted", n)
			}
			break // a slow disk
		}
		release(t, acquire(t, zklock.NewMutex(s, dir+"/a/lock", zklock.WithHandoff(1, 0))))
	}
	_, stat, err := s.Conn().Get(dir)
	if err != nil || stat.EphemeralOwner != 0 {
		t.Fatalf("the root of the test: %+v, %v", stat, err)
	}
}

func TestParentsAreContainers(t *testing.T) {
	s, l := dialLink(t)
	lock := acquire(t, zklock.NewMutex(s, newRoot(t)+"/a/lock"))
	defer release(t, lock)
	// The stat of a container looks like that of another node.
	if n := l.requests(opCreateContainer); n != 3 { // lock, which fails; a; lock
		t.Errorf("%d requests for containers, want 3", n)
	}
	if n := l.requests(opCreate); n != 2 { // the lock's node, which fails; and again
		t.Errorf("%d requests for other nodes, want 2", n)
	}
}

// Fault J: the latch is made after the look at the predecessor, and a deletion between the two is
// never noticed. Here the predecessor goes just before the request for the watch on it.
func TestFaultJPredecessorGoneBeforeTheWatch(t *testing.T) {
	s, l := dialLink(t)
	other := connect(t)
	dir := newRoot(t) + "/lock"
	for _, opts := range [][]zklock.MutexOption{nil, {zklock.WithHandoff(1, 0)}} {
		held := acquire(t, zklock.NewMutex(other, dir, zklock.WithHandoff(1, 0)))
		node := path.Join(dir, awaitChildren(t, other.Conn(), dir, 1)[0])
		deleted := false
		l.once(opGetData, func() bool { // which sets the watch
			deleted = true
			check(t, other.Conn().Delete(node, -1))
			return false
		})
		release(t, acquire(t, zklock.NewMutex(s, dir, opts...)))
		if !deleted {
			t.Error("no request set a watch")
		}
		_ = held.Release(t.Context()) // lost
		awaitChildren(t, other.Conn(), dir, 0)
	}
}

// Fault K: the watched predecessor vanishes, and the waiter takes the lock. But the predecessor was
// a waiter that gave up.
func TestFaultKPredecessorWasAWaiter(t *testing.T) {
	dir := newRoot(t) + "/lock"
	opt := zklock.WithHandoff(1, 0)
	s, other := connect(t), connect(t)
	held := acquire(t, zklock.NewMutex(other, dir, opt))
	ctx, giveUp := context.WithCancel(t.Context())
	between := begin(ctx, zklock.NewMutex(other, dir, opt))
	awaitChildren(t, other.Conn(), dir, 2)
	last := begin(t.Context(), zklock.NewMutex(s, dir, opt))
	awaitChildren(t, other.Conn(), dir, 3)
	giveUp()
	await(t, between.done, "the end of the waiter")
	awaitChildren(t, other.Conn(), dir, 2)
	last.waits(t, s, dir, "two hold the lock")
	release(t, held)
	release(t, last.wait(t))
}

// Fault L: a waiter whose time is up leaves its node, and all behind it wait for a holder that is gone.
func TestFaultLTimedOutWaiterLeavesNoNode(t *testing.T) {
	dir := newRoot(t) + "/lock"
	other := connect(t)
	s := connect(t)
	for _, opts := range [][]zklock.MutexOption{nil, {zklock.WithHandoff(1, 0)}} {
		held := acquire(t, zklock.NewMutex(other, dir))
		ctx, cancel := context.WithCancel(t.Context())
		waiting := begin(ctx, zklock.NewMutex(s, dir, opts...))
		awaitChildren(t, other.Conn(), dir, 2)
		behind := begin(t.Context(), zklock.NewMutex(connect(t), dir))
		awaitChildren(t, other.Conn(), dir, 3)
		cancel()
		await(t, waiting.done, "the end of the waiter")
		wantErr(t, waiting.err, context.Canceled, "the error")
		awaitChildren(t, other.Conn(), dir, 2)
		release(t, held)
		release(t, behind.wait(t))
		awaitChildren(t, other.Conn(), dir, 0)
	}
}

// Fault M: release deletes the first child. After a loss that is another holder's node.
func TestFaultMReleaseDeletesItsOwnNode(t *testing.T) {
	s, l := dialLink(t)
	other := connect(t)
	root := newRoot(t)
	dir := root + "/lock"
	for _, opts := range [][]zklock.MutexOption{nil, {zklock.WithHandoff(1, 0)}} {
		stale := acquire(t, zklock.NewMutex(s, dir, opts...))
		l.expire(t)
		next := acquire(t, zklock.NewMutex(other, dir))
		node := awaitChildren(t, other.Conn(), dir, 1)[0]
		await(t, stale.Context().Done(), "the loss of the lock")
		for range 2 {
			if err := stale.Release(t.Context()); err == nil {
				t.Error("a stale handle was released without an error")
			}
		}
		release(t, acquire(t, zklock.NewMutex(s, root+"/after", zklock.WithHandoff(1, 0)))) // longer than a late delete
		if now := awaitChildren(t, other.Conn(), dir, 1)[0]; now != node {
			t.Errorf("the new holder's node is %s, and was %s", now, node)
		}
		if err := next.Context().Err(); err != nil {
			t.Errorf("the new holder lost the lock: %v", context.Cause(next.Context()))
		}
		release(t, next)
		awaitChildren(t, other.Conn(), dir, 0)
	}
}

// Fault O: the holder does not notice that its session expired, and it goes on writing beside the next
// holder. Here its context ends, and a store that compares tokens refuses its late writes.
func TestFaultOHolderIsToldOfExpiry(t *testing.T) {
	s, l := dialLink(t)
	dir := newRoot(t) + "/lock"
	var written zklock.Token
	write := func(token zklock.Token) bool {
		if token.Less(written) {
			return false
		}
		written = token
		return true
	}
	paused := acquire(t, zklock.NewMutex(s, dir))
	if !write(paused.Token()) {
		t.Error("the holder's write was refused")
	}
	l.expire(t)
	next := acquire(t, zklock.NewMutex(connect(t), dir))
	if !write(next.Token()) {
		t.Error("the next holder's write was refused")
	}
	if write(paused.Token()) {
		t.Error("the paused holder's write was accepted after the next one's")
	}
	await(t, paused.Context().Done(), "the news of the expiry")
	release(t, next)
}

// A stranger without the secret can neither take the lock nor break it.
func TestACLKeepsStrangersOut(t *testing.T) {
	dir := newRoot(t) + "/locks"
	acl := zk.DigestACL(zk.PermAll, "clerk", "secret")
	s := connect(t, zklock.WithAuth("digest", []byte("clerk:secret")))
	m := zklock.NewMutex(s, dir+"/lock", zklock.WithACL(acl))
	lock := acquire(t, m)
	children, _, err := s.Conn().Children(m.Path())
	must(t, err)
	stranger := connect(t, zklock.WithAuth("digest", []byte("clerk:guess")))
	barred := zklock.NewMutex(stranger, m.Path(), zklock.WithACL(acl))
	wantErr(t, errorOf(barred.Acquire(t.Context())), zk.ErrNoAuth, "a stranger's acquire")
	wantErr(t, errorOf(zklock.NewMutex(stranger, m.Path()).TryAcquire(t.Context())), zk.ErrNoAuth, "a stranger's try")
	node := path.Join(m.Path(), children[0])
	for what, err := range map[string]error{
		"deletes the holder's node": stranger.Conn().Delete(node, -1),
		"deletes the lock's path":   stranger.Conn().Delete(m.Path(), -1),
		"changes the ACL":           errorOf(stranger.Conn().SetACL(m.Path(), zk.WorldACL(zk.PermAll), -1)),
		"changes the data":          errorOf(stranger.Conn().Set(node, nil, -1)),
		"puts a node in front": errorOf(
			stranger.Conn().Create(m.Path()+"/lock-0000000000", nil, 0, zk.WorldACL(zk.PermAll))),
	} {
		if !errors.Is(err, zk.ErrNoAuth) {
			t.Errorf("a stranger %s: %v", what, err)
		}
	}
	if err := lock.Context().Err(); err != nil {
		t.Error(context.Cause(lock.Context()))
	}
	release(t, lock)
	awaitChildren(t, s.Conn(), m.Path(), 0)
	for _, p := range []string{m.Path(), dir} { // nobody else can
		check(t, s.Conn().Delete(p, -1))
	}
}
