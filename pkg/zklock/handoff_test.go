package zklock_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"orderstock/pkg/zklock"
)

// crowd keeps n goroutines acquiring and releasing until the test ends, and counts. Each holds the lock
// long enough that the others are waiting when it releases: somebody always wants the lock.
type crowd struct {
	all sync.WaitGroup
	mu  sync.Mutex
	n   int
}

const crowdHold = 200 * time.Microsecond

func newCrowd(t *testing.T, n int, m *zklock.Mutex) *crowd {
	t.Helper()
	c := &crowd{}
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(func() { cancel(); c.all.Wait() })
	for range n {
		c.all.Go(func() {
			for ctx.Err() == nil {
				lock, err := m.Acquire(ctx)
				if err != nil {
					if ctx.Err() == nil {
						t.Error(err)
					}
					return
				}
				c.mu.Lock()
				c.n++
				c.mu.Unlock()
				time.Sleep(crowdHold)
				check(t, lock.Release(context.WithoutCancel(ctx)))
			}
		})
	}
	return c
}

func (c *crowd) count() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.n
}

// awaitMore waits until the crowd has acquired again.
func (c *crowd) awaitMore(t *testing.T) {
	t.Helper()
	began := c.count()
	eventually(t, "the crowd acquires again", func() bool { return c.count() > began })
}

// Waiters in the process get the lock without a request, one after the other.
func TestHandoffNeedsNoZooKeeper(t *testing.T) {
	const waiters = 1000
	s, l := dialLink(t)
	m := zklock.NewMutex(s, newRoot(t)+"/lock")
	lock := acquire(t, m)
	creates, deletes := l.requests(opCreate), l.requests(opDelete)
	queue := make([]*acquisition, waiters)
	for i := range queue {
		queued := make(chan struct{})
		queue[i] = begin(signalDone(t.Context(), queued), zklock.NewMutex(s, m.Path())) // another value: the same queue
		await(t, queued, "the wait")
	}
	for _, next := range queue {
		release(t, lock)
		last := lock.Token()
		if lock = next.wait(t); !last.Less(lock.Token()) {
			t.Fatalf("token %v after %v", lock.Token(), last)
		}
	}
	if c, d := l.requests(opCreate)-creates, l.requests(opDelete)-deletes; c+d > 0 {
		t.Errorf("%d creates and %d deletes for %d acquisitions", c, d, waiters)
	}
	release(t, lock)
	awaitChildren(t, s.Conn(), m.Path(), 0)
}

func TestHandoffIsFirstComeFirstServed(t *testing.T) {
	s := connect(t)
	m := zklock.NewMutex(s, newRoot(t)+"/lock")
	lock := acquire(t, m)
	var (
		mu    sync.Mutex
		order []int
		all   sync.WaitGroup
	)
	for i := range 20 {
		queued := make(chan struct{})
		ctx := signalDone(t.Context(), queued)
		all.Go(func() {
			lock, err := m.Acquire(ctx)
			if err != nil {
				t.Error(err)
				return
			}
			mu.Lock()
			order = append(order, i)
			mu.Unlock()
			check(t, lock.Release(t.Context()))
		})
		await(t, queued, "the wait")
	}
	release(t, lock)
	all.Wait()
	if !slices.IsSorted(order) {
		t.Errorf("served in the order %v", order)
	}
}

// waitSignal is a context that shows when a goroutine begins to wait for its end: an acquisition does
// that when it is in the process's queue.
type waitSignal struct {
	context.Context
	once   *sync.Once
	queued chan struct{}
}

func signalDone(ctx context.Context, queued chan struct{}) context.Context {
	return waitSignal{ctx, new(sync.Once), queued}
}

func (w waitSignal) Done() <-chan struct{} {
	w.once.Do(func() { close(w.queued) })
	return w.Context.Done()
}

func TestHandoffIsBounded(t *testing.T) {
	for name, bound := range map[string]zklock.MutexOption{
		"by count": zklock.WithHandoff(50, time.Hour), "by time": zklock.WithHandoff(1<<30, 20*time.Millisecond),
	} {
		t.Run(name, func(t *testing.T) {
			path := newRoot(t) + "/lock"
			c := newCrowd(t, 4, zklock.NewMutex(connect(t), path, bound))
			rival := zklock.NewMutex(connect(t), path, zklock.WithHandoff(1, 0))
			c.awaitMore(t)
			for range 5 {
				release(t, acquire(t, rival)) // or never, without a bound
			}
			c.awaitMore(t)
		})
	}
}

// A turn that is too short for anything is good for one grant. Otherwise two processes would take the
// lock from each other and never use it.
func TestEveryTenureIsOfUse(t *testing.T) {
	for _, opt := range []zklock.MutexOption{zklock.WithHandoff(100, 0), zklock.WithHandoff(100, time.Nanosecond)} {
		const want = 25
		path := newRoot(t) + "/lock"
		crowds := []*crowd{
			newCrowd(t, 4, zklock.NewMutex(connect(t), path, opt)),
			newCrowd(t, 4, zklock.NewMutex(connect(t), path, opt)),
		}
		eventually(t, "both acquire", func() bool { return crowds[0].count() >= want && crowds[1].count() >= want })
	}
}

