package zklock_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"log/slog"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"orderstock/pkg/zklock"
)

// A path in the connect string and a namespace stand before the path of each lock, for all that a lock can do.
func TestChrootAndNamespace(t *testing.T) {
	t.Parallel()
	addr, root := zookeeper(t), newRoot(t)
	plain := connect(t)
	inside := connectTo(t, addr+root, zklock.WithNamespace("shop/a"))
	if want := root + "/shop/a"; inside.Root() != want || plain.Root() != "" {
		t.Errorf("the roots are %q and %q, want %q and none", inside.Root(), plain.Root(), want)
	}
	for path, both := range map[string]func(s *zklock.Session, path string) zklock.Locker{
		"/mutex":  func(s *zklock.Session, path string) zklock.Locker { return zklock.NewMutex(s, path) },
		"/writer": func(s *zklock.Session, path string) zklock.Locker { return zklock.NewRWMutex(s, path).Writer() },
		"/lease":  func(s *zklock.Session, path string) zklock.Locker { return zklock.NewSemaphore(s, path, 1) },
	} {
		m, same, elsewhere := both(inside, path), both(plain, inside.Root()+path), both(plain, root+path)
		lock := acquire(t, m)
		if m.Path() != same.Path() || lock.Path() != same.Path() {
			t.Errorf("path %s, of the lock %s, want %s", m.Path(), lock.Path(), same.Path())
		}
		wantErr(t, errorOf(same.TryAcquire(t.Context())), zklock.ErrNotAcquired, "try by the whole path")
		release(t, acquire(t, elsewhere))
		status, err := zklock.Inspect(t.Context(), inside, path)
		if must(t, err); status.Path != same.Path() || status.Holding != 1 {
			t.Errorf("inspected %+v", status)
		}
		guarded := append(lock.Guard(), &zk.CheckVersionRequest{Path: root, Version: -1})
		if _, err := inside.Conn().Multi(guarded...); err != nil {
			t.Errorf("guarded by %s: %v", path, err)
		}
		release(t, lock)
	}
	monitor := zklock.NewMonitor(nil)
	conn, events, err := zk.Connect([]string{addr}, patience, zk.WithDialer(monitor.Dial), zk.WithLogger(quiet{}))
	must(t, err)
	defer func() {
		conn.Close()
		for range events {
		}
	}()
	wrapped, err := zklock.Wrap(t.Context(), conn, monitor, zklock.WithNamespace(root))
	must(t, err)
	defer closeSession(t, wrapped)
	if wrapped.Root() != root {
		t.Errorf("the wrapped connection's root is %q, want %q", wrapped.Root(), root)
	}
}

func TestNamespaceIsRefused(t *testing.T) {
	t.Parallel()
	for _, namespace := range []string{"a//b", "a/../b", "."} {
		_, err := zklock.Connect(t.Context(), []string{zookeeper(t)}, zklock.WithNamespace(namespace))
		if err == nil || !strings.Contains(err.Error(), "namespace") {
			t.Errorf("the namespace %q: %v", namespace, err)
		}
	}
}

// An option that a lock does not know does not compile: it is none of its type.
func TestOptionsOfOtherLocksDoNotCompile(t *testing.T) {
	for name, option := range map[string]any{"WithHandoff": zklock.WithHandoff(1, 0), "WithNames": zklock.WithNames("a")} {
		if _, ok := option.(zklock.Option); ok {
			t.Errorf("%s is an option of every lock", name)
		}
	}
	for name, option := range map[string]any{
		"WithSessionTimeout": zklock.WithSessionTimeout(time.Second), "WithDialer": zklock.WithDialer(nil),
		"WithTLS": zklock.WithTLS(nil),
	} {
		if _, ok := option.(zklock.SessionOption); ok {
			t.Errorf("%s is an option of Wrap", name)
		}
	}
}

