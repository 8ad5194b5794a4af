// Package interop_test holds the tests that package zklock's locks exclude the locks of Apache Curator, and
// are excluded by them, on the same paths: a Java process with the distribution's Curator contends with
// goroutines. There is a test for each lock of Curator in zklock's table, and one with kazoo's Lock.
//
// Each test takes 10 to 20 s: a lock changes hands 400 times, with several writes each time, and ZooKeeper syncs every
// write. The first one also waits for Java to compile the contenders.
package interop_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"orderstock/pkg/servers/serverstest"
	"orderstock/pkg/zklock"
)

const (
	threads = 8 // contenders on each side
	rounds  = 24
	leases  = 3
	limit   = 3 * time.Minute
)

// shop is where both sides work under the lock: the Go side of testdata/CuratorContender.java.
type shop struct {
	t          *testing.T
	lock, work string
	overlapped atomic.Int64
}

func newShop(t *testing.T) *shop {
	t.Helper()
	root := serverstest.ZooKeeperRoot(t)
	s := &shop{t: t, lock: root + "/lock", work: root + "/work"}
	conn := s.connect().Conn()
	s.create(conn, s.work, "")
	s.create(conn, s.work+"/readers", "")
	s.create(conn, s.work+"/holders", "")
	for _, counter := range []string{"/counter", "/a", "/b"} {
		s.create(conn, s.work+counter, "0")
	}
	return s
}

func (s *shop) create(conn *zk.Conn, path, data string) {
	s.t.Helper()
	if _, err := conn.Create(path, []byte(data), zk.FlagPersistent, zk.WorldACL(zk.PermAll)); err != nil {
		s.t.Fatal(err)
	}
}

func (s *shop) connect() *zklock.Session {
	s.t.Helper()
	session, err := zklock.Connect(s.t.Context(), []string{serverstest.ZooKeeper(s.t).Addr()},
		zklock.WithSessionTimeout(20*time.Second))
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = session.Close() })
	return session
}

// turn acquires the lock once, and works under it.
type turn func(ctx context.Context, session *zklock.Session, thread, round int) error

// together lets Curator's class contend with the goroutines; see beside.
func (s *shop) together(class string, turn turn) (byJava, byGo int) {
	s.t.Helper()
	return s.beside(startJava(s.t, class, s.lock, s.work,
		strconv.Itoa(threads), strconv.Itoa(rounds), strconv.Itoa(leases)), turn)
}

// beside lets the other process's contenders and as many goroutines, over two sessions, work at the
// same time, and the goroutines go on for as long as the other process does. It returns how often
// each side acquired the lock.
func (s *shop) beside(other *contender, turn turn) (byOther, byGo int) {
	s.t.Helper()
	sessions := []*zklock.Session{s.connect(), s.connect()}
	ctx, cancel := context.WithTimeout(s.t.Context(), limit)
	defer cancel()
	var (
		over  atomic.Bool
		count atomic.Int64
		all   sync.WaitGroup
	)
	other.start()
	for thread := range threads {
		all.Go(func() {
			for round := 0; !over.Load(); round++ {
				if err := turn(ctx, sessions[thread%len(sessions)], thread, round); err != nil {
					s.t.Errorf("the Go side: %v", err)
					return
				}
				count.Add(1)
			}
		})
	}
	byOther, sawOverlap := other.wait(s.t)
	over.Store(true)
	all.Wait()
	s.overlapped.Add(int64(sawOverlap))
	s.t.Logf("%d acquisitions by the other process, %d by zklock, %d times seen together",
		byOther, count.Load(), s.overlapped.Load())
	if byOther != threads*rounds {
		s.t.Errorf("the other process acquired %d times of %d", byOther, threads*rounds)
	}
	if count.Load() < threads {
		s.t.Errorf("zklock acquired %d times: the two sides hardly met", count.Load())
	}
	return byOther, int(count.Load())
}

// increment adds one to the counter without compare-and-set: the lock alone keeps it right.
func (s *shop) increment(conn *zk.Conn) error { return s.incrementAt(conn, "/counter") }

