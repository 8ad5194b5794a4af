package conn

import (
	"bufio"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"
	"time"
)

const (
	// requestHeader is length, xid and operation.
	requestHeader = 4 + 4 + 4
	// answerHeader is length, xid, zxid and the error's code, the last two at answerZxid and answerCode.
	answerHeader = 4 + 4 + 8 + 4
	answerZxid   = 4 + 4
	answerCode   = answerZxid + 8
	// helloHeader is the beginning of the answer to a connect request: length, protocol version,
	// session timeout in milliseconds, session id.
	helloHeader = 4 + 4 + 4 + 8
	// helloXid stands for the connect request, which has no xid. The protocol's xids are -2 or more.
	helloXid = -1 << 31
	pingXid  = -2

	opSync       = 9
	opSetWatches = 101
	// helloZxid and setWatchesZxid are the places of the last zxid seen in the requests that hold it.
	helloZxid      = 4 + 4
	setWatchesZxid = requestHeader
	// helloSession is the place of the session in a connect request, behind the timeout.
	helloSession = helloZxid + 8 + 4
)

// monitoredConn is one TCP connection of the client library. It parses the traffic for the Monitor. It relies on two
// things: the library writes each request in one call, and, as ZooKeeper's protocol has it, every packet begins with
// its length and, after the handshake, the request's xid, which the answer repeats.
//
// It makes a create2 of some creates, see creation.go, and a sync of each ping: a server that is cut off from its
// ensemble answers pings for some time, and a sync only by the leader's word. It also keeps the zxid of the last
// answer instead of the library. The library keeps it without a lock: on a reconnect it sets its watches again, for the
// changes after that zxid, while new answers may already have moved it on. Then it never learns of a
// change in between. So monitoredConn takes the zxid out of each answer, and puts the last zxid before the
// handshake into the two requests that need it.
type monitoredConn struct {
	net.Conn
	reader  *bufio.Reader // of Conn: the library reads each packet in two parts
	monitor *Monitor
	close   sync.Once

	readBy, writeBy deadline

	mu    sync.Mutex
	clock *Clock // of the session served here, nil until the handshake is done

	// The probe is a request whose time of sending is kept until its answer comes: then the server
	// has heard from us at that time or later. There is one at a time.
	probing   bool
	probeXid  int32
	probeSent Instant
	pings     int // sent and not answered; they all have the same xid

	seen int64 // the zxid of the last answer before the handshake

	creations map[int32]*Created // unanswered, by xid

	header [helloHeader]byte // of the packet being read
	filled int               // bytes of the header that have been read
	body   int               // bytes of the packet that are still to be read
	made   *Created          // which the packet answers, or nil
	answer []byte            // the packet's body so far, if it answers a creation
}

func (m *Monitor) monitor(conn net.Conn) *monitoredConn {
	return &monitoredConn{Conn: conn, reader: bufio.NewReader(conn), monitor: m, creations: map[int32]*Created{}}
}

// Write never fails: after a failed write it closes the connection, and the library learns of the end from
// its next read. The library answers a request twice if its write fails: at once, and when it ends all
// requests of the connection. The channel has no room for the second answer if nobody reads it, as for
// the credentials that are sent again after a reconnect and for requests that meet the library's Close.
// Then the library's loop would wait for ever, and there would be no further connection.
func (w *monitoredConn) Write(packet []byte) (int, error) {
	size := len(packet)
	w.mu.Lock()
	xid, op := int32(helloXid), int32(0)
	switch {
	case w.clock == nil:
		packet = w.shake(packet)
	case len(packet) >= requestHeader:
		xid, op = int32(binary.BigEndian.Uint32(packet[4:])), int32(binary.BigEndian.Uint32(packet[8:]))
		switch op {
		case opSetWatches:
			packet = withInt64(packet, setWatchesZxid, w.seen)
		case opCreate:
			if made := w.monitor.expected(packet); made != nil {
				packet = slices.Clone(packet)
				binary.BigEndian.PutUint32(packet[8:], opCreate2)
				w.creations[xid] = made
			}
		}
	}
	if xid == pingXid {
		packet, op = syncPacket, opSync
		w.pings++
	}
	if !w.probing && (xid == helloXid || throughTheLeader(op)) && (xid != pingXid || w.pings == 1) {
		w.probing, w.probeXid, w.probeSent = true, xid, Now()
	}
	w.mu.Unlock()
	if _, err := w.Conn.Write(packet); err != nil {
		_ = w.Close() // and the failure reaches the library by its next read
	}
	return size, nil
}

