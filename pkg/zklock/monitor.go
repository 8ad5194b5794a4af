package zklock

import (
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-zookeeper/zk"
)

// Monitor tells a Session what the client library keeps to itself: the negotiated session timeout,
// the end of the connection as it happens, and when the server last heard from this client, from
// which follows how long the session is alive for certain. It reads along on the connection, for
// which its Dial is to be the library's dialer:
//
//	monitor := zklock.NewMonitor(nil)
//	conn, events, err := zk.Connect(servers, timeout, zk.WithDialer(monitor.Dial))
//	session, err := zklock.Wrap(ctx, conn, monitor)
//
// A Monitor is for one zk.Conn. Its methods are safe for concurrent use.
type Monitor struct {
	dial zk.Dialer

	zxid atomic.Int64 // of the last answer in the newest session; see wire

	mu      sync.Mutex
	wire    *wire  // the newest connection
	up      bool   // its handshake is done and it is not closed
	lease   *lease // the newest session, nil before the first and after an expiry
	changed chan struct{}
}

// NewMonitor returns a monitor of connections that dial makes; nil means net.DialTimeout.
func NewMonitor(dial zk.Dialer) *Monitor {
	if dial == nil {
		dial = net.DialTimeout
	}
	return &Monitor{dial: dial, changed: make(chan struct{})}
}

// Dial connects; it is a zk.Dialer.
func (m *Monitor) Dial(network, address string, timeout time.Duration) (net.Conn, error) {
	m.mu.Lock()
	last := m.wire
	m.mu.Unlock()
	if last != nil {
		_ = last.Close() // the library leaves it open after an expiry
	}
	conn, err := m.dial(network, address, timeout)
	if err != nil {
		return nil, err
	}
	w := &wire{Conn: conn, monitor: m}
	m.mu.Lock()
	m.wire = w
	m.mu.Unlock()
	return w, nil
}

// state returns whether there is a connection, and on which session; changed is closed when either
// is not so any more.
func (m *Monitor) state() (up bool, l *lease, changed <-chan struct{}) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.up, m.lease, m.changed
}

// tell wakes all that wait for a change. The caller holds the mutex.
func (m *Monitor) tell() {
	close(m.changed)
	m.changed = make(chan struct{})
}

// established notes that the server serves the session id on w: the one before, which is resumed,
// or a new one.
func (m *Monitor) established(w *wire, id int64, timeout time.Duration, sent instant) *lease {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.lease == nil || m.lease.id != id {
		m.lease = &lease{id: id}
	}
	m.lease.timeout.Store(int64(timeout))
	m.lease.hear(sent)
	m.up = m.wire == w
	m.tell()
	return m.lease
}

func (m *Monitor) expired(w *wire) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.lease == nil || m.wire != w {
		return
	}
	m.lease.expired.Store(true)
	m.lease = nil
	m.zxid.Store(0)
	m.tell()
}

func (m *Monitor) down(w *wire) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.wire != w || !m.up {
		return
	}
	m.up = false
	m.tell()
}
