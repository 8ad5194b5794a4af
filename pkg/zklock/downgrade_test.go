package zklock_test

import (
	"context"
	"errors"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/go-zookeeper/zk"

	"orderstock/pkg/zklock"
	"orderstock/pkg/zklock/internal/zktest"
)

// A writer becomes a reader: the readers before the next writer join it, that writer waits for all of
// them, and contenders behind that writer wait for it.
func TestDowngrade(t *testing.T) {
	for name, cut := range map[string]bool{"answered": false, "reply lost": true} {
		t.Run(name, func(t *testing.T) {
			dir := zktest.Root(t) + "/rw"
			s, l := dialLink(t)
			other := connect(t)
			here, there := zklock.NewRWMutex(s, dir), zklock.NewRWMutex(other, dir)
			written := acquire(t, here.Writer())
			before := begin(t.Context(), there.Reader())
			awaitChildren(t, other.Conn(), dir, 2)
			writer := begin(t.Context(), there.Writer())
			awaitChildren(t, other.Conn(), dir, 3)
			after := begin(t.Context(), there.Reader())
			awaitChildren(t, other.Conn(), dir, 4)
			if cut {
				l.cutAfter(opMulti)
			}
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			read, err := here.Downgrade(ctx, written)
			must(t, err)
			if cause := context.Cause(written.Context()); !errors.Is(cause, zklock.ErrReleased) || !read.Valid() {
				t.Errorf("writer's handle %v, reader valid for %v", cause, read.ValidFor())
			}
			release(t, before.wait(t))
			awaitChildren(t, other.Conn(), dir, 3)
			status, err := zklock.Inspect(ctx, other, dir)
			if err != nil || modesOf(status.Holders) != "read" || modesOf(status.Waiters) != "write read" {
				t.Errorf("status %+v, %v", status, err)
			}
			writer.waits(t, other, dir, "a writer beside a reader")
			after.waits(t, other, dir, "a reader went past a writer")
			release(t, read)
			release(t, writer.wait(t))
			release(t, after.wait(t))
			awaitChildren(t, other.Conn(), dir, 0)
			wantErr(t, written.Release(ctx), zklock.ErrReleased, "release of the writer's handle")
		})
	}
}

func TestDowngradeRefusesNil(t *testing.T) {
	m := zklock.NewRWMutex(connect(t), zktest.Root(t)+"/lock")
	if _, err := m.Downgrade(t.Context(), nil); err == nil {
		t.Error("Downgrade accepts nil")
	}
}

func TestDowngradeRefuses(t *testing.T) {
	dir := zktest.Root(t) + "/rw"
	s, l := dialLink(t)
	m := zklock.NewRWMutex(s, dir)
	for name, lock := range map[string]*zklock.Lock{
		"reader":       acquire(t, m.Reader()),
		"another lock": acquire(t, zklock.NewRWMutex(s, dir+"/another").Writer()),
		"mutex":        acquire(t, zklock.NewMutex(s, dir)),
		"permits":      acquireLeases(t, zklock.NewSemaphore(s, dir, 2), 2),
	} {
		if _, err := m.Downgrade(t.Context(), lock); err == nil || !lock.Valid() {
			t.Errorf("%s: %v, valid %v", name, err, lock.Valid())
		}
		release(t, lock)
	}
	released := acquire(t, m.Writer())
	release(t, released)
	wantErr(t, errorOf(m.Downgrade(t.Context(), released)), zklock.ErrReleased, "downgrade of a released lock")
	// The lock is lost before or during the downgrade: the node is deleted and the client does not know yet.
	lost := acquire(t, m.Writer())
	l.expire(t)
	await(t, lost.Context().Done(), "the loss of the lock")
	wantErr(t, errorOf(m.Downgrade(t.Context(), lost)), zklock.ErrLost, "downgrade of a lost lock")
	other := connect(t)
	contenders := func() []string { // without containers, which the server deletes at any time
		names, _, err := other.Conn().Children(dir)
		if !errors.Is(err, zk.ErrNoNode) {
			check(t, err)
		}
		return slices.DeleteFunc(names, func(name string) bool { return !strings.Contains(name, "__") })
	}
	deleted := acquire(t, m.Writer())
	l.once(opMulti, func() bool {
		for _, name := range contenders() {
			check(t, other.Conn().Delete(path.Join(dir, name), -1))
		}
		return false
	})
	wantErr(t, errorOf(m.Downgrade(t.Context(), deleted)), zklock.ErrLost, "downgrade of a deleted node")
	// The caller gives up while the connection is away: nothing is left.
	writer := acquire(t, m.Writer())
	ctx, cancel := context.WithCancel(t.Context())
	l.once(opMulti, func() bool { cancel(); return true })
	if lock, err := m.Downgrade(ctx, writer); err == nil {
		release(t, lock) // it was answered after all
	} else if !errors.Is(err, context.Canceled) {
		t.Errorf("downgrade with an ended context: %v", err)
	}
	eventually(t, "nothing is left", func() bool { return len(contenders()) == 0 })
	release(t, acquire(t, m.Writer()))
}

// downgradeNearTheEnd: near the end of the parent's counter, numbers soon do not tell the order any more. The reader's
// place would not be certain.
func downgradeNearTheEnd(t *testing.T, addr, path string) {
	t.Helper()
	m := zklock.NewRWMutex(connectTo(t, addr), path)
	writer := acquire(t, m.Writer())
	if _, err := m.Downgrade(t.Context(), writer); err == nil ||
		!strings.Contains(err.Error(), "RLock") || !writer.Valid() {
		t.Errorf("downgrade: %v, the writer's lock valid: %v", err, writer.Valid())
	}
	release(t, writer)
}

func acquireLeases(t *testing.T, m *zklock.Semaphore, n int) *zklock.Lock {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	lock, err := m.AcquireN(ctx, n)
	must(t, err)
	return lock
}
