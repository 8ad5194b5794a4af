package memory

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"sync"
	"time"
)

// Server is a ZooKeeper server in memory. Its methods are safe for concurrent use. Callers must Close it.
type Server struct {
	// Old makes it a server before 3.5, which knows neither containers nor create2 and closes the connection
	// of a client that asks for them. It must be set before the first connection.
	Old bool

	running sync.WaitGroup
	done    chan struct{} // closed by Close

	mu          sync.Mutex
	closed      bool
	tree        *tree
	sessions    map[int64]*session
	lastSession int64
	conns       map[*conn]struct{}
	listeners   map[net.Listener]struct{}
}

// session is a client's session. The Server's mutex guards it.
type session struct {
	id      int64
	secret  [16]byte
	timeout time.Duration
	conn    *conn // that serves it, nil while there is none
	nodes   map[string]struct{}
	expiry  *time.Timer // put off by each request
}

// New returns a server without a node but the root.
func New() *Server {
	return &Server{
		done: make(chan struct{}), tree: newTree(), sessions: map[int64]*session{}, lastSession: time.Now().UnixNano(),
		conns: map[*conn]struct{}{}, listeners: map[net.Listener]struct{}{},
	}
}

// ErrClosed is returned after Close.
var ErrClosed = errors.New("the server is closed")

// Connect returns the client's end of a new connection. delay is how long each answer and event takes; it
// is asked for each of them.
func (s *Server) Connect(delay func() time.Duration) (net.Conn, error) {
	client, server := net.Pipe()
	if !s.serve(server, delay) {
		return nil, ErrClosed
	}
	return client, nil
}

// Listen serves clients at a port of 127.0.0.1 too, and returns its address, host:port.
func (s *Server) Listen() (addr string, err error) {
	ctx := context.Background() //nolint:forbidigo // to listen does not wait
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return "", errors.Join(ErrClosed, l.Close())
	}
	s.listeners[l] = struct{}{}
	s.running.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			s.serve(c, func() time.Duration { return 0 })
		}
	})
	return l.Addr().String(), nil
}

// Close ends all connections, without a word to the clients, and returns when nothing runs any more.
func (s *Server) Close() {
	s.mu.Lock()
	if !s.closed {
		close(s.done)
	}
	s.closed = true
	for l := range s.listeners {
		_ = l.Close() // nothing was written
	}
	for c := range s.conns {
		_ = c.Close() // unsent packets are lost
		c.end()
	}
	for _, session := range s.sessions {
		session.expiry.Stop()
	}
	s.mu.Unlock()
	s.running.Wait()
}

// Expire ends the session, as if nothing had been heard of it for its timeout: its nodes are gone when
// Expire returns, and its connection ends.
func (s *Server) Expire(id int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if session := s.sessions[id]; session != nil {
		s.endSession(session)
		if session.conn != nil {
			session.conn.end()
		}
	}
}

// tick is how long a session outlives its timeout. ZooKeeper rounds up to its ticks, of 2 s by default.
const tick = 250 * time.Millisecond

// newSession begins a session. The caller holds the mutex, as for the functions that follow.
func (s *Server) newSession(timeout time.Duration) *session {
	s.lastSession++
	s.tree.zxid++
	session := &session{id: s.lastSession, timeout: timeout, nodes: map[string]struct{}{}}
	_, _ = rand.Read(session.secret[:]) // never fails
	session.expiry = time.AfterFunc(timeout+tick, func() { s.Expire(session.id) })
	s.sessions[session.id] = session
	return session
}

// endSession removes the session and its nodes, in one transaction.
func (s *Server) endSession(session *session) {
	session.expiry.Stop()
	delete(s.sessions, session.id)
	x := s.tree.begin(nil)
	for _, p := range slices.Sorted(maps.Keys(session.nodes)) {
		x.remove(p, -1, nil)
	}
	x.end(ok)
}

// watchesByPath is the answer to the four-letter word wchp: each path that is watched, followed by the
// sessions that watch it.
func (s *Server) watchesByPath() (answer []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, kind := range []watches{s.tree.data, s.tree.children} {
		for path, watching := range kind {
			answer = append(answer, path+"\n"...)
			for c := range watching {
				answer = fmt.Appendf(answer, "\t0x%x\n", c.session.id)
			}
		}
	}
	return answer
}
