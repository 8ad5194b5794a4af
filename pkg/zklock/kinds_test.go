package zklock_test

import (
	"context"
	"errors"
	"path"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"orderstock/pkg/zklock"
)

func TestReadersShareAndWritersExclude(t *testing.T) {
	dir := newRoot(t) + "/rw"
	s, other := connect(t), connect(t)
	a, b := zklock.NewRWMutex(s, dir), zklock.NewRWMutex(other, dir)

	first, second := acquire(t, a.Reader()), acquire(t, b.Reader()) // together
	wantErr(t, errorOf(a.Writer().TryAcquire(t.Context())), zklock.ErrNotAcquired, "try to write while others read")
	writer := begin(t.Context(), a.Writer())
	awaitChildren(t, other.Conn(), dir, 3)
	wantErr(t, errorOf(b.Reader().TryAcquire(t.Context())), zklock.ErrNotAcquired, "try to read behind a writer")
	third := begin(t.Context(), b.Reader()) // behind the writer, as it came later
	awaitChildren(t, other.Conn(), dir, 4)

	status, err := zklock.Inspect(t.Context(), other, dir)
	must(t, err)
	if modes := modesOf(status.Holders); modes != "read read" {
		t.Errorf("holders %s", modes)
	}
	if modes := modesOf(status.Waiters); modes != "write read" {
		t.Errorf("waiters %s", modes)
	}

	release(t, first)
	writer.waits(t, s, dir, "a writer beside a reader")
	release(t, second)
	w := writer.wait(t)
	third.waits(t, other, dir, "a reader beside a writer")
	if !first.Token().Less(w.Token()) || !second.Token().Less(w.Token()) {
		t.Errorf("the writer's token %v, the readers' %v and %v", w.Token(), first.Token(), second.Token())
	}
	release(t, w)
	release(t, third.wait(t))
	lock, err := a.Writer().TryAcquire(t.Context())
	must(t, err)
	release(t, lock)
}

func modesOf(contenders []zklock.Contender) string {
	var modes []string
	for _, c := range contenders {
		modes = append(modes, c.Mode)
	}
	return strings.Join(modes, " ")
}

func TestSemaphoreLimits(t *testing.T) {
	const leases = 3
	dir := newRoot(t) + "/sem"
	sessions := []*zklock.Session{connect(t), connect(t)}
	var (
		all     sync.WaitGroup
		mu      sync.Mutex
		holders int
		most    int
	)
	full, reached := context.WithTimeout(t.Context(), patience) // ends when all leases are held
	defer reached()
	for i := range 12 {
		all.Go(func() {
			m := zklock.NewSemaphore(sessions[i%2], dir, leases)
			for range 3 {
				lock, err := m.Acquire(t.Context())
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				holders++
				if most = max(most, holders); most == leases {
					reached()
				}
				mu.Unlock()
				<-full.Done()
				time.Sleep(30 * time.Millisecond) // one too many would come meanwhile
				mu.Lock()
				holders--
				mu.Unlock()
				check(t, lock.Release(t.Context()))
			}
		})
	}
	all.Wait()
	if most != leases {
		t.Errorf("%d held at once, want %d", most, leases)
	}
	awaitChildren(t, sessions[0].Conn(), dir+"/leases", 0)
	awaitChildren(t, sessions[0].Conn(), dir+"/locks", 0)
}

func TestSemaphoreWaitsTriesAndGivesUp(t *testing.T) {
	dir := newRoot(t) + "/sem"
	s, l := dialLink(t)
	other := connect(t)
	m, theirs := zklock.NewSemaphore(s, dir, 2), zklock.NewSemaphore(other, dir, 2)
	first, second := acquire(t, m), acquire(t, theirs)
	wantErr(t, errorOf(theirs.TryAcquire(t.Context())), zklock.ErrNotAcquired, "try without a lease left")
	wantErr(t, inVain(t, theirs.Acquire), zklock.ErrNotAcquired, "timed acquire without a lease left")
	awaitChildren(t, other.Conn(), dir+"/leases", 2) // its nodes are removed in the background
	awaitChildren(t, other.Conn(), dir+"/locks", 0)
	ctx, cancel := context.WithCancel(t.Context())
	gone := begin(ctx, theirs)
	awaitChildren(t, other.Conn(), dir+"/leases", 3)
	next := begin(t.Context(), theirs)
	awaitChildren(t, other.Conn(), dir+"/locks", 2)
	status, err := zklock.Inspect(t.Context(), s, dir)
	if err != nil || len(status.Holders) != 2 || len(status.Waiters) != 2 {
		t.Errorf("status %+v, %v", status, err)
	}
	cancel()
	await(t, gone.done, "the end of the waiter")
	wantErr(t, gone.err, context.Canceled, "the error")
	l.expire(t) // the first lease comes back with its session
	lock := next.wait(t)
	await(t, first.Context().Done(), "the loss of the lease")
	release(t, second)
	release(t, lock)
	awaitChildren(t, other.Conn(), dir+"/locks", 0) // removed in the background
	lock, err = m.TryAcquire(t.Context())
	must(t, err)
	release(t, lock)
	awaitNoWatches(t, s, dir)
}