func (s *shop) incrementAt(conn *zk.Conn, counter string) error {
	data, _, err := conn.Get(s.work + counter)
	if err != nil {
		return err
	}
	n, err := strconv.Atoi(string(data))
	if err != nil {
		return err
	}
	_, err = conn.Set(s.work+counter, []byte(strconv.Itoa(n+1)), -1)
	return err
}

func (s *shop) checkCounter(want int) { s.t.Helper(); s.checkCounterAt("/counter", want) }

func (s *shop) checkCounterAt(counter string, want int) {
	s.t.Helper()
	data, _, err := s.connect().Conn().Get(s.work + counter)
	if err != nil {
		s.t.Fatal(err)
	}
	if got := string(data); got != strconv.Itoa(want) {
		s.t.Errorf("the counter %s is %s after %d increments", counter, got, want)
	}
}

// under runs work under a lock that was just acquired.
func under(ctx context.Context, lock interface{ Release(context.Context) error }, err error, work func() error) error {
	if err != nil {
		return err
	}
	return errors.Join(work(), lock.Release(ctx))
}

func TestMutexWithCurator(t *testing.T) {
	for name, handoff := range map[string]zklock.MutexOption{
		"hand-off":    zklock.WithHandoff(16, 20*time.Millisecond),
		"no hand-off": zklock.WithHandoff(1, 0),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newShop(t)
			byJava, byGo := s.together("InterProcessMutex", func(ctx context.Context, session *zklock.Session, _, _ int) error {
				lock, err := zklock.NewMutex(session, s.lock, handoff).Acquire(ctx)
				return under(ctx, lock, err, func() error { return s.increment(session.Conn()) })
			})
			s.checkCounter(byJava + byGo)
		})
	}
}

// TestSemaphoreWithCuratorSemaphoreMutex: Curator's non-reentrant mutex is a semaphore of one lease.
func TestSemaphoreWithCuratorSemaphoreMutex(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	byJava, byGo := s.together("InterProcessSemaphoreMutex", func(
		ctx context.Context, session *zklock.Session, _, _ int,
	) error {
		lock, err := zklock.NewSemaphore(session, s.lock, 1).Acquire(ctx)
		return under(ctx, lock, err, func() error { return s.increment(session.Conn()) })
	})
	s.checkCounter(byJava + byGo)
}

// TestReentrantMutexWithCurator holds on after the inner of two acquisitions was released, as the
// Java side does.
func TestReentrantMutexWithCurator(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	byJava, byGo := s.together("InterProcessMutex, reentered", func(
		ctx context.Context, session *zklock.Session, _, _ int,
	) error {
		ctx = zklock.WithOwner(ctx)
		mutex := zklock.NewReentrantMutex(session, s.lock)
		outer, err := mutex.Acquire(ctx)
		return under(ctx, outer, err, func() error {
			inner, err := mutex.Acquire(ctx)
			err = under(ctx, inner, err, func() error { return s.increment(session.Conn()) })
			return errors.Join(err, s.increment(session.Conn()))
		})
	})
	s.checkCounter(2 * (byJava + byGo))
}

// TestMultiWithCurator takes both locks together in one round and one of them alone in the next:
// with either of the two left out, its counter would lose increments.
func TestMultiWithCurator(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	incremented := map[string]*atomic.Int64{"/a": {}, "/b": {}}
	increment := func(session *zklock.Session, counter string) error {
		incremented[counter].Add(1)
		return s.incrementAt(session.Conn(), counter)
	}
	byJava, _ := s.together("InterProcessMultiLock", func(
		ctx context.Context, session *zklock.Session, thread, round int,
	) error {
		a, b := zklock.NewMutex(session, s.lock+"/a"), zklock.NewMutex(session, s.lock+"/b")
		switch (thread + round) % 3 {
		case 0:
			lock, err := a.Acquire(ctx)
			return under(ctx, lock, err, func() error { return increment(session, "/a") })
		case 1:
			lock, err := b.Acquire(ctx)
			return under(ctx, lock, err, func() error { return increment(session, "/b") })
		}
		lock, err := zklock.NewMulti(b, a).Acquire(ctx)
		return under(ctx, lock, err, func() error {
			return errors.Join(increment(session, "/a"), increment(session, "/b"))
		})
	})
	for counter, n := range incremented {
		s.checkCounterAt(counter, byJava+int(n.Load()))
	}
}

