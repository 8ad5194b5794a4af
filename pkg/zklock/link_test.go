package zklock_test

import (
	"encoding/binary"
	"errors"
	"io"
	"net"
	"sync"
	"testing"
	"time"

	"orderstock/pkg/zklock"
)

// ZooKeeper's numbers of operations.
const (
	opCreate          = 15 // create2, of queue nodes
	opCreateContainer = 19
	opDelete          = 2
	opExists          = 3
	opGetData         = 4
	opSetData         = 5
	opChildren        = 12
	opMulti           = 14
	opSync            = 9
	opClose           = -11
	opSetAuth         = 100
)

var errCut = errors.New("connection cut by the test")

// link is a session's connection to the server, which a test can cut and block. It learns the session's
// id and password, which are needed to end the session from outside.
type link struct {
	dialing sync.Mutex
	mu      sync.Mutex
	conn    *linkConn
	blocked bool
	id      uint64
	secret  [16]byte
	// onRequest is called for each request before it is sent. If it returns true, the request is sent
	// and the connection cut before the answer comes.
	onRequest func(op int32) (cut bool)
	twice     bool // the request before the cut is sent a second time
	sent      map[int32]int
}

// dialLink returns a session and the link that it goes over.
func dialLink(t testing.TB, opts ...zklock.ConnectOption) (*zklock.Session, *link) {
	t.Helper()
	l := &link{sent: map[int32]int{}}
	s := connect(t, append(opts, zklock.WithDialer(l.dial))...)
	return s, l
}

func (l *link) dial(network, address string, timeout time.Duration) (net.Conn, error) {
	l.dialing.Lock()
	defer l.dialing.Unlock()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.blocked {
		return nil, errCut
	}
	conn, err := net.DialTimeout(network, address, timeout)
	if err != nil {
		return nil, err
	}
	l.conn = &linkConn{Conn: conn, link: l}
	return l.conn, nil
}

// requests returns how many requests of the operation were sent.
func (l *link) requests(op int32) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.sent[op]
}

// once calls do before the next request of the operation is sent; see onRequest.
func (l *link) once(op int32, do func() (cut bool)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.onRequest = func(o int32) bool {
		if o != op {
			return false
		}
		l.onRequest = nil
		return do()
	}
}

// cutAfter cuts the connection after the next request of the operation was sent.
func (l *link) cutAfter(op int32) { l.once(op, func() bool { return true }) }

// after returns a channel that is closed when the n-th request of the operation from now is sent.
func (l *link) after(op int32, n int) <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	sent := make(chan struct{})
	l.onRequest = func(o int32) bool {
		if o == op {
			n--
		}
		if n == 0 {
			l.onRequest = nil
			close(sent)
		}
		return false
	}
	return sent
}

// silence lets nothing through any more in either direction, and returns no error.
func (l *link) silence() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.blocked = true
}

// restore ends the silence: with a new connection.
func (l *link) restore() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.blocked = false
	_ = l.conn.Close()
}

// elsewhere goes on with the session over another connection. The server closes the link's.
func (l *link) elsewhere(t testing.TB) net.Conn {
	t.Helper()
	l.mu.Lock()
	id, secret := l.id, l.secret
	l.mu.Unlock()
	conn, err := net.DialTimeout("tcp", zookeeper(t), patience)
	must(t, err)
	_ = conn.SetDeadline(time.Now().Add(patience))
	hello := binary.BigEndian.AppendUint32(nil, 44)
	hello = append(hello, make([]byte, 4+8)...) // protocol version, last zxid seen
	hello = binary.BigEndian.AppendUint32(hello, 30_000)
	hello = binary.BigEndian.AppendUint64(hello, id)
	hello = binary.BigEndian.AppendUint32(hello, uint32(len(secret)))
	ask(t, conn, append(hello, secret[:]...))
	return conn
}

// expire makes the server end the session, as it does when it has heard nothing for its timeout:
// by going on with it over another connection and closing it there.
func (l *link) expire(t testing.TB) {
	t.Helper()
	l.expireUnseen(t)()
}

// expireUnseen is expire, but the session's owner cannot reconnect, and so does not know of it, until it calls seen.
func (l *link) expireUnseen(t testing.TB) (seen func()) {
	t.Helper()
	l.dialing.Lock()
	conn := l.elsewhere(t)
	defer func() { _ = conn.Close() }() // everything has been sent by then
	closeOp := int32(opClose)
	bye := binary.BigEndian.AppendUint32(nil, 8)
	bye = binary.BigEndian.AppendUint32(bye, 1)
	ask(t, conn, binary.BigEndian.AppendUint32(bye, uint32(closeOp)))
	return l.dialing.Unlock
}

// ask sends a packet and reads the answer.
func ask(t testing.TB, conn net.Conn, packet []byte) {
	t.Helper()
	check(t, errorOf(conn.Write(packet)))
	var size [4]byte
	check(t, errorOf(io.ReadFull(conn, size[:])))
	check(t, errorOf(io.CopyN(io.Discard, conn, int64(binary.BigEndian.Uint32(size[:])))))
}

// linkConn is one connection of a link.
type linkConn struct {
	net.Conn
	link  *link
	hello []byte // the first bytes that came in
	dead  bool   // no answer comes through any more
}

func (c *linkConn) Write(p []byte) (int, error) {
	l := c.link
	l.mu.Lock()
	cut, silent := false, l.blocked
	if c.hello != nil && len(p) >= 12 {
		op := int32(binary.BigEndian.Uint32(p[8:]))
		l.sent[op]++
		if l.onRequest != nil {
			cut = l.onRequest(op)
			c.dead = cut
		}
	}
	l.mu.Unlock()
	if silent {
		return len(p), nil
	}
	n, err := c.Conn.Write(p)
	if cut {
		if l.twice {
			_, _ = c.Conn.Write(p) // nobody waits for its answer
		}
		// The server reads everything before the end of the stream; nobody receives its answers.
		if tcp, ok := c.Conn.(*net.TCPConn); ok {
			_ = tcp.CloseWrite()
		}
		_, _ = io.Copy(io.Discard, c.Conn)
		_ = c.Conn.Close()
		return n, errCut
	}
	return n, err
}

func (c *linkConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	l := c.link
	l.mu.Lock()
	defer l.mu.Unlock()
	if (l.blocked || c.dead) && err == nil {
		return c.hold()
	}
	if len(c.hello) < 40 {
		if c.hello = append(c.hello, p[:n]...); len(c.hello) >= 40 {
			l.id = binary.BigEndian.Uint64(c.hello[12:])
			copy(l.secret[:], c.hello[24:])
		}
	}
	return n, err
}

// hold drops incoming bytes until the connection ends. The caller holds the mutex.
func (c *linkConn) hold() (int, error) {
	c.link.mu.Unlock()
	defer c.link.mu.Lock()
	if _, err := io.Copy(io.Discard, c.Conn); err != nil {
		return 0, err
	}
	return 0, io.EOF
}