// A semaphore that could never be acquired fails at once.
func TestSemaphoreNeedsLeases(t *testing.T) {
	s := connect(t)
	dir := newRoot(t) + "/sem"
	for _, leases := range []int{0, -1} {
		m := zklock.NewSemaphore(s, dir, leases)
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		_, err := m.Acquire(ctx)
		if _, terr := m.TryAcquire(ctx); err == nil || terr == nil || ctx.Err() != nil ||
			!strings.Contains(err.Error(), "NewSemaphore") {
			t.Errorf("%d leases: acquire %v, try %v", leases, err, terr)
		}
		cancel()
	}
	if exists, _, err := s.Conn().Exists(dir); exists || err != nil {
		t.Errorf("a refused acquisition made its path: %v", err)
	}
}

func TestReentrantMutex(t *testing.T) {
	s, l := dialLink(t)
	dir := newRoot(t) + "/lock"
	m := zklock.NewReentrantMutex(s, dir, zklock.WithHandoff(1, 0))
	wantErr(t, errorOf(m.Acquire(t.Context())), zklock.ErrNoOwner, "acquire without an owner")
	mine, theirs := zklock.WithOwner(t.Context()), zklock.WithOwner(t.Context())
	if zklock.WithOwner(mine) != mine {
		t.Error("an owner was replaced")
	}
	outer := acquireWith(t, mine, m)
	creates := l.requests(opCreate)
	inner := acquireWith(t, mine, zklock.NewReentrantMutex(s, dir, zklock.WithHandoff(1, 0)))
	if tried, err := m.TryAcquire(mine); err != nil {
		t.Error(err)
	} else {
		release(t, tried)
	}
	if inner.Token() != outer.Token() || l.requests(opCreate) != creates {
		t.Errorf("re-entry with token %v and %d creates, want %v and none",
			inner.Token(), l.requests(opCreate)-creates, outer.Token())
	}
	wantErr(t, errorOf(m.TryAcquire(theirs)), zklock.ErrNotAcquired, "try by another owner")
	release(t, outer) // in any order
	if inner.Context().Err() != nil || outer.Context().Err() == nil {
		t.Error("the release of one entry ended the other, or not itself")
	}
	wantErr(t, errorOf(m.TryAcquire(theirs)), zklock.ErrNotAcquired, "try by another owner while one entry is left")
	wantErr(t, outer.Release(t.Context()), zklock.ErrReleased, "second release")
	release(t, inner)

	lock := acquireWith(t, theirs, m)
	l.expire(t)
	await(t, lock.Context().Done(), "the loss of the lock")
	wantErr(t, errorOf(m.Acquire(theirs)), zklock.ErrLost, "re-entry of a lost lock")
	wantErr(t, lock.Release(t.Context()), zklock.ErrLost, "release of a lost lock")
	release(t, acquireWith(t, theirs, m))
}

// A try does not wait for a waiting acquisition of its owner.
func TestReentrantTryWhileItsOwnerWaits(t *testing.T) {
	s, other := connect(t), connect(t)
	dir := newRoot(t) + "/lock"
	held := acquire(t, zklock.NewMutex(other, dir))
	m := zklock.NewReentrantMutex(s, dir)
	ctx := zklock.WithOwner(t.Context())
	waiting := begin(ctx, m)
	awaitChildren(t, other.Conn(), dir, 2)
	tried := make(chan error, 1)
	go func() {
		_, err := m.TryAcquire(ctx)
		tried <- err
	}()
	select {
	case err := <-tried:
		wantErr(t, err, zklock.ErrNotAcquired, "try while the owner waits")
	case <-time.After(patience):
		t.Error("the try waits with its owner")
	}
	release(t, held)
	release(t, waiting.wait(t))
}

// Two owners are different, even if the context of Connect had an owner.
func TestOwnersAreNotTheSessions(t *testing.T) {
	dir := newRoot(t)
	s, err := zklock.Connect(zklock.WithOwner(t.Context()), []string{zookeeper(t)})
	must(t, err)
	t.Cleanup(func() { closeSession(t, s) })
	shared := zklock.NewReentrantMutex(s, dir+"/shared")
	a := acquireWith(t, zklock.WithOwner(t.Context()), zklock.NewMutex(s, dir+"/a"))
	b := acquireWith(t, zklock.WithOwner(t.Context()), zklock.NewMutex(s, dir+"/b"))
	lock := acquireWith(t, a.Context(), shared)
	wantErr(t, errorOf(shared.TryAcquire(b.Context())), zklock.ErrNotAcquired, "try by another owner")
	release(t, acquireWith(t, a.Context(), shared))
	for _, l := range []*zklock.Lock{lock, a, b} {
		release(t, l)
	}
}

