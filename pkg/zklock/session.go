package zklock

import (
	"context"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"

	"orderstock/pkg/zklock/internal/conn"
)

// Session is a connection to ZooKeeper that any number of locks share. Make one for a process, not
// one for a lock.
//
// It survives the expiry of its ZooKeeper session by going on with the next one: handles of the lost
// one end, with ErrLost as their contexts' cause, acquisitions that wait queue up again, and new ones
// succeed. Its methods are safe for concurrent use.
type Session struct {
	conn  *conn.Conn
	nodes *nodes

	unanswered conn.Allowance // bounds the log

	mu     sync.Mutex             // guards the maps and all that is in them
	queues map[string]*localQueue // by the path of the lock
	holds  map[holdKey]*hold

	watching  sync.Mutex // guards the next
	unwatched []*holder  // the oldest first
}

// Monitor learns facts from a connection that the client library hides. Wrap needs one.
type Monitor = conn.Monitor

// NewMonitor returns a monitor of the connections that dial makes; nil means net.DialTimeout.
func NewMonitor(dial zk.Dialer) *Monitor { return conn.NewMonitor(dial) }

// Connect connects to any of the servers, each "host:port", and returns when there is a session, or
// when ctx ends. Callers must Close it. One string may hold several servers, with commas between them.
// Without a port it is 2181. Spaces around an address are ignored. Names are resolved again when
// no known address has answered. One that does not resolve is treated like a server that is down.
func Connect(ctx context.Context, servers []string, opts ...SessionOption) (*Session, error) {
	c, err := conn.Connect(ctx, servers, sessionOptionsOf(opts))
	if err != nil {
		return nil, err
	}
	return newSession(c), nil
}

// Wrap makes a Session of a connection that the caller continues to own. It must have been made with
// the monitor's Dial as its dialer; see Monitor. Wrap returns when there is a session, or when ctx
// ends; it fails if the connection turns out to have another dialer. Close the Session before the connection: it
// then removes the nodes of its locks. If the connection is closed first, all use fails with ErrSessionClosed. The
// ZooKeeper session is the owner's, too. Connect begins a new one when the servers have lost their data, and Wrap does
// not: the servers refuse the connection then, as they do without Wrap, until its owner makes another.
func Wrap(ctx context.Context, zkConn *zk.Conn, monitor *Monitor, opts ...SessionOption) (*Session, error) {
	c, err := conn.Wrap(ctx, zkConn, monitor, sessionOptionsOf(opts))
	if err != nil {
		return nil, err
	}
	return newSession(c), nil
}

func newSession(c *conn.Conn) *Session {
	return &Session{
		conn: c, nodes: newNodes(c), unanswered: conn.Allowance{Times: 1, Every: time.Second},
		queues: map[string]*localQueue{}, holds: map[holdKey]*hold{},
	}
}

// Conn returns the connection, for other requests. It must not be closed.
func (s *Session) Conn() *zk.Conn { return s.conn.ZK }

// ACL returns the ACL of the nodes that the session makes: all rights for clients that authenticate as
// WithAuth says, or for everybody without WithAuth.
func (s *Session) ACL() []zk.ACL { return s.conn.ACL }

// ID returns the id of the current ZooKeeper session, and 0 while there is none.
func (s *Session) ID() int64 {
	if life := s.conn.Lifetime(); life != nil {
		return life.ID
	}
	return 0
}

// Timeout returns the session timeout as the server set it, and 0 while there is no session.
func (s *Session) Timeout() time.Duration { return s.conn.Timeout() }

// Lost returns a channel that is closed when the current ZooKeeper session is lost, or may be by the
// local clock, or when the Session is closed. While there is no session, the channel is closed
// already. Ask again for the next session.
func (s *Session) Lost() <-chan struct{} {
	if life := s.conn.Lifetime(); life != nil {
		return life.Context().Done()
	}
	over := make(chan struct{})
	close(over)
	return over
}

// Close ends all locks of the session: their contexts end with ErrSessionClosed, waiting acquisitions
// fail with it, and their nodes are removed. Close waits for that, for about ten seconds at most, or
// twenty if the connection is wrapped. A second Close returns ErrSessionClosed.
func (s *Session) Close() error { return s.conn.Close(s.nodes.removeAll) }

// Call runs a request of the client library, which takes no context, until ctx ends, and then returns
// ctx's cause. The request is sent even if ctx has ended before. One that is left behind goes on until
// it is answered or its connection ends.
func Call[T any](ctx context.Context, request func() (T, error)) (T, error) {
	return conn.Call(ctx, request)
}

// MakePath makes the node at path and the missing ones above it, each by create, which should return
// the client library's error. Any number of clients may do this at once.
func MakePath(path string, create func(path string) error) error { return conn.MakePath(path, create) }
