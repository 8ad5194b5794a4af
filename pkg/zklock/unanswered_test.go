package zklock_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"orderstock/pkg/zklock"
)

// While ZooKeeper is away, an acquisition does not say that somebody has the lock.
func TestNoAnswerIsNotATakenLock(t *testing.T) {
	log := &safeLog{}
	s, l := dialLink(t, zklock.WithLogger(slog.New(slog.NewTextHandler(log, nil))))
	dir := newRoot(t)
	l.silence()
	defer l.restore()
	for name, m := range lockers(s, dir) {
		ctx, cancel := context.WithTimeout(zklock.WithOwner(t.Context()), 50*time.Millisecond)
		defer cancel()
		_, err := m.Acquire(ctx)
		if !errors.Is(err, zklock.ErrNoAnswer) || errors.Is(err, zklock.ErrNotAcquired) ||
			!errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if !strings.Contains(log.String(), "zookeeper has not answered") {
		t.Errorf("the log says %q", log)
	}
}

// lockers returns a lock of each kind, on different paths.
func lockers(s *zklock.Session, dir string) map[string]zklock.Locker {
	return map[string]zklock.Locker{
		"hand-off":               zklock.NewMutex(s, dir+"/hand-off"),
		"no hand-off":            zklock.NewMutex(s, dir+"/plain", zklock.WithHandoff(1, 0)),
		"reentrant":              zklock.NewReentrantMutex(s, dir+"/reentrant"),
		"reentrant, no hand-off": zklock.NewReentrantMutex(s, dir+"/reentrant-plain", zklock.WithHandoff(1, 0)),
		"reader":                 zklock.NewRWMutex(s, dir+"/read").Reader(),
		"writer":                 zklock.NewRWMutex(s, dir+"/write").Writer(),
		"semaphore":              zklock.NewSemaphore(s, dir+"/semaphore", 2),
	}
}

// The server has expired the session, and the client does not know it yet: no release says that all was well.
func TestReleaseAfterAnUnseenExpiry(t *testing.T) {
	t.Parallel()
	s, l := dialLink(t)
	dir := newRoot(t)
	ctx := zklock.WithOwner(t.Context())
	for name, m := range lockers(s, dir) {
		lock := acquireWith(t, ctx, m)
		seen := l.expireUnseen(t)
		released := make(chan error, 1)
		go func() { released <- lock.Release(t.Context()) }()
		time.Sleep(20 * time.Millisecond) // the release has begun, on most machines
		seen()
		wantErr(t, <-released, zklock.ErrLost, name)
	}
}

// A release without ZooKeeper ends with the session, whatever its context. The lock was held until the release.
func TestReleaseWithoutZooKeeperEnds(t *testing.T) {
	t.Parallel()
	s, l := dialLink(t, zklock.WithSessionTimeout(6*time.Second))
	dir := newRoot(t)
	ctx := zklock.WithOwner(t.Context())
	held := map[string]*zklock.Lock{}
	for name, m := range lockers(s, dir) {
		held[name] = acquireWith(t, ctx, m)
	}
	l.silence()
	defer l.restore()
	var all sync.WaitGroup
	for name, lock := range held {
		all.Go(func() {
			err := lock.Release(context.Background())
			if wantErr(t, err, zklock.ErrNoAnswer, name); errors.Is(err, zklock.ErrLost) {
				t.Errorf("%s: %v says that the lock was lost before the release", name, err)
			}
		})
	}
	done := make(chan struct{})
	go func() { all.Wait(); close(done) }()
	await(t, done, "the end of the releases")
}

// A handle that was copied is released once.
func TestReleaseOfACopy(t *testing.T) {
	s, dir := connect(t), newRoot(t)
	m := zklock.NewMutex(s, dir+"/lock")
	lock := acquire(t, m)
	stale := *lock
	var waiting []*acquisition
	for range 2 {
		queued := make(chan struct{})
		waiting = append(waiting, begin(signalDone(t.Context(), queued), m))
		await(t, queued, "the wait")
	}
	release(t, lock)
	held := waiting[0].wait(t)
	wantErr(t, stale.Release(t.Context()), zklock.ErrReleased, "release of a copy")
	waiting[1].waits(t, s, dir, "a second holder beside the first")
	release(t, held)
	release(t, waiting[1].wait(t))
}

func TestCloseIsNoLoss(t *testing.T) {
	s := connect(t)
	lost := make(chan error, 1)
	lock := acquire(t, zklock.NewMutex(s, newRoot(t)+"/lock",
		zklock.WithHooks(zklock.Hooks{Lost: func(_ string, cause error) { lost <- cause }})))
	closeSession(t, s)
	await(t, lock.Context().Done(), "the end of the lock")
	_ = lock.Release(t.Context()) // the session is closed
	select {
	case cause := <-lost:
		t.Errorf("lost by Close: %v", cause)
	case <-time.After(50 * time.Millisecond):
	}
}

func TestImpossibleLocksAreRefused(t *testing.T) {
	s := connect(t)
	for _, path := range []string{"", "/", "lock", "/a//b", "/a/", "/a/../b", "/.", "/a\x00b"} {
		for name, m := range map[string]zklock.Locker{
			"mutex": zklock.NewMutex(s, path), "plain": zklock.NewMutex(s, path, zklock.WithHandoff(1, 0)),
			"reentrant": zklock.NewReentrantMutex(s, path), "reader": zklock.NewRWMutex(s, path).Reader(),
			"semaphore": zklock.NewSemaphore(s, path, 1),
		} {
			_, err := m.Acquire(zklock.WithOwner(t.Context()))
			if err == nil || !strings.Contains(err.Error(), "absolute path") {
				t.Fatalf("%s on %q: %v", name, path, err) // a lock that was granted would hold up the next
			}
			if _, err := m.TryAcquire(zklock.WithOwner(t.Context())); err == nil || errors.Is(err, zklock.ErrNotAcquired) {
				t.Errorf("try of %s on %q: %v", name, path, err)
			}
		}
	}
	dir := newRoot(t)
	for _, handoff := range []zklock.MutexOption{
		zklock.WithHandoff(0, time.Second), zklock.WithHandoff(-1, 0), zklock.WithHandoff(16, -time.Second),
	} {
		for _, m := range []zklock.Locker{
			zklock.NewMutex(s, dir+"/lock", handoff), zklock.NewReentrantMutex(s, dir+"/lock", handoff),
		} {
			_, err := m.TryAcquire(zklock.WithOwner(t.Context()))
			if err == nil || !strings.Contains(err.Error(), "WithHandoff") {
				t.Fatalf("an impossible hand-off: %v", err)
			}
		}
	}
	long := zklock.NewMutex(s, dir+"/lock", zklock.WithLabel(strings.Repeat("x", 2<<20)))
	if _, err := long.Acquire(t.Context()); err == nil || !strings.Contains(err.Error(), "label") {
		t.Errorf("a label of 2 MiB: %v", err)
	}
	release(t, acquire(t, zklock.NewMutex(s, dir+"/lock", zklock.WithLabel(strings.Repeat("x", 60_000)))))
}

// Each holder keeps its own node, and not the queue that it saw.
func TestHoldersKeepNoQueue(t *testing.T) {
	const (
		readers = 600
		most    = 12 << 20 // bytes; all queues are 40 MB
	)
	s := connect(t)
	m := zklock.NewRWMutex(s, newRoot(t)+"/"+strings.Repeat("long", 20)+"/lock")
	before := heap()
	held := make([]*zklock.Lock, readers)
	var all sync.WaitGroup
	for i := range held {
		all.Go(func() {
			lock, err := m.Reader().Acquire(t.Context())
			if err != nil {
				t.Error(err)
				return
			}
			held[i] = lock
		})
		if i%50 == 0 {
			all.Wait()
		}
	}
	all.Wait()
	if grown := int64(heap()) - int64(before); grown > most {
		t.Errorf("%d readers keep %d bytes, want at most %d", readers, grown, most)
	}
	for _, lock := range held {
		all.Go(func() { check(t, lock.Release(t.Context())) })
	}
	all.Wait()
}

// heap returns the bytes in use after a collection.
func heap() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// A quota's refusal has a name.
func TestQuota(t *testing.T) {
	t.Parallel()
	server := startServer(t, "-Dzookeeper.enforceQuota=true")
	s := connectTo(t, server.addr)
	quota := "/zookeeper/quota/locks"
	for _, node := range []string{"/locks", quota, quota + "/zookeeper_limits"} {
		data := []byte(nil)
		if strings.HasSuffix(node, "limits") {
			data = []byte("count=-1,bytes=-1=;byteHardLimit=-1;countHardLimit=2")
		}
		must(t, errorOf(s.Conn().Create(node, data, 0, zk.WorldACL(zk.PermAll))))
	}
	must(t, errorOf(s.Conn().Create(quota+"/zookeeper_stats", []byte("count=1,bytes=0"), 0, zk.WorldACL(zk.PermAll))))
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	var err error
	for i := 0; err == nil && i < 5; i++ {
		_, err = zklock.NewMutex(s, "/locks", zklock.WithHandoff(1, 0)).TryAcquire(ctx)
		if errors.Is(err, zklock.ErrNotAcquired) {
			_, err = zklock.NewRWMutex(s, "/locks").Reader().Acquire(ctx)
		}
	}
	wantErr(t, err, zklock.ErrQuota, "an acquisition beyond the quota")
}

// Work that was done under the lock stays done, although ZooKeeper does not answer the release.
// It takes 5 s, for which Do waits for the answer.
func TestDoWithoutAnAnswerToTheRelease(t *testing.T) {
	t.Parallel()
	for name, timeout := range map[string]time.Duration{
		"the session goes on":        40 * time.Second,
		"the session is over by now": 4 * time.Second,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, l := dialLink(t, zklock.WithSessionTimeout(timeout))
			defer l.restore()
			m := zklock.NewMutex(s, newRoot(t)+"/lock")
			valid := false
			err := zklock.Do(t.Context(), m, func(_ context.Context, lock *zklock.Lock) error {
				l.silence()
				valid = lock.Valid()
				return nil
			})
			if valid { // a machine may stand still
				check(t, err)
			}
		})
	}
}