// If only one of two processes hands the lock on locally, the count is exact: the other's node is in
// the queue when the turn begins.
func TestTenureCounts(t *testing.T) {
	const bound = 7
	path := newRoot(t) + "/lock"
	other := connect(t)
	held := acquire(t, zklock.NewMutex(other, path, zklock.WithHandoff(1, 0)))
	m := zklock.NewMutex(connect(t), path, zklock.WithHandoff(bound, time.Hour))
	var (
		mu     sync.Mutex
		tokens []zklock.Token
		all    sync.WaitGroup
	)
	for range 3 * bound {
		queued := make(chan struct{})
		all.Go(func() {
			lock, err := m.Acquire(signalDone(t.Context(), queued))
			if err != nil {
				t.Error(err)
				return
			}
			mu.Lock()
			tokens = append(tokens, lock.Token())
			mu.Unlock()
			check(t, lock.Release(t.Context()))
		})
		await(t, queued, "the wait")
	}
	awaitChildren(t, other.Conn(), path, 2)
	rivals := []*acquisition{ // they wait until the crowd's first turn is used up
		begin(t.Context(), zklock.NewMutex(other, path, zklock.WithHandoff(1, 0))),
	}
	awaitChildren(t, other.Conn(), path, 3)
	release(t, held)
	rival := rivals[0].wait(t)
	mu.Lock()
	before := len(tokens)
	mu.Unlock()
	if before != bound {
		t.Errorf("%d hand-overs before the rival's turn, want %d", before, bound)
	}
	release(t, rival)
	all.Wait()
	if !slices.IsSortedFunc(tokens, zklock.Token.Compare) || len(slices.Compact(tokens)) != 3*bound {
		t.Errorf("tokens %v", tokens)
	}
	if !tokens[bound-1].Less(rival.Token()) || !rival.Token().Less(tokens[bound]) {
		t.Errorf("the rival's token %v is not between %v and %v", rival.Token(), tokens[bound-1], tokens[bound])
	}
}

func TestWithdrawnWaiterLeavesTheOthersTheirTurn(t *testing.T) {
	path := newRoot(t) + "/lock"
	s := connect(t)
	m := zklock.NewMutex(s, path)
	lock := acquire(t, m)
	ctx, cancel := context.WithCancelCause(t.Context())
	queued := make(chan struct{})
	gone := begin(signalDone(ctx, queued), m)
	await(t, queued, "the wait")
	queued = make(chan struct{})
	next := begin(signalDone(t.Context(), queued), m)
	await(t, queued, "the wait")
	reason := errors.New("changed my mind")
	cancel(reason)
	await(t, gone.done, "the end of the wait")
	for _, want := range []error{zklock.ErrNotAcquired, context.Canceled, reason} {
		if !errors.Is(gone.err, want) {
			t.Errorf("error %v is not %v", gone.err, want)
		}
	}
	release(t, lock)
	release(t, next.wait(t))
}

func TestContextHasTheValuesOfAcquire(t *testing.T) {
	type key struct{}
	ofConnect := context.WithValue(t.Context(), key{}, "of connect")
	s, err := zklock.Connect(ofConnect, []string{zookeeper(t)})
	must(t, err)
	t.Cleanup(func() { closeSession(t, s) })
	path := newRoot(t) + "/lock"
	kinds := map[string]acquirer{"reentrant": zklock.NewReentrantMutex(s, path+"-reentrant")}
	for name, m := range kindsOfMutex(s, path) {
		kinds[name] = m
	}
	outer := zklock.WithOwner(context.WithValue(t.Context(), key{}, "of an outer one"))
	entered := acquireWith(t, outer, kinds["reentrant"])
	for name, m := range kinds {
		ctx, cancel := context.WithCancel(context.WithValue(outer, key{}, "value"))
		lock := acquireWith(t, ctx, m)
		cancel()
		if lock.Context().Value(key{}) != "value" || lock.Context().Err() != nil {
			t.Errorf("%s: value %v, error %v", name, lock.Context().Value(key{}), lock.Context().Err())
		}
		child, stop := context.WithCancel(lock.Context())
		release(t, lock)
		await(t, child.Done(), "the end of a context below the lock's")
		if cause := context.Cause(child); !errors.Is(cause, zklock.ErrReleased) {
			t.Errorf("%s: cause %v", name, cause)
		}
		stop()
	}
	release(t, entered)
}

func acquireWith(t *testing.T, ctx context.Context, m acquirer) *zklock.Lock {
	t.Helper()
	lock, err := m.Acquire(ctx)
	must(t, err)
	return lock
}