// TLS is one option: the certificate must be of the host that Connect was given, although its address is dialled.
// It takes more than 10 s: a server with TLS starts, and a handshake fails for a while.
func TestTLS(t *testing.T) {
	t.Parallel()
	dir, port := t.TempDir(), freePort()
	key, roots := certificate(t, filepath.Join(dir, "server.pem"))
	startConfigured(t, []string{
		fmt.Sprintf("secureClientPort=%d", port), "secureClientPortAddress=127.0.0.1",
		"serverCnxnFactory=org.apache.zookeeper.server.NettyServerCnxnFactory",
		"ssl.keyStore.location=" + key, "ssl.trustStore.location=" + key, "ssl.clientAuth=none",
	})
	connect := func(host string, config *tls.Config) (*zklock.Session, error) {
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		return zklock.Connect(ctx, []string{net.JoinHostPort(host, fmt.Sprint(port))}, zklock.WithTLS(config))
	}
	s, err := connect("localhost", &tls.Config{RootCAs: roots})
	must(t, err)
	m := zklock.NewMutex(s, "/lock")
	release(t, acquire(t, m))
	acquire(t, m)
	closeSession(t, s)
	again, err := connect("127.0.0.1", &tls.Config{RootCAs: roots, ServerName: "localhost"})
	must(t, err)
	release(t, acquire(t, zklock.NewMutex(again, "/lock")))
	closeSession(t, again)

	named := func(err error) bool {
		return err != nil && strings.Contains(err.Error(), "TLS handshake with 127.0.0.1")
	}
	err = connectInVain(t, named, []string{local(port)}, zklock.WithTLS(&tls.Config{RootCAs: roots}))
	if !named(err) {
		t.Errorf("a certificate for another name: %v", err)
	}
}

// certificate writes a new key and its certificate for localhost, and returns the file and the certificate.
func certificate(t *testing.T, file string) (string, *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "localhost"}, DNSNames: []string{"localhost"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
	}
	cert, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	must(t, err)
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	must(t, err)
	certPEM := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert})
	keyPEM := pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret})
	must(t, os.WriteFile(file, append(keyPEM, certPEM...), 0o600))
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(certPEM)
	return file, roots
}

// Without a logger, an operator reads of a lost session in slog's default one, and the causes of a loss differ.
func TestCausesOfALoss(t *testing.T) {
	var log safeLog
	before := slog.Default()
	slog.SetDefault(slog.New(slog.NewTextHandler(&log, nil)))
	defer slog.SetDefault(before)
	path := newRoot(t) + "/lock"
	s, l := dialLink(t) // its session outlives a machine that stands still
	brief, silent := dialLink(t, zklock.WithSessionTimeout(2*time.Second))
	causes := []error{zklock.ErrExpired, zklock.ErrSilence, zklock.ErrDeleted}
	for i, c := range []struct {
		of   *zklock.Session
		lose func()
	}{
		{s, func() { l.expire(t) }}, {brief, silent.silence}, {s, func() {
			node := awaitChildren(t, s.Conn(), path, 1)[0]
			must(t, s.Conn().Delete(path+"/"+node, -1))
		}},
	} {
		lock := acquire(t, zklock.NewMutex(c.of, path))
		c.lose()
		await(t, lock.Context().Done(), "the loss of the lock")
		silent.restore()
		for k, cause := range append(causes, zklock.ErrLost) {
			if got := context.Cause(lock.Context()); errors.Is(got, cause) != (i == k || k == len(causes)) {
				t.Errorf("loss %d: the cause is %v, and that it is %v: %v", i, got, cause, i != k)
			}
		}
		wantErr(t, lock.Release(t.Context()), causes[i], "the release")
	}
	for _, cause := range []string{"session expired", "nothing heard"} {
		if !strings.Contains(log.String(), cause) {
			t.Errorf("the log does not say %q:\n%s", cause, log.String())
		}
	}
}

// Each acquisition is reported with its wait and its outcome.
func TestHookWaited(t *testing.T) {
	s, root := connect(t), newRoot(t)
	var mu sync.Mutex
	var errs []error
	hooks := zklock.WithHooks(zklock.Hooks{Waited: func(path string, d time.Duration, err error) {
		mu.Lock()
		defer mu.Unlock()
		if errs = append(errs, err); !strings.HasPrefix(path, root) || d <= 0 {
			t.Errorf("%s, waited %s", path, d)
		}
	}})
	for _, m := range []zklock.Locker{
		zklock.NewMutex(s, root+"/mutex", hooks), zklock.NewRWMutex(s, root+"/rw", hooks).Reader(),
		zklock.NewSemaphore(s, root+"/sem", 1, hooks),
	} {
		errs = nil
		lock := acquire(t, m)
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		for _, ctx := range []context.Context{t.Context(), ended} {
			if lock, err := m.TryAcquire(ctx); err == nil { // a reader's
				release(t, lock)
			}
		}
		release(t, lock)
		reader := strings.HasSuffix(m.Path(), "rw")
		if len(errs) != 3 || errs[0] != nil || errors.Is(errs[1], zklock.ErrNotAcquired) == reader ||
			!errors.Is(errs[2], zklock.ErrNoAnswer) {
			t.Errorf("%s: outcomes %v", m.Path(), errs)
		}
	}
}

