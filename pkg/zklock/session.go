package zklock

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"
)

// closeTimeout bounds how long Close waits for what runs in the background.
const closeTimeout = 10 * time.Second

// Session is a connection to ZooKeeper that any number of locks share. Make one for a process, not
// one for a lock.
//
// It survives the expiry of its ZooKeeper session by going on with the next: the handles of the
// lost one end, with ErrLost as their contexts' cause, acquisitions that wait queue up again, and
// new ones succeed. Its methods are safe for concurrent use.
type Session struct {
	conn    *zk.Conn
	monitor *Monitor
	events  <-chan zk.Event // closed when conn has ended; nil where conn is the caller's
	log     *slog.Logger

	ctx   context.Context // ends at Close
	close context.CancelCauseFunc

	mu      sync.Mutex
	closed  bool
	term    *term         // nil while there is no live session
	changed chan struct{} // closed when the term or the connection changes
	nodes   map[string]struct{}
	queues  map[string]*cohort
	holds   map[holdKey]*hold
	watches map[string]*watch
	stuck   map[string]struct{} // nodes of ours that may not be deleted
	refused chan struct{}       // closed when there is another
	asking  map[string]struct{} // by the path of the lock, see ask

	requests   sync.WaitGroup // calls of the client library, which end with the connection
	background sync.WaitGroup // everything else; never waits for a request after Close
}

// Connect connects to any of servers, each "host:port", and returns once there is a session, or
// when ctx ends. The caller closes it. Names are resolved at every reconnect, and one that does not
// resolve is passed over as a server that is down is.
func Connect(ctx context.Context, servers []string, opts ...SessionOption) (*Session, error) {
	o := sessionOptionsOf(opts)
	monitor, hosts := NewMonitor(o.dial), newHosts()
	conn, events, err := zk.Connect(servers, o.timeout,
		zk.WithDialer(monitor.Dial), zk.WithHostProvider(hosts),
		zk.WithLogger(clientLog{o.log}), zk.WithLogInfo(false))
	if err != nil {
		return nil, fmt.Errorf("connect to ZooKeeper: %w", err)
	}
	s := newSession(conn, events, monitor, o)
	if err := s.begin(ctx, o); err != nil {
		_ = s.Close() // there is nothing to lose yet
		return nil, fmt.Errorf("connect to ZooKeeper at %v: %w", servers, errors.Join(err, hosts.trouble()))
	}
	return s, nil
}

// Wrap makes a Session of a connection that the caller has and goes on owning. It must have been
// made with the monitor's Dial as its dialer; see Monitor. Wrap returns once there is a session,
// or when ctx ends. Close it before conn: it then removes the nodes of its locks. If conn is closed
// first, all that the session is asked for fails with ErrSessionClosed.
func Wrap(ctx context.Context, conn *zk.Conn, monitor *Monitor, opts ...SessionOption) (*Session, error) {
	o := sessionOptionsOf(opts)
	s := newSession(conn, nil, monitor, o)
	s.background.Go(s.watchConnection)
	if err := s.begin(ctx, o); err != nil {
		_ = s.Close() // there is nothing to lose yet
		return nil, fmt.Errorf("wrap ZooKeeper connection: %w", err)
	}
	return s, nil
}

func newSession(conn *zk.Conn, events <-chan zk.Event, monitor *Monitor, o sessionOptions) *Session {
	s := &Session{
		conn: conn, monitor: monitor, events: events, log: o.log,
		changed: make(chan struct{}),
		nodes:   map[string]struct{}{},
		queues:  map[string]*cohort{},
		holds:   map[holdKey]*hold{},
		watches: map[string]*watch{},
		stuck:   map[string]struct{}{},
		refused: make(chan struct{}),
		asking:  map[string]struct{}{},
	}
	s.ctx, s.close = context.WithCancelCause(context.Background()) //nolint:forbidigo // it lives until Close, and a lock has no values but its acquirer's
	s.background.Go(s.keepTerm)
	return s
}

// begin waits for the session and authenticates it.
func (s *Session) begin(ctx context.Context, o sessionOptions) error {
	if _, err := s.ready(ctx); err != nil {
		return err
	}
	for _, a := range o.auth {
		_, err := call(ctx, s, func() (struct{}, error) { return struct{}{}, s.conn.AddAuth(a.scheme, a.secret) }, nil)
		if err != nil {
			return fmt.Errorf("authenticate by %s: %w", a.scheme, err)
		}
	}
	return nil
}

// strikes is how often a request must fail at once before the connection counts as closed: that of
// an open one waits for the next connection.
const strikes = 5

// watchConnection ends the session when the owner of a wrapped connection closes it, of which
// the library tells nobody else. It waits by a watch, which the library drops then.
func (s *Session) watchConnection() {
	var pause retryPause
	for failed := 0; failed < strikes; {
		events, err := call(s.ctx, s, func() (<-chan zk.Event, error) {
			_, _, events, err := s.conn.ExistsW("/")
			return events, err
		}, nil)
		switch {
		case err == nil:
			failed, pause = 0, retryPause{}
			if happened(s.ctx, s, events) != nil {
				return
			}
		case errors.Is(err, zk.ErrConnectionClosed) && s.conn.State() == zk.StateDisconnected:
			failed++
		default:
			failed = 0
		}
		if pause.wait(s.ctx, s) != nil {
			return
		}
	}
	s.close(fmt.Errorf("%w: the owner of its connection has closed it", ErrSessionClosed))
}

// Conn returns the connection, for other requests. It must not be closed.
func (s *Session) Conn() *zk.Conn { return s.conn }

// Close ends all locks of the session: their contexts end with ErrSessionClosed, waiting
// acquisitions fail with it, and their nodes are removed. It waits for that, ten seconds at most.
func (s *Session) Close() error {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return ErrSessionClosed
	}
	s.closed = true
	s.mu.Unlock()
	s.close(ErrSessionClosed)

	within(time.Second, s.requests.Wait) // the library's answers race with its Close
	if s.events != nil {
		s.conn.Close() // and the server removes the nodes
		for range s.events {
		}
	} else {
		s.removeAll()
	}
	ended := within(closeTimeout, func() {
		s.requests.Wait()
		s.background.Wait()
	})
	if !ended {
		return errors.New("close session: requests still wait for ZooKeeper")
	}
	return nil
}

// within runs f and says whether it ended in time. It goes on otherwise.
func within(limit time.Duration, f func()) bool {
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	select {
	case <-done:
		return true
	case <-time.After(limit):
		return false
	}
}

// clientLog passes the client library's messages on.
type clientLog struct{ log *slog.Logger }

func (l clientLog) Printf(format string, args ...any) {
	l.log.Debug("zookeeper client: " + fmt.Sprintf(format, args...))
}
