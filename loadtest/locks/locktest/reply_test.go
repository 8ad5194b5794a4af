package locktest_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"orderstock/pkg/servers/serverstest"
	"orderstock/pkg/zklock"
)

// faultySession is a session through a proxy, with a timeout that outlives a reconnect.
func faultySession(t *testing.T) (*zklock.Session, *proxy) {
	t.Helper()
	p := newProxy(t, serverstest.ZooKeeper(t).Addr())
	return connect(t, 6*time.Second, p.servers()...), p
}

// TestDeleteReplyLost: the node is gone, but the releaser is not told. Release must find that out and
// not touch the next holder's node.
func TestDeleteReplyLost(t *testing.T) {
	t.Parallel()
	path := serverstest.ZooKeeperRoot(t) + "/lock"
	other := direct(t)
	s, p := faultySession(t)
	lock := acquire(t, plain(s, path), soon)
	cut := p.script.cutOnce(func(f frame) bool { return f.direction == answers && f.op == opDelete })
	next := make(chan *zklock.Lock, 1)
	go func() {
		ctx, cancel := context.WithTimeout(t.Context(), soon)
		defer cancel()
		got, _ := plain(other, path).Acquire(ctx) // nil fails below
		next <- got
	}()
	awaitChildren(t, other, path, 2, soon)
	release(t, lock)
	<-cut
	got := <-next
	if got == nil {
		t.Fatal("the next one did not get the lock")
	}
	select {
	case <-got.Context().Done():
		t.Errorf("the next holder: %v", context.Cause(got.Context()))
	case <-time.After(time.Second): // longer than the releaser's attempts
	}
	release(t, got)
	awaitChildren(t, other, path, 0, 3*time.Second)
}

// TestDeleteRequestLost: the connection breaks before the delete is through. Others must not wait
// for the session to end.
func TestDeleteRequestLost(t *testing.T) {
	t.Parallel()
	path := serverstest.ZooKeeperRoot(t) + "/lock"
	other := direct(t)
	p := newProxy(t, serverstest.ZooKeeper(t).Addr())
	s := connect(t, time.Minute, p.servers()...)
	lock := acquire(t, plain(s, path), soon)
	cut := p.script.cutOnce(func(f frame) bool { return f.direction == requests && f.op == opDelete })
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(50*time.Millisecond, cancel) // nor may the end of the caller's patience leave it
	if err := lock.Release(ctx); err != nil && !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	<-cut
	release(t, acquire(t, plain(other, path), soon))
	awaitChildren(t, other, path, 0, 3*time.Second)
}

// TestCutAtEveryPacket breaks the connection before each packet of an acquisition and its release in
// turn, packets of repeated requests included: the session goes on, no node is left, no two hold, and nothing hangs.
// Before the answer to the create, the server has made the node: it must be found again and serve, not be left as a
// ghost in front of a second one.
func TestCutAtEveryPacket(t *testing.T) {
	t.Parallel()
	for _, contended := range []bool{false, true} {
		for _, d := range []direction{requests, answers} {
			t.Run(fmt.Sprintf("contended=%v/%s", contended, d), func(t *testing.T) {
				t.Parallel()
				observer := direct(t)
				root := serverstest.ZooKeeperRoot(t)
				for k, more := 1, true; more; k++ {
					more = cutAt(t, observer, fmt.Sprintf("%s/lock-%d", root, k), contended, d, k)
					if !more {
						t.Logf("cut at each of %d packets", k-1)
					}
					if !more && k < 4 {
						t.Errorf("an acquisition of %d packets: the cuts did not bite", k-1)
					}
					if t.Failed() {
						t.Fatalf("with a cut at packet %d", k)
					}
				}
			})
		}
	}
}

// cutAt acquires and releases with a cut at the k-th packet of the direction, and says whether
// there was such a packet.
func cutAt(t *testing.T, observer *zklock.Session, path string, contended bool, d direction, k int) bool {
	t.Helper()
	s, p := faultySession(t)
	defer func() { _ = s.Close() }()
	defer p.Stop()
	id := s.ID()
	others := plain(observer, path)
	var before *zklock.Lock
	if contended {
		before = acquire(t, others, soon)
	}
	n := 0
	cut := p.script.cutOnce(func(f frame) bool {
		if f.direction == d && f.op != opPing && f.op != opHello {
			n++
		}
		return n == k
	})
	granted := make(chan *zklock.Lock, 1)
	go func() {
		ctx, cancel := context.WithTimeout(t.Context(), soon)
		defer cancel()
		lock, err := plain(s, path).Acquire(ctx)
		if err != nil {
			t.Errorf("acquire: %v", err)
		}
		granted <- lock
	}()
	if contended {
		awaitChildren(t, observer, path, 2, soon)
		select {
		case <-granted:
			t.Error("granted while another holds")
		case <-time.After(20 * time.Millisecond):
		}
		release(t, before)
	}
	lock := <-granted
	if lock == nil {
		return true
	}
	awaitChildren(t, observer, path, 1, soon)
	checkExcluded(t, others)
	ctx, cancel := context.WithTimeout(t.Context(), soon)
	defer cancel()
	if err := lock.Release(ctx); err != nil {
		t.Errorf("release: %v", err)
	}
	if s.ID() != id {
		t.Error("the session did not survive")
	}
	awaitChildren(t, observer, path, 0, 5*time.Second)
	select {
	case <-cut:
		return true
	default:
		return false
	}
}
