package zklock_test

import (
	"errors"
	"reflect"
	"testing"

	"github.com/go-zookeeper/zk"

	"orderstock/pkg/zklock"
)

// The tests in this file show what goes wrong with the client library's own Lock, which README.md names, and
// that it does not with this package. If one fails, the library has been corrected: then correct README.md.

// theirs is the library's lock on path.
func theirs(s *zklock.Session, path string) *zk.Lock {
	return zk.NewLock(s.Conn(), path, zk.WorldACL(zk.PermAll))
}

// A connection that ends after the create makes the library's Lock fail and leaves its node: everybody waits for
// a lock that nobody has, until the session ends.
func TestTheirLockLeavesAGhost(t *testing.T) {
	t.Parallel()
	path := newRoot(t) + "/lock"
	s, l := dialLink(t)
	release(t, acquire(t, zklock.NewMutex(s, path, zklock.WithHandoff(1, 0)))) // the parent is there
	l.cutAfter(opChildren)
	if err := theirs(s, path).Lock(); !errors.Is(err, zk.ErrConnectionClosed) {
		t.Fatalf("Lock returned %v", err)
	}
	other := zklock.NewMutex(connect(t), path)
	wantErr(t, errorOf(other.TryAcquire(t.Context())), zklock.ErrNotAcquired, "after the failure of the library's Lock")

	path += "-ours"
	m := zklock.NewMutex(s, path, zklock.WithHandoff(1, 0))
	release(t, acquire(t, m))
	l.cutAfter(opChildren)
	release(t, acquire(t, m)) // over the reconnect, with the same node
	awaitChildren(t, connect(t).Conn(), path, 0)
}

// After the session has expired, the library's Lock says nothing to its holder: another one has the lock, and the
// first can neither learn of it nor use its Lock again.
func TestTheirLockDoesNotTellOfItsLoss(t *testing.T) {
	t.Parallel()
	path := newRoot(t) + "/lock"
	s, l := dialLink(t)
	held := theirs(s, path)
	must(t, held.Lock())
	l.expire(t)
	second := theirs(connect(t), path)
	must(t, second.Lock())
	if err := held.Lock(); !errors.Is(err, zk.ErrDeadlock) { // "already has the lock"
		t.Errorf("the first holder's Lock: %v", err)
	}
	check(t, second.Unlock())
	for range 2 {
		if err := held.Unlock(); err == nil {
			t.Error("the first holder's Unlock succeeds")
		}
	}

	path += "-ours"
	lock := acquire(t, zklock.NewMutex(s, path))
	l.expire(t)
	await(t, lock.Context().Done(), "the news of the loss")
	release(t, acquire(t, zklock.NewMutex(s, path)))
}

// The library's Lock has nothing that a store could compare, no way to give up waiting and no try.
func TestTheirLockHasNoToken(t *testing.T) {
	t.Parallel()
	lock := reflect.TypeFor[*zk.Lock]()
	var methods []string
	for i := range lock.NumMethod() {
		m := lock.Method(i)
		methods = append(methods, m.Name)
		if m.Type.NumOut() != 1 || m.Type.Out(0) != reflect.TypeFor[error]() {
			t.Errorf("%s returns more than an error", m.Name)
		}
	}
	if !reflect.DeepEqual(methods, []string{"Lock", "LockWithData", "Unlock"}) {
		t.Errorf("the library's Lock has the methods %q", methods)
	}
}

// A child whose name the library's Lock cannot read makes each Lock fail, and each failure leaves a node.
func TestTheirLockStumblesOverAStranger(t *testing.T) {
	t.Parallel()
	path := newRoot(t) + "/lock"
	s := connect(t)
	release(t, acquire(t, zklock.NewMutex(s, path, zklock.WithHandoff(1, 0))))
	must(t, errorOf(s.Conn().Create(path+"/readme", nil, 0, zk.WorldACL(zk.PermAll))))
	for range 2 {
		if err := theirs(s, path).Lock(); err == nil {
			t.Error("Lock succeeds")
		}
	}
	awaitChildren(t, s.Conn(), path, 3) // the stranger and two ghosts

	must(t, s.Conn().Delete(path+"/readme", -1))
	path += "-ours"
	release(t, acquire(t, zklock.NewMutex(s, path, zklock.WithHandoff(1, 0))))
	must(t, errorOf(s.Conn().Create(path+"/readme", nil, 0, zk.WorldACL(zk.PermAll))))
	release(t, acquire(t, zklock.NewMutex(s, path)))
}
