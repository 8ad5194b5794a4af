package zklocktest

import (
	"context"
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"orderstock/pkg/zklock"
	"orderstock/pkg/zklock/internal/memory"
)

// Server is a ZooKeeper server in memory. Sessions on one Server contend for the same locks, as
// processes do. Its methods are safe for concurrent use.
type Server struct{ memory *memory.Server }

// NewServer returns a server without nodes. It ends with the test.
func NewServer(t testing.TB) *Server {
	t.Helper()
	s := &Server{memory.New()}
	t.Cleanup(s.memory.Close)
	return s
}

// NewSession returns a Session on a new server, and its link to that server; see Server.NewSession.
func NewSession(t testing.TB, opts ...zklock.SessionOption) (*zklock.Session, *Link) {
	t.Helper()
	return NewServer(t).NewSession(t, opts...)
}

// connectTimeout is how long NewSession waits for the session: longer than any machine needs.
const connectTimeout = 20 * time.Second

// NewSession returns a Session on the server, and its link to the server. The Session is closed at the
// test's end, if the test has not closed it. It takes the options of zklock.Connect; WithDialer has no
// effect.
func (s *Server) NewSession(t testing.TB, opts ...zklock.SessionOption) (*zklock.Session, *Link) {
	t.Helper()
	link := &Link{server: s, changed: make(chan struct{})}
	ctx, cancel := context.WithTimeout(t.Context(), connectTimeout)
	defer cancel()
	// With one address, the client library would wait for a second before some reconnects.
	session, err := zklock.Connect(ctx, []string{"127.0.0.1:2181", "127.0.0.2:2181"},
		append(opts, zklock.WithDialer(link.dial))...)
	if err != nil {
		t.Fatal(err)
	}
	link.session = session
	t.Cleanup(func() {
		link.Reconnect()
		link.Slow(0)
		if err := session.Close(); err != nil && !errors.Is(err, zklock.ErrSessionClosed) {
			t.Error(err)
		}
	})
	return session, link
}

// Addr returns the server's address on this machine, host:port, for clients that are not made by this
// package: other ZooKeeper clients, or zklock.Connect in the code under test. Each call gives another one.
func (s *Server) Addr(t testing.TB) string {
	t.Helper()
	addr, err := s.memory.Listen()
	if err != nil {
		t.Fatal(err)
	}
	return addr
}

// Link is a Session's link to its Server. Its methods are safe for concurrent use.
type Link struct {
	server  *Server
	session *zklock.Session
	delay   atomic.Int64 // nanoseconds

	mu      sync.Mutex
	conn    net.Conn      // the latest
	down    bool          // between Disconnect and Reconnect
	changed chan struct{} // closed at Reconnect
}

// Expire ends the current ZooKeeper session, as the server does after it has heard nothing for the session
// timeout. When Expire returns, the session's nodes are gone and others may hold its locks. The Session
// learns of it as it reconnects: at once, unless it is disconnected.
func (l *Link) Expire() { l.server.memory.Expire(l.session.ID()) }

// Disconnect cuts the connection, and refuses others until Reconnect. Requests under way are answered or
// not. The ZooKeeper session expires if this lasts for longer than its timeout.
func (l *Link) Disconnect() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.down = true
	if l.conn != nil {
		_ = l.conn.Close() // unsent packets are lost
	}
}

// Reconnect ends Disconnect. The Session connects again at once, or after about a second if it was
// disconnected for longer than a second.
func (l *Link) Reconnect() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.down {
		l.down = false
		close(l.changed)
		l.changed = make(chan struct{})
	}
}

// Slow makes each answer and each event of the server take d from now on. Zero is the beginning's speed.
func (l *Link) Slow(d time.Duration) { l.delay.Store(int64(d)) }

var errDisconnected = errors.New("zklocktest: disconnected")

// dial connects, as a zk.Dialer. While the link is down it waits, so that a short interruption ends at once.
func (l *Link) dial(_, _ string, timeout time.Duration) (net.Conn, error) {
	limit := time.NewTimer(timeout)
	defer limit.Stop()
	for {
		l.mu.Lock()
		if !l.down {
			conn, err := l.server.memory.Connect(func() time.Duration { return time.Duration(l.delay.Load()) })
			l.conn = conn
			l.mu.Unlock()
			return conn, err
		}
		changed := l.changed
		l.mu.Unlock()
		select {
		case <-changed:
		case <-limit.C:
			return nil, errDisconnected
		}
	}
}
