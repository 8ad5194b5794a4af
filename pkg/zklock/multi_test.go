package zklock_test

import (
	"context"
	"errors"
	"path"
	"testing"

	"orderstock/pkg/zklock"
)

// A lock that is lost while Acquire waits for the next one is acquired again: Acquire does not return
// locks that are not held.
func TestMultiLosesOneWhileItWaits(t *testing.T) {
	for name, lose := range map[string]func(t *testing.T, l *link, other *zklock.Session, dir string){
		"node deleted": func(t *testing.T, _ *link, other *zklock.Session, dir string) {
			node := path.Join(dir, awaitChildren(t, other.Conn(), dir, 1)[0])
			must(t, other.Conn().Delete(node, -1))
		},
		"session expired": func(t *testing.T, l *link, _ *zklock.Session, _ string) { l.expire(t) },
	} {
		t.Run(name, func(t *testing.T) {
			dir := newRoot(t)
			s, l := dialLink(t)
			other := connect(t)
			held := acquire(t, zklock.NewMutex(other, dir+"/b"))
			multi := zklock.NewMulti(zklock.NewMutex(s, dir+"/a"), zklock.NewMutex(s, dir+"/b", zklock.WithHandoff(1, 0)))
			var lock *zklock.MultiLock
			acquired := make(chan error, 1)
			go func() {
				var err error
				lock, err = multi.Acquire(t.Context())
				acquired <- err
			}()
			awaitChildren(t, other.Conn(), dir+"/b", 2)
			first := awaitChildren(t, other.Conn(), dir+"/a", 1)[0]
			lose(t, l, other, dir+"/a")
			for again := first; again == first; { // it is taken again, before the other is free
				awaitChildren(t, other.Conn(), dir+"/b", 2)
				again = awaitChildren(t, other.Conn(), dir+"/a", 1)[0]
			}
			release(t, held)
			must(t, <-acquired)
			if err := context.Cause(lock.Context()); err != nil {
				t.Errorf("acquired, and lost before: %v", err)
			}
			check(t, lock.Release(t.Context()))
		})
	}
}

// Several kinds at once, some given twice: each is taken once, and of two sides the writer's.
func TestMultiOfAllKinds(t *testing.T) {
	dir := newRoot(t)
	s, other := connect(t), connect(t)
	rw := zklock.NewRWMutex(s, dir+"/b")
	multi := zklock.NewMulti(
		zklock.NewSemaphore(s, dir+"/c", 2), rw.Reader(), zklock.NewMutex(s, dir+"/a"),
		zklock.NewReentrantMutex(s, dir+"/a"), rw.Writer(), zklock.NewSemaphore(s, dir+"/c", 2),
	)
	ctx, cancel := context.WithTimeout(zklock.WithOwner(t.Context()), patience)
	defer cancel()
	outer := acquireWith(t, ctx, zklock.NewReentrantMutex(s, dir+"/a")) // the owner has one of them already
	lock, err := multi.Acquire(ctx)
	must(t, err)
	if n := len(lock.Locks()); n != 3 {
		t.Errorf("%d locks, want 3", n)
	}
	if _, err := zklock.NewRWMutex(other, dir+"/b").Reader().TryAcquire(ctx); !errors.Is(err, zklock.ErrNotAcquired) {
		t.Errorf("read beside the writer's side: %v", err)
	}
	lease := acquire(t, zklock.NewSemaphore(other, dir+"/c", 2)) // the other of the two
	wantErr(t, errorOf(multi.TryAcquire(ctx)), zklock.ErrNotAcquired, "try of what is taken")
	release(t, lease)
	check(t, lock.Release(ctx))
	release(t, outer)
	again, err := multi.TryAcquire(zklock.WithOwner(t.Context()))
	must(t, err)
	check(t, again.Release(ctx))
}
