package zklock_test

import (
	"context"
	"strconv"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"orderstock/pkg/servers/serverstest"
	"orderstock/pkg/zklock"
)

// again acquires and releases so often that the counter of the lock's parent says something.
func again(t *testing.T, m *zklock.Mutex, times int) {
	t.Helper()
	for range times {
		release(t, acquire(t, m))
	}
}

// Who alone takes a lock again and again asks ZooKeeper for a create and a delete, and no more.
func TestAloneNeedsNoLook(t *testing.T) {
	s, l := dialLink(t)
	m := zklock.NewMutex(s, serverstest.ZooKeeperRoot(t)+"/lock", zklock.WithHandoff(1, 0))
	again(t, m, 20)
	looks, creates, deletes := l.requests(opChildren), l.requests(opCreate), l.requests(opDelete)
	again(t, m, 100)
	if n := l.requests(opChildren) - looks; n > 10 { // other tests' transactions may ask for one
		t.Errorf("%d looks at the queue in 100 acquisitions", n)
	}
	if c, d := l.requests(opCreate)-creates, l.requests(opDelete)-deletes; c != 100 || d != 100 {
		t.Errorf("%d creates and %d deletes in 100 acquisitions", c, d)
	}
}

// Who is the next in turn takes the lock by the news that the one ahead is gone; who is not looks first.
func TestTheNextInTurnNeedsNoLook(t *testing.T) {
	s, l := dialLink(t)
	other := connect(t)
	dir := serverstest.ZooKeeperRoot(t) + "/lock"
	mine := zklock.NewMutex(s, dir, zklock.WithHandoff(1, 0))
	theirs := zklock.NewMutex(other, dir, zklock.WithHandoff(1, 0))

	held := acquire(t, theirs)
	next := begin(t.Context(), mine)
	awaitChildren(t, other.Conn(), dir, 2)
	time.Sleep(100 * time.Millisecond) // its look is done
	looks := l.requests(opChildren)
	release(t, held)
	lock := next.wait(t)
	if n := l.requests(opChildren) - looks; n != 0 {
		t.Errorf("%d looks by the next in turn", n)
	}
	release(t, lock)

	held = acquire(t, theirs)
	leaving, leave := context.WithCancel(t.Context())
	between := begin(leaving, theirs)
	awaitChildren(t, other.Conn(), dir, 2)
	last := begin(t.Context(), mine)
	awaitChildren(t, other.Conn(), dir, 3)
	leave()
	awaitChildren(t, other.Conn(), dir, 2)
	<-between.done
	select {
	case <-last.done:
		t.Fatalf("two hold the lock: %v", last.err)
	case <-time.After(100 * time.Millisecond):
	}
	release(t, held)
	release(t, last.wait(t))
}

// Whoever came in between is seen: it holds the lock, and is waited for.
func TestSoleSeesWhoCameBetween(t *testing.T) {
	s, other := connect(t), connect(t)
	dir := serverstest.ZooKeeperRoot(t) + "/lock"
	mine := zklock.NewMutex(s, dir, zklock.WithHandoff(1, 0))
	theirs := zklock.NewMutex(other, dir, zklock.WithHandoff(1, 0))
	for range 20 {
		again(t, mine, 5)
		held := acquire(t, theirs)
		waiting := begin(t.Context(), mine)
		awaitChildren(t, other.Conn(), dir, 2)
		select {
		case <-waiting.done:
			t.Fatalf("two hold the lock: %v", waiting.err)
		case <-time.After(50 * time.Millisecond):
		}
		release(t, held)
		release(t, waiting.wait(t))
	}
}

// The parent was made anew, and its counter stands where the old one did: the numbers say that
// nobody came between, and somebody did, who holds the lock.
func TestSoleSeesANewParent(t *testing.T) {
	s, other := connect(t), connect(t)
	dir := serverstest.ZooKeeperRoot(t) + "/lock"
	m := zklock.NewMutex(s, dir, zklock.WithHandoff(1, 0))
	for _, last := range []int{3, 20} {
		again(t, m, last)
		lock := acquire(t, m)
		number := sequence(t, awaitChildren(t, other.Conn(), dir, 1)[0])
		release(t, lock)
		if err := other.Conn().Delete(dir, -1); err != nil {
			t.Fatal(err)
		}
		if _, err := other.Conn().Create(dir, nil, 0, zk.WorldACL(zk.PermAll)); err != nil {
			t.Fatal(err)
		}
		var first string // theirs, who holds the lock
		for i := range number + 1 {
			p, err := other.Conn().Create(dir+"/lock-", nil, zk.FlagEphemeralSequential, zk.WorldACL(zk.PermAll))
			if err != nil {
				t.Fatal(err)
			}
			if i == 0 {
				first = p
			} else if err := other.Conn().Delete(p, -1); err != nil {
				t.Fatal(err)
			}
		}
		waiting := begin(t.Context(), m)
		awaitChildren(t, other.Conn(), dir, 2)
		select {
		case <-waiting.done:
			t.Fatalf("two hold the lock: %v", waiting.err)
		case <-time.After(50 * time.Millisecond):
		}
		if err := other.Conn().Delete(first, -1); err != nil {
			t.Fatal(err)
		}
		lock = waiting.wait(t)
		if n := sequence(t, awaitChildren(t, other.Conn(), dir, 1)[0]); n != number+1 {
			t.Fatalf("the number is %d and does not follow %d", n, number)
		}
		release(t, lock)
		again(t, m, 2)
	}
}

// sequence returns the number at the end of a node's name.
func sequence(t *testing.T, name string) int {
	t.Helper()
	n, err := strconv.Atoi(name[len(name)-10:])
	if err != nil {
		t.Fatal(err)
	}
	return n
}