// A function that releases the lock by itself has done its work under it.
func TestDoOfAFunctionThatReleases(t *testing.T) {
	t.Parallel()
	m := zklock.NewMutex(connect(t), newRoot(t)+"/lock")
	check(t, zklock.Do(t.Context(), m, func(_ context.Context, lock *zklock.Lock) error {
		return lock.Release(t.Context())
	}))
}

// An acquisition whose context has ended asks nothing, and does not say that somebody has the lock.
func TestAcquireWithAnEndedContext(t *testing.T) {
	s, l := dialLink(t)
	reason := errors.New("the caller is gone")
	ctx, cancel := context.WithCancelCause(zklock.WithOwner(t.Context()))
	cancel(reason)
	for name, m := range lockers(s, newRoot(t)) {
		for _, acquire := range []func(context.Context) (*zklock.Lock, error){m.Acquire, m.TryAcquire} {
			_, err := acquire(ctx)
			if !errors.Is(err, context.Canceled) || !errors.Is(err, reason) ||
				errors.Is(err, zklock.ErrNotAcquired) || !errors.Is(err, zklock.ErrNoAnswer) {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	if n := l.requests(opCreate); n > 0 {
		t.Errorf("%d nodes were made", n)
	}
}

// While nothing listens, the errors and the log say so.
func TestRefusedConnectionIsNamed(t *testing.T) {
	t.Parallel()
	nobody := []string{local(freePort())}
	log := &safeLog{}
	refused := func(err error) bool { return errors.Is(err, syscall.ECONNREFUSED) }
	err := connectInVain(t, refused, nobody, zklock.WithLogger(slog.New(slog.NewTextHandler(log, nil))))
	wantErr(t, err, syscall.ECONNREFUSED, "Connect")
	wantErr(t, err, context.DeadlineExceeded, "Connect")
	if !strings.Contains(log.String(), "connection refused") {
		t.Errorf("the log says %q", log)
	}
	err = connectInVain(t, refused, nobody, zklock.WithLogger(nil)) // it logs to the default one
	wantErr(t, err, syscall.ECONNREFUSED, "Connect with no logger")
}

// connectInVain connects with a limit, which grows until the error is the one that is expected, and returns the error.
func connectInVain(
	t testing.TB, expected func(error) bool, servers []string, opts ...zklock.ConnectOption,
) error {
	t.Helper()
	for limit := 500 * time.Millisecond; ; limit *= 2 {
		ctx, cancel := context.WithTimeout(t.Context(), limit)
		s, err := zklock.Connect(ctx, servers, opts...)
		cancel()
		if err == nil {
			closeSession(t, s)
		}
		if err == nil || limit > patience || expected(err) {
			return err
		}
	}
}

// A server that has as many connections as it may ends further ones without a word, and one that asks for
// authentication refuses all requests. The errors and the log say what may be the reason.
func TestServerThatServesNobodyElse(t *testing.T) {
	t.Parallel()
	addr := startServer(t, "-Dzookeeper.maxCnxns=1", "-Dzookeeper.enforce.auth.enabled=true",
		"-Dzookeeper.enforce.auth.schemes=digest").addr
	log := &safeLog{}
	first := connectTo(t, addr)
	named := func(err error) bool { // some connects fail at once
		return err != nil && strings.Contains(err.Error()+log.String(), "maxClientCnxns")
	}
	err := connectInVain(t, named, []string{addr}, zklock.WithLogger(slog.New(slog.NewTextHandler(log, nil))))
	if !named(err) {
		t.Errorf("beyond the limit, Connect says %v, and the log %q", err, log)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if _, err := zklock.NewMutex(first, "/lock").Acquire(ctx); err == nil || !strings.Contains(err.Error(), "WithAuth") {
		t.Errorf("without authentication: %v", err)
	}
}

type safeLog struct {
	mu  sync.Mutex
	log bytes.Buffer
}

func (l *safeLog) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.log.Write(p)
}

func (l *safeLog) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.log.String()
}
