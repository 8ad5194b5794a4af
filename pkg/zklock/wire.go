package zklock

import (
	"encoding/binary"
	"fmt"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"
)

const (
	// requestHeader is length, xid and operation.
	requestHeader = 4 + 4 + 4
	// answerHeader is length, xid and zxid; the zxid begins at answerZxid.
	answerHeader = 4 + 4 + 8
	answerZxid   = 4 + 4
	// helloHeader is, of the answer to a connect request: length, protocol version, session timeout
	// in milliseconds, session id.
	helloHeader = 4 + 4 + 4 + 8
	// helloXid stands for the connect request, which has no xid. Those of the protocol are above -3.
	helloXid = -1 << 31
	pingXid  = -2

	opSetWatches = 101
	// helloZxid and setWatchesZxid are where the two requests that hold the last zxid seen hold it.
	helloZxid      = 4 + 4
	setWatchesZxid = requestHeader
)

// wire is one TCP connection of the client library, and reads along on it. It relies on the
// library's writing each request in one call, and on the framing of ZooKeeper's protocol: every
// packet begins with its length and, after the handshake, with the request's xid, which the answer
// repeats.
//
// It also keeps, instead of the library, the zxid of the last answer. The library keeps it without a
// lock: on a reconnect it asks for its watches anew, with what changed since that zxid, while new
// answers may already have changed it, and then it is never told of a change in between. So the wire
// takes the zxid out of each answer, and puts that of the last answer before the handshake into the
// two requests that need it.
type wire struct {
	net.Conn
	monitor *Monitor
	close   sync.Once

	mu    sync.Mutex
	lease *lease // the session served here, nil until the handshake is done

	// The probe is a request whose time of sending is kept until its answer comes: then the server
	// has heard from us at that time or later. There is one at a time.
	probing   bool
	probeXid  int32
	probeSent instant
	pings     int // sent and not answered; they all have the same xid

	seen int64 // the zxid of the last answer before the handshake

	header [helloHeader]byte // of the packet being read
	filled int
	body   int // what is still to come of it
}

func (w *wire) Write(packet []byte) (int, error) {
	w.mu.Lock()
	xid := int32(helloXid)
	switch {
	case w.lease == nil:
		w.seen = w.monitor.zxid.Load()
		packet = w.withSeen(packet, helloZxid)
	case len(packet) >= requestHeader:
		xid = int32(binary.BigEndian.Uint32(packet[4:]))
		if binary.BigEndian.Uint32(packet[8:]) == opSetWatches {
			packet = w.withSeen(packet, setWatchesZxid)
		}
	}
	if xid == pingXid {
		w.pings++
	}
	if !w.probing && (xid != pingXid || w.pings == 1) {
		w.probing, w.probeXid, w.probeSent = true, xid, now()
	}
	w.mu.Unlock()
	n, err := w.Conn.Write(packet)
	if err != nil {
		// The library hands this to the request's caller as it is, and it is no answer either.
		err = fmt.Errorf("%w: %w", zk.ErrConnectionClosed, err)
	}
	return n, err
}

// withSeen returns the packet with the zxid seen at the place. It leaves the caller's as it is.
func (w *wire) withSeen(packet []byte, at int) []byte {
	if len(packet) < at+8 {
		return packet
	}
	packet = slices.Clone(packet)
	binary.BigEndian.PutUint64(packet[at:], uint64(w.seen))
	return packet
}

func (w *wire) Read(p []byte) (int, error) {
	n, err := w.Conn.Read(p)
	if n > 0 {
		w.mu.Lock()
		w.follow(p[:n])
		w.mu.Unlock()
	}
	if err != nil {
		w.monitor.down(w)
	}
	return n, err
}

// follow takes the next bytes that came in, and takes the zxids out of them.
func (w *wire) follow(p []byte) {
	for len(p) > 0 {
		if w.body > 0 {
			n := min(w.body, len(p))
			w.body -= n
			p = p[n:]
			continue
		}
		want := answerHeader
		if w.lease == nil {
			want = helloHeader
		}
		n := copy(w.header[w.filled:want], p)
		if at := max(0, answerZxid-w.filled); w.lease != nil && at < n {
			clear(p[at:n])
		}
		w.filled += n
		p = p[n:]
		if w.filled < want {
			return
		}
		w.filled = 0
		w.body = int(binary.BigEndian.Uint32(w.header[:])) - (want - 4)
		if w.lease == nil {
			w.hello()
		} else {
			w.answer(int32(binary.BigEndian.Uint32(w.header[4:])), int64(binary.BigEndian.Uint64(w.header[answerZxid:])))
		}
	}
}

// hello takes the answer to the handshake. A session id of zero says that the session asked for
// has expired; the library then begins a new one on its next connection.
func (w *wire) hello() {
	timeout := time.Duration(int32(binary.BigEndian.Uint32(w.header[8:]))) * time.Millisecond
	id := int64(binary.BigEndian.Uint64(w.header[12:]))
	w.probing = false
	if id == 0 {
		w.monitor.expired(w)
		return
	}
	w.lease = w.monitor.established(w, id, timeout, w.probeSent)
}

func (w *wire) answer(xid int32, zxid int64) {
	if xid >= 0 && zxid > 0 { // neither an event nor a ping, nor from before the first transaction
		w.monitor.zxid.Store(zxid)
	}
	if xid == pingXid && w.pings > 0 {
		w.pings--
	}
	if w.probing && xid == w.probeXid {
		w.probing = false
		w.lease.hear(w.probeSent)
	}
}

// SetReadDeadline shortens the library's patience during the handshake, of ten times the read
// timeout: with a server that accepts and says nothing, the session would be over before the
// next server is tried. A twentieth of it is a third of the session timeout.
func (w *wire) SetReadDeadline(t time.Time) error {
	w.mu.Lock()
	shaking := w.lease == nil
	w.mu.Unlock()
	if shaking && !t.IsZero() {
		t = time.Now().Add(time.Until(t) / 20)
	}
	return w.Conn.SetReadDeadline(t)
}

// Close drops what is not sent yet, instead of leaving it to the kernel: a create that arrives
// after the session has gone on over another connection would be a node that nobody looks for.
func (w *wire) Close() error {
	err := net.ErrClosed
	w.close.Do(func() {
		if tcp, ok := w.Conn.(*net.TCPConn); ok {
			_ = tcp.SetLinger(0) // best effort: the sweep of orphans is the other line of defence
		}
		err = w.Conn.Close()
	})
	w.monitor.down(w)
	return err
}