func TestRWMutexWithCurator(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	var written atomic.Int64
	s.together("InterProcessReadWriteLock", func(ctx context.Context, session *zklock.Session, thread, round int) error {
		mutex := zklock.NewRWMutex(session, s.lock)
		if (thread+round)%4 == 0 {
			lock, err := mutex.Writer().Acquire(ctx)
			return under(ctx, lock, err, func() error { written.Add(1); return s.write(session.Conn()) })
		}
		lock, err := mutex.Reader().Acquire(ctx)
		return under(ctx, lock, err, func() error { return s.read(session.Conn()) })
	})
	s.checkCounter(int(written.Load()) + threads*rounds/4)
	if s.overlapped.Load() == 0 {
		t.Error("no reader met another: nothing was shared")
	}
}

func (s *shop) write(conn *zk.Conn) error {
	readers, _, err := conn.Children(s.work + "/readers")
	if err != nil {
		return err
	}
	if len(readers) != 0 {
		s.t.Errorf("a writer met the readers %q", readers)
	}
	// Fails where another writer is.
	if _, err := conn.Create(s.work+"/writer", nil, zk.FlagEphemeral, zk.WorldACL(zk.PermAll)); err != nil {
		return err
	}
	if err := s.increment(conn); err != nil {
		return err
	}
	return conn.Delete(s.work+"/writer", -1)
}

func (s *shop) read(conn *zk.Conn) error {
	me, err := conn.Create(s.work+"/readers/r-", nil, zk.FlagEphemeralSequential, zk.WorldACL(zk.PermAll))
	if err != nil {
		return err
	}
	_, before, err := conn.Get(s.work + "/counter")
	if err != nil {
		return err
	}
	writing, _, err := conn.Exists(s.work + "/writer")
	if err != nil {
		return err
	}
	readers, _, err := conn.Children(s.work + "/readers")
	if err != nil {
		return err
	}
	if len(readers) > 1 {
		s.overlapped.Add(1)
	}
	time.Sleep(time.Millisecond + rand.N(3*time.Millisecond)) // the work
	_, after, err := conn.Get(s.work + "/counter")
	if err != nil {
		return err
	}
	if writing || before.Mzxid != after.Mzxid {
		s.t.Errorf("a reader met a writer: %v, zxid %d then %d", writing, before.Mzxid, after.Mzxid)
	}
	return conn.Delete(me, -1)
}

func TestSemaphoreWithCurator(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.together("InterProcessSemaphoreV2", func(ctx context.Context, session *zklock.Session, _, _ int) error {
		lock, err := zklock.NewSemaphore(session, s.lock, leases).Acquire(ctx)
		return under(ctx, lock, err, func() error { return s.lease(session.Conn()) })
	})
	if s.overlapped.Load() == 0 {
		t.Errorf("never were all %d leases out", leases)
	}
}

func (s *shop) lease(conn *zk.Conn) error {
	me, err := conn.Create(s.work+"/holders/h-", nil, zk.FlagEphemeralSequential, zk.WorldACL(zk.PermAll))
	if err != nil {
		return err
	}
	// Until all leases were out once, each holder waits a second for the others, however slow the machine is.
	for begin := time.Now(); ; {
		holders, _, err := conn.Children(s.work + "/holders")
		if err != nil {
			return err
		}
		if len(holders) > leases {
			s.t.Errorf("%d holders of %d leases", len(holders), leases)
		}
		if len(holders) == leases {
			s.overlapped.Add(1)
		}
		if s.overlapped.Load() > 0 || time.Since(begin) > time.Second {
			break
		}
	}
	time.Sleep(15*time.Millisecond + rand.N(10*time.Millisecond)) // longer than the way through the gate
	return conn.Delete(me, -1)
}