// Do runs a function under several locks, too.
func TestDoWithSeveralLocks(t *testing.T) {
	t.Parallel()
	s, root := connect(t), newRoot(t)
	one := zklock.NewMutex(s, root+"/1")
	both := zklock.NewMulti(zklock.NewMutex(s, root+"/2"), one)
	failed := errors.New("failed")
	err := zklock.Do(t.Context(), both, func(ctx context.Context, held *zklock.MultiLock) error {
		wantErr(t, errorOf(one.TryAcquire(ctx)), zklock.ErrNotAcquired, "try of a lock that is held")
		if !held.Valid() || ctx.Err() != nil {
			t.Error("the locks are not held")
		}
		node := awaitChildren(t, s.Conn(), one.Path(), 1)[0]
		must(t, s.Conn().Delete(one.Path()+"/"+node, -1))
		await(t, ctx.Done(), "the loss of one lock")
		if held.Valid() {
			t.Error("the locks are valid, and one is lost")
		}
		return failed
	})
	wantErr(t, err, failed, "the error of the function")
	wantErr(t, err, zklock.ErrDeleted, "the loss")
	lock, err := both.Acquire(t.Context())
	must(t, err)
	if check(t, lock.Release(t.Context())); lock.Valid() {
		t.Error("a released lock is valid")
	}
}

// One of several leads, and another when it has ended, or rests after a failure.
func TestLead(t *testing.T) {
	t.Parallel()
	path := newRoot(t) + "/lead"
	const rest = time.Hour // the one whose work fails does not lead again
	type term struct {
		by     int
		token  zklock.Token
		resign chan error
	}
	terms := make(chan term)
	lead := func(ctx context.Context, s *zklock.Session, by int) chan error {
		ended := make(chan error, 1)
		go func() {
			ended <- s.Lead(ctx, path, rest, func(ctx context.Context, lock *zklock.Lock) error {
				now := term{by, lock.Token(), make(chan error)}
				terms <- now
				select {
				case err := <-now.resign:
					return err
				case <-ctx.Done():
					return ctx.Err()
				}
			}, zklock.WithLabel("test"))
		}()
		return ended
	}
	sessions := []*zklock.Session{connect(t), connect(t), connect(t)}
	stops, ends := make([]context.CancelFunc, 3), make([]chan error, 3)
	for i, s := range sessions {
		var ctx context.Context
		ctx, stops[i] = context.WithCancel(t.Context())
		defer stops[i]()
		ends[i] = lead(ctx, s, i)
	}
	next := func(before zklock.Token, not ...int) term {
		t.Helper()
		select {
		case now := <-terms:
			if slices.Contains(not, now.by) || !before.Less(now.token) {
				t.Errorf("%d leads with token %s after %s, and none of %d should", now.by, now.token, before, not)
			}
			return now
		case <-time.After(patience):
			t.Fatal("nobody leads")
			return term{}
		}
	}
	first := next(zklock.Token{})
	first.resign <- errors.New("out of reach") // and rests
	second := next(first.token, first.by)
	stops[second.by]()
	wantErr(t, <-ends[second.by], context.Canceled, "the end of Lead")
	third := next(second.token, first.by, second.by)
	third.resign <- nil // and stands again at once
	again := next(third.token, first.by, second.by)
	check(t, sessions[third.by].Close())
	wantErr(t, <-ends[third.by], zklock.ErrSessionClosed, "Lead with a closed session")
	_ = again
	stops[first.by]()
	wantErr(t, <-ends[first.by], context.Canceled, "the end of Lead in a rest")

	s := sessions[first.by]
	if err := s.Lead(t.Context(), "no/path", rest, func(context.Context, *zklock.Lock) error { return nil }); err == nil {
		t.Error("Lead accepts a bad path")
	}
	if err := s.Lead(t.Context(), path, rest, nil); err == nil {
		t.Error("Lead accepts no work")
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	err := s.Lead(ended, path, -rest, func(context.Context, *zklock.Lock) error { return nil })
	if err == nil || !strings.Contains(err.Error(), "rest") {
		t.Errorf("Lead with a negative rest: %v", err)
	}
}