func TestReentrantMutexExcludesOwners(t *testing.T) {
	m := zklock.NewReentrantMutex(connect(t), newRoot(t)+"/lock")
	var (
		all   sync.WaitGroup
		inUse sync.Mutex
	)
	for range 20 {
		all.Go(func() {
			ctx := zklock.WithOwner(t.Context())
			for range 20 {
				outer, err := m.Acquire(ctx)
				if err != nil {
					t.Error(err)
					return
				}
				if !inUse.TryLock() {
					t.Error("two owners hold the lock")
					return
				}
				inner, err := m.Acquire(ctx)
				if err != nil {
					t.Error(err)
					return
				}
				inUse.Unlock()
				check(t, errors.Join(inner.Release(ctx), outer.Release(ctx)))
			}
		})
	}
	all.Wait()
}

func TestMultiIsAllOrNothing(t *testing.T) {
	dir := newRoot(t)
	s, other := connect(t), connect(t)
	mutex := func(name string) *zklock.Mutex { return zklock.NewMutex(s, dir+name, zklock.WithHandoff(1, 0)) }
	multi := zklock.NewMulti(mutex("/c"), mutex("/a"), mutex("/b"), mutex("/a"))
	lock, err := multi.Acquire(t.Context())
	must(t, err)
	var paths []string
	for _, l := range lock.Locks() {
		paths = append(paths, strings.TrimPrefix(l.Path(), dir))
	}
	if !slices.Equal(paths, []string{"/a", "/b", "/c"}) {
		t.Errorf("locks %q", paths)
	}
	must(t, lock.Release(t.Context()))
	wantErr(t, context.Cause(lock.Context()), zklock.ErrReleased, "the cause")

	// One lock is taken: none is kept.
	held := acquire(t, zklock.NewMutex(other, dir+"/c"))
	wantErr(t, inVain(t, multi.Acquire), zklock.ErrNotAcquired, "acquire with one taken")
	wantErr(t, errorOf(multi.TryAcquire(t.Context())), zklock.ErrNotAcquired, "try with one taken")
	awaitChildren(t, other.Conn(), dir+"/a", 0)
	awaitChildren(t, other.Conn(), dir+"/b", 0)
	release(t, held)

	// If one lock is lost, the whole is lost.
	if lock, err = multi.Acquire(t.Context()); err != nil {
		t.Fatal(err)
	}
	node := awaitChildren(t, other.Conn(), dir+"/b", 1)[0]
	must(t, other.Conn().Delete(path.Join(dir+"/b", node), -1))
	await(t, lock.Context().Done(), "the loss of one lock")
	wantErr(t, lock.Release(t.Context()), zklock.ErrLost, "release with one lost")
	awaitChildren(t, other.Conn(), dir+"/a", 0)
}

// Two acquisitions of the same locks in opposite orders do not deadlock.
func TestMultiCannotDeadlock(t *testing.T) {
	dir := newRoot(t)
	var all sync.WaitGroup
	for i, names := range [][]string{{"/a", "/b"}, {"/b", "/a"}} {
		s := connect(t)
		all.Go(func() {
			for range 20 {
				both := zklock.NewMulti(zklock.NewMutex(s, dir+names[0]), zklock.NewMutex(s, dir+names[1]))
				lock, err := both.Acquire(t.Context())
				if err == nil {
					err = lock.Release(t.Context())
				}
				if err != nil {
					t.Error(i, err)
				}
			}
		})
	}
	all.Wait()
}

// An acquisition with another number of leases than that of the holders is refused.
func TestSemaphoreRefusesAnotherNumber(t *testing.T) {
	dir := newRoot(t) + "/sem"
	s, other := connect(t), connect(t)
	lease := acquire(t, zklock.NewSemaphore(s, dir, 2))
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for _, number := range []int{1, 3} {
		m := zklock.NewSemaphore(other, dir, number)
		if _, err := m.Acquire(ctx); !errors.Is(err, zklock.ErrLeaseCount) || errors.Is(err, zklock.ErrNotAcquired) {
			t.Errorf("acquire with %d leases: %v", number, err)
		}
		if _, err := m.TryAcquire(ctx); !errors.Is(err, zklock.ErrLeaseCount) {
			t.Errorf("try with %d leases: %v", number, err)
		}
	}
	if !lease.Valid() {
		t.Error("the refused acquisition took the lease")
	}
	awaitChildren(t, other.Conn(), dir+"/leases", 1)
	release(t, lease)
	release(t, acquire(t, zklock.NewSemaphore(other, dir, 3))) // nobody has any: the number may change
}

func TestReleaseOfAReentrantLockNamesItOnce(t *testing.T) {
	s := connect(t, zklock.WithSessionTimeout(20*time.Second))
	m := zklock.NewReentrantMutex(s, newRoot(t)+"/lock")
	lock := acquireWith(t, zklock.WithOwner(t.Context()), m)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := lock.Release(ctx); err != nil && strings.Count(err.Error(), "release ") != 1 {
		t.Errorf("release says %v", err)
	}
}