// A lone contender beside a crowd in another process waits for one bounded turn at most with hand-off, and
// for each contender of the crowd without.
func TestALoneContenderIsNotStarved(t *testing.T) {
	const (
		crowd = 64
		hold  = time.Millisecond
		limit = 500 * time.Millisecond // far more than a turn of 25 ms, on a machine that is busy
	)
	times := 40
	if testing.Short() {
		times = 10
	}
	for name, opts := range map[string][]zklock.MutexOption{"hand-off": nil, "no hand-off": {zklock.WithHandoff(1, 0)}} {
		t.Run(name, func(t *testing.T) {
			path := newRoot(t) + "/lock"
			here, there := zklock.NewMutex(connect(t), path, opts...), zklock.NewMutex(connect(t), path, opts...)
			ctx, cancel := context.WithCancel(t.Context())
			var all sync.WaitGroup
			defer all.Wait()
			defer cancel()
			for range crowd {
				all.Go(func() {
					for {
						lock, err := there.Acquire(ctx)
						if err != nil {
							return
						}
						time.Sleep(hold)
						_ = lock.Release(ctx) // may meet the end of the test
					}
				})
			}
			var waits []time.Duration
			for range times {
				began := time.Now()
				lock := acquire(t, here)
				waits = append(waits, time.Since(began))
				time.Sleep(hold)
				release(t, lock)
			}
			slices.Sort(waits)
			most := waits[times*3/4] // a machine that stands still prolongs few
			t.Logf("beside %d contenders that hold for %s, a lone one waited %s at the median, %s at the third quartile "+
				"and %s at most", crowd, hold, waits[times/2], most, waits[times-1])
			if name == "hand-off" && most > limit {
				t.Errorf("waited %s, want at most %s", most, limit)
			}
		})
	}
}

// Wanted reports those who wait in ZooKeeper's queue, and came before the call or come after it. It ends with the lock.
func TestWanted(t *testing.T) {
	path := newRoot(t) + "/lock"
	s, other := connect(t), connect(t)
	for name, m := range kindsOfMutex(s, path) {
		lock := acquire(t, m)
		wanted := make(chan error, 1)
		go func() { wanted <- lock.Wanted(t.Context()) }()
		select {
		case err := <-wanted:
			t.Fatalf("%s: wanted by nobody: %v", name, err)
		case <-time.After(20 * time.Millisecond):
		}
		next := begin(t.Context(), zklock.NewMutex(other, m.Path()))
		must(t, <-wanted)
		must(t, lock.Wanted(t.Context()))
		release(t, lock)
		wantErr(t, lock.Wanted(t.Context()), zklock.ErrReleased, name)
		release(t, next.wait(t))
	}
}

// Who asks again and again sets one watch for each change of the queue: the library cannot remove any.
func TestWantedSharesItsWatch(t *testing.T) {
	s, l := dialLink(t)
	m := zklock.NewMutex(s, newRoot(t)+"/lock")
	lock := acquire(t, m)
	before := l.requests(opChildren)
	poll := func(limit time.Duration) error {
		ctx, cancel := context.WithTimeout(t.Context(), limit)
		defer cancel()
		return lock.Wanted(ctx)
	}
	for range 50 {
		wantErr(t, poll(0), context.DeadlineExceeded, "a look at a lock that nobody else wants")
		wantErr(t, poll(time.Millisecond), context.DeadlineExceeded, "a look at a lock that nobody else wants")
	}
	eventually(t, "a listing with a watch", func() bool { return l.requests(opChildren) > before })
	if n := l.requests(opChildren) - before; n != 1 {
		t.Errorf("%d listings with a watch, want 1", n)
	}
	a := begin(t.Context(), zklock.NewMutex(connect(t), m.Path()))
	must(t, lock.Wanted(t.Context()))
	must(t, poll(0))
	release(t, lock)
	release(t, a.wait(t))
}

// A shared lock is wanted when somebody has to wait for it, and not while others share it.
func TestWantedOfASharedLock(t *testing.T) {
	t.Parallel()
	dir := newRoot(t)
	s, other := connect(t), connect(t)
	const leases = 5
	semaphore := func(s *zklock.Session) acquirer { return zklock.NewSemaphore(s, dir+"/semaphore", leases) }
	for name, c := range map[string]struct {
		lock   acquirer
		others []acquirer // that share it
		more   acquirer   // that has to wait
	}{
		"reader": {
			zklock.NewRWMutex(s, dir+"/rw").Reader(),
			[]acquirer{zklock.NewRWMutex(other, dir+"/rw").Reader()},
			zklock.NewRWMutex(other, dir+"/rw").Writer(),
		},
		"lease": {
			semaphore(s),
			[]acquirer{semaphore(other), semaphore(other), semaphore(other), semaphore(other)},
			semaphore(other),
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			lock := acquire(t, c.lock)
			var shared []*zklock.Lock
			for _, m := range c.others {
				shared = append(shared, acquire(t, m))
				ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
				wantErr(t, lock.Wanted(ctx), context.DeadlineExceeded, "a share beside others")
				cancel()
			}
			a := begin(t.Context(), c.more)
			must(t, lock.Wanted(t.Context()))
			for _, l := range append(shared, lock) {
				release(t, l)
			}
			release(t, a.wait(t))
		})
	}
}
