package zklock

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"

	"orderstock/pkg/zklock/internal/conn"
)

// Session is a connection to ZooKeeper that any number of locks share. Make one for a process, not one for a lock.
//
// It survives the expiry of its ZooKeeper session by going on with the next one: handles of the lost
// one end, with ErrLost as their contexts' cause, acquisitions that wait queue up again, and new ones
// succeed. Its methods are safe for concurrent use.
type Session struct {
	conn  *conn.Conn
	root  string // before the path of each lock
	nodes *nodes

	unanswered conn.Allowance // bounds the log

	mu     sync.Mutex             // guards the maps and all that is in them
	queues map[string]*localQueue // by the path of the lock
	holds  map[holdKey]*hold

	watching  sync.Mutex // guards the next
	unwatched []*holder  // the oldest first
}

// Monitor learns facts from the connection that the client library hides: the negotiated session
// timeout, the end of the connection as it happens, and when the server last heard from this client,
// and so how long the session is alive for certain. Its Dial must be the library's dialer:
//
//	monitor := zklock.NewMonitor(nil)
//	conn, events, err := zk.Connect(servers, timeout, zk.WithDialer(monitor.Dial))
//	session, err := zklock.Wrap(ctx, conn, monitor)
//
// A Monitor is for one zk.Conn. Its methods are safe for concurrent use.
type Monitor struct{ monitor *conn.Monitor }

// NewMonitor returns a monitor of the connections that dial makes; nil means net.DialTimeout.
func NewMonitor(dial zk.Dialer) *Monitor { return &Monitor{conn.NewMonitor(dial)} }

// Dial connects; it is a zk.Dialer.
func (m *Monitor) Dial(network, address string, timeout time.Duration) (net.Conn, error) {
	return m.monitor.Dial(network, address, timeout)
}

// Connect connects to any of the servers, each "host:port", and returns when there is a session, or
// when ctx ends. Callers must Close it. One string may hold several servers, with commas between them, and
// behind the last one a path (chroot) that stands before the path of each lock, as Java's clients take it:
// "zk1,zk2:2182/shop". Without a port it is 2181. Spaces around an address are ignored. Names are resolved again when
// no known address has answered. One that does not resolve is treated like a server that is down.
func Connect(ctx context.Context, servers []string, opts ...ConnectOption) (*Session, error) {
	o := sessionOptionsOf(opts, ConnectOption.setConnect)
	list, chroot, _ := strings.Cut(strings.Join(servers, ","), "/")
	if strings.Contains(chroot, ",") {
		return nil, fmt.Errorf("connect to ZooKeeper at %q: a path (chroot) stands once, behind the last server", servers)
	}
	root, err := rootOf(chroot, o.namespace)
	if err != nil {
		return nil, err
	}
	var addrs []string
	for addr := range strings.SplitSeq(list, ",") {
		addrs = append(addrs, strings.TrimSpace(addr))
	}
	c, err := conn.Connect(ctx, addrs, o.Options)
	if err != nil {
		return nil, err
	}
	return newSession(c, root), nil
}

// rootOf returns the path of a chroot and a namespace in it, "" for none.
func rootOf(parts ...string) (root string, err error) {
	for _, part := range parts {
		if part = strings.Trim(strings.TrimSpace(part), "/"); part != "" {
			root += "/" + part
		}
	}
	if root != "" && !validPath(root) {
		return "", fmt.Errorf("connect to ZooKeeper: chroot or namespace %q: want a path, such as /shop", root)
	}
	return root, nil
}

// Wrap makes a Session of a connection that the caller continues to own. It must have been made with
// the monitor's Dial as its dialer; see Monitor. Wrap returns when there is a session, or when ctx
// ends; it fails if the connection turns out to have another dialer. Close the Session before the connection: it
// then removes the nodes of its locks. If the connection is closed first, all use fails with ErrSessionClosed. The
// ZooKeeper session is the owner's, too. Connect begins a new one when the servers have lost their data, and Wrap does
// not: the servers refuse the connection then, as they do without Wrap, until its owner makes another.
func Wrap(ctx context.Context, zkConn *zk.Conn, monitor *Monitor, opts ...SessionOption) (*Session, error) {
	o := sessionOptionsOf(opts, SessionOption.setSession)
	root, err := rootOf(o.namespace)
	if err != nil {
		return nil, err
	}
	if zkConn == nil || monitor == nil {
		return nil, errors.New("wrap ZooKeeper connection: there is no connection or no monitor")
	}
	c, err := conn.Wrap(ctx, zkConn, monitor.monitor, o.Options)
	if err != nil {
		return nil, err
	}
	return newSession(c, root), nil
}

func newSession(c *conn.Conn, root string) *Session {
	return &Session{
		conn: c, root: root, nodes: newNodes(c), unanswered: conn.Allowance{Times: 1, Every: time.Second},
		queues: map[string]*localQueue{}, holds: map[holdKey]*hold{},
	}
}

// Root returns the path before the path of each lock, a chroot and a namespace; "" if there is neither.
func (s *Session) Root() string { return s.root }

// Conn returns the connection, for other requests. Their paths are the whole ones, with Root. It must not be closed.
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

// Lost returns a channel that is closed when the current ZooKeeper session is lost, or may be by the local clock, or
// when the Session is closed. While there is no session, the channel is closed already. Ask again for the next session.
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