// syncPacket is a sync of the root with the xid of a ping: the library ignores its answer.
var syncPacket = []byte{0, 0, 0, 13, 0xff, 0xff, 0xff, 0xfe, 0, 0, 0, opSync, 0, 0, 0, 1, '/'}

// throughTheLeader reports whether the success of a request shows that the server is in touch with the leader, which
// decides about the end of sessions: writes and syncs. Other servers answer reads, and pings, by themselves.
func throughTheLeader(op int32) bool {
	switch op {
	case opCreate, opCreate2, opSync, 2, 5, 7, 14, 19: // delete, setData, setACL, multi, createContainer
		return true
	}
	return false
}

// lostHistory is the number of refused handshakes after which the servers are taken to have lost their data.
const lostHistory = 5

// shake returns the handshake with the zxid that was seen last. A server refuses a client that has seen a later
// transaction than itself, and closes the connection without an answer. If all have lost their data, or were set back
// to an older state, they would do so for ever. So once the session is over by the local clock and several handshakes
// in a row were refused, this client asks as one that has seen nothing, for a new session: the servers may know the old
// one from their older state, with nodes that this client has deleted since.
//
// A server without a quorum refuses in the same way, and when the quorum is back, the old session goes on for another
// timeout. So its nodes must still be deleted, by their paths. The library does not notice the change of the session.
// The owner of a wrapped connection would not either, and keeps the session.
func (w *monitoredConn) shake(packet []byte) []byte {
	if w.monitor.refused.Add(1) > lostHistory && w.monitor.leaves && w.monitor.over() {
		w.monitor.zxid.Store(0)
		packet = withInt64(packet, helloSession, 0)
	}
	w.seen = w.monitor.zxid.Load()
	return withInt64(packet, helloZxid, w.seen)
}

// withInt64 returns a copy of the packet with a number at the given place.
func withInt64(packet []byte, at int, n int64) []byte {
	if len(packet) < at+8 {
		return packet
	}
	packet = slices.Clone(packet)
	binary.BigEndian.PutUint64(packet[at:], uint64(n))
	return packet
}

func (w *monitoredConn) Read(p []byte) (int, error) {
	n, err := w.reader.Read(p)
	if n > 0 {
		w.mu.Lock()
		w.follow(p[:n])
		w.mu.Unlock()
	}
	if err != nil {
		w.ended(err)
		w.monitor.down(w)
	}
	return n, err
}

// ended notes an end before a session is served.
func (w *monitoredConn) ended(err error) {
	w.mu.Lock()
	served := w.clock != nil
	w.mu.Unlock()
	var timeout net.Error
	switch {
	case served, errors.Is(err, net.ErrClosed):
	case errors.As(err, &timeout) && timeout.Timeout():
		w.monitor.failed(fmt.Errorf("%s does not answer: %w", w.RemoteAddr(), err))
	default:
		w.monitor.failed(endedAtOnce(w.RemoteAddr().String(), err))
	}
}

func endedAtOnce(server string, err error) error {
	return fmt.Errorf("%s ends the connection at once: it has no quorum, or maxClientCnxns connections "+
		"already, or less data than this client has seen: %w", server, err)
}

