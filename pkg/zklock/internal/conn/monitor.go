package conn

import (
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/go-zookeeper/zk"
)

// Monitor is zklock.Monitor.
type Monitor struct {
	dial   zk.Dialer
	leaves bool // may leave a session for a new one: nobody else counts on the session

	zxid    atomic.Int64 // of the last answer in the newest session; see monitoredConn
	refused atomic.Int32 // handshakes in a row that were not answered; see monitoredConn.shake

	creations sync.Map // by the path that is asked for: the *Created that is expected

	mu      sync.Mutex
	newest  *monitoredConn
	ended   bool   // no more connections
	up      bool   // the newest connection's handshake is done and it is not closed
	clock   *Clock // of the newest session, nil before the first and after an expiry
	changed chan struct{}
	trouble error       // why the newest try to connect failed; nil once a session is served
	report  func(error) // is called with each trouble; nil before newConn
}

// NewMonitor returns a monitor of the connections that dial makes; nil means net.DialTimeout.
func NewMonitor(dial zk.Dialer) *Monitor {
	if dial == nil {
		dial = net.DialTimeout
	}
	return &Monitor{dial: dial, changed: make(chan struct{})}
}

// Dial connects; it is a zk.Dialer.
func (m *Monitor) Dial(network, address string, timeout time.Duration) (net.Conn, error) {
	m.mu.Lock()
	last := m.newest
	m.mu.Unlock()
	if last != nil {
		_ = last.Close() // the library leaves it open after an expiry
	}
	conn, err := m.dial(network, address, timeout)
	if err != nil {
		if errors.Is(err, syscall.EPIPE) || errors.Is(err, syscall.ECONNRESET) {
			err = endedAtOnce(address, err)
		}
		m.failed(err)
		return nil, err
	}
	w := m.monitor(conn)
	m.mu.Lock()
	m.newest = w
	ended := m.ended
	m.mu.Unlock()
	if ended {
		_ = w.Close()
		return nil, ErrClosed
	}
	return w, nil
}

// shut closes the newest connection and lets no other follow.
func (m *Monitor) shut() {
	m.mu.Lock()
	m.ended = true
	last := m.newest
	m.mu.Unlock()
	if last != nil {
		_ = last.Close()
	}
}

// state returns whether there is a connection, and the clock of its session. changed is closed when either changes.
func (m *Monitor) state() (up bool, clock *Clock, changed <-chan struct{}) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.up, m.clock, m.changed
}

// over reports whether the server may have expired the session.
func (m *Monitor) over() bool {
	_, clock, _ := m.state()
	return clock == nil || clock.Left() <= 0
}

// failed notes why there is no connection.
func (m *Monitor) failed(trouble error) {
	m.mu.Lock()
	report := m.report
	m.trouble = trouble
	m.mu.Unlock()
	if report != nil {
		report(trouble)
	}
}

// tell wakes all that wait for a change. The caller holds the mutex.
func (m *Monitor) tell() {
	close(m.changed)
	m.changed = make(chan struct{})
}

// established notes that the server serves the session id on w: a new session or the one before.
func (m *Monitor) established(w *monitoredConn, id int64, timeout time.Duration, sent Instant) *Clock {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.clock == nil || m.clock.ID != id {
		m.clock = &Clock{ID: id}         // the session before is over, or was left: see monitoredConn.shake
		m.clock.heard.Store(int64(sent)) // instants may be negative, in a bubble of testing/synctest
	}
	m.clock.Timeout.Store(int64(timeout))
	m.clock.hear(sent)
	m.up = m.newest == w
	m.trouble = nil
	m.tell()
	return m.clock
}

func (m *Monitor) expired(w *monitoredConn) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.clock == nil || m.newest != w {
		return
	}
	m.clock.expired.Store(true)
	m.clock = nil
	m.zxid.Store(0)
	m.tell()
}

func (m *Monitor) down(w *monitoredConn) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.newest != w || !m.up {
		return
	}
	m.up = false
	m.tell()
}