// follow parses the next bytes that came in, and takes the zxids out of them.
func (w *monitoredConn) follow(p []byte) {
	for len(p) > 0 {
		if w.body > 0 {
			n := min(w.body, len(p))
			w.body -= n
			if w.made != nil {
				w.answer = append(w.answer, p[:n]...)
			}
			if w.made != nil && w.body == 0 {
				w.made.answered(w.answer, w)
				w.made, w.answer = nil, nil
			}
			p = p[n:]
			continue
		}
		want := answerHeader
		if w.clock == nil {
			want = helloHeader
		}
		n := copy(w.header[w.filled:want], p)
		if at, end := max(0, answerZxid-w.filled), min(n, answerCode-w.filled); w.clock != nil && at < end {
			clear(p[at:end])
		}
		w.filled += n
		p = p[n:]
		if w.filled < want {
			return
		}
		w.filled = 0
		w.body = int(binary.BigEndian.Uint32(w.header[:])) - (want - 4)
		if w.clock == nil {
			w.hello()
		} else {
			w.answered(int32(binary.BigEndian.Uint32(w.header[4:])), int64(binary.BigEndian.Uint64(w.header[answerZxid:])),
				int32(binary.BigEndian.Uint32(w.header[answerCode:])))
		}
	}
}

// hello takes the answer to the handshake. A session id of zero says that the session has expired.
// The library then begins a new one on its next connection.
func (w *monitoredConn) hello() {
	timeout := time.Duration(int32(binary.BigEndian.Uint32(w.header[8:]))) * time.Millisecond
	id := int64(binary.BigEndian.Uint64(w.header[12:]))
	w.probing = false
	w.monitor.refused.Store(0)
	if id == 0 {
		w.monitor.expired(w)
		return
	}
	w.clock = w.monitor.established(w, id, timeout, w.probeSent)
}

// answered takes the header of an answer or an event. Of the answers to writes and syncs, only a success proves that
// the session is alive: a server refuses some by itself, if it throttles or checks permissions early.
func (w *monitoredConn) answered(xid int32, zxid int64, code int32) {
	w.made = nil
	if code == 0 {
		w.made = w.creations[xid]
	}
	delete(w.creations, xid)
	if xid >= 0 && zxid > 0 { // neither an event nor a ping, nor from before the first transaction
		w.monitor.zxid.Store(zxid)
	}
	if xid == pingXid && w.pings > 0 {
		w.pings--
	}
	if w.probing && xid == w.probeXid {
		w.probing = false
		if code == 0 {
			w.clock.hear(w.probeSent)
		}
	}
}

// SetReadDeadline shortens the library's deadline for the handshake, which is ten times its read timeout: with a server
// that accepts and says nothing, the session would be over before the library tried the next server. A twentieth of it
// is a third of the session timeout. Without a session to lose, it is up to the whole session timeout after handshakes
// that failed, since the servers may be slow. It is never more: while one server hangs, the others may serve.
func (w *monitoredConn) SetReadDeadline(t time.Time) error {
	w.mu.Lock()
	shaking := w.clock == nil
	w.mu.Unlock()
	if shaking && !t.IsZero() {
		limit := time.Until(t) / 20
		if w.monitor.over() {
			limit *= time.Duration(min(max(w.monitor.refused.Load(), 1), 3))
		}
		t = time.Now().Add(limit)
	}
	return w.readBy.set(t, w.Conn.SetReadDeadline)
}

// SetWriteDeadline sets the deadline of the next write.
func (w *monitoredConn) SetWriteDeadline(t time.Time) error {
	return w.writeBy.set(t, w.Conn.SetWriteDeadline)
}

// deadline is the one that a connection has. The library sets one before each read and each write, and removes it
// after: four changes of a timer for each request. As the connection does nothing else, the last one may stay, and
// serves the next reads or writes as well while it is at most a sixteenth too early. One goroutine at a time may use
// it.
type deadline struct{ at time.Time }

func (d *deadline) set(t time.Time, change func(time.Time) error) error {
	if early := t.Sub(d.at); t.IsZero() || early >= 0 && early < time.Until(t)/16 {
		return nil
	}
	d.at = t
	return change(t)
}

// Close drops unsent packets instead of leaving them to the kernel: a create that arrives after
// the session has moved to another connection would make a node that nobody looks for.
func (w *monitoredConn) Close() error {
	err := net.ErrClosed
	w.close.Do(func() {
		inner := w.Conn
		if secured, ok := inner.(*tls.Conn); ok {
			inner = secured.NetConn() // without the alert, which could wait
		}
		if tcp, ok := inner.(*net.TCPConn); ok {
			_ = tcp.SetLinger(0) // best effort: node.find looks for such nodes, too
		}
		err = inner.Close()
	})
	w.monitor.down(w)
	return err
}
