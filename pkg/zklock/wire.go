package zklock

import (
	"encoding/binary"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"
)

const (
	// requestHeader is the length of a packet and the xid that follows it.
	requestHeader = 4 + 4
	// answerHeader is the part of an answer that is looked at: length and xid.
	answerHeader = 4 + 4
	// helloHeader is, of the answer to a connect request: length, protocol version, session timeout
	// in milliseconds, session id.
	helloHeader = 4 + 4 + 4 + 8
	// helloXid stands for the connect request, which has no xid. Those of the protocol are above -3.
	helloXid = -1 << 31
	pingXid  = -2

	opSetWatches = 101
	// rewatchPatience is how long answers are held back for the library to renew its watches. It
	// sends nothing where it has none, and then the patience is how much longer a reconnect takes. On
	// a machine whose processors are all taken, 10 ms were not enough.
	rewatchPatience = 250 * time.Millisecond
)

// wire is one TCP connection of the client library, and reads along on it. It relies on the
// library's writing each request in one call, and on the framing of ZooKeeper's protocol: every
// packet begins with its length and, after the handshake, with the request's xid, which the answer
// repeats.
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

	// rewatched is closed when the library has renewed its watches; nil where it has not to, as
	// the session is new, and once it has.
	rewatched chan struct{}

	header [helloHeader]byte // of the packet being read
	filled int
	body   int // what is still to come of it
}

func (w *wire) Write(packet []byte) (int, error) {
	w.mu.Lock()
	xid := int32(helloXid)
	if w.lease != nil && len(packet) >= requestHeader {
		xid = int32(binary.BigEndian.Uint32(packet[4:]))
	}
	if xid == pingXid {
		w.pings++
	} else if w.rewatched != nil && len(packet) >= 12 && binary.BigEndian.Uint32(packet[8:]) == opSetWatches {
		close(w.rewatched)
		w.rewatched = nil
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

func (w *wire) Read(p []byte) (int, error) {
	w.holdBack()
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

// holdBack lets the library renew its watches on a session that goes on before it sees an answer.
// It asks for all changes since the last answer's transaction, and reads that number unguarded
// while answers may change it: then a change of the children in between would never be told.
func (w *wire) holdBack() {
	w.mu.Lock()
	rewatched, greeted := w.rewatched, w.lease != nil && w.body == 0
	w.mu.Unlock()
	if rewatched == nil || !greeted {
		return
	}
	select {
	case <-rewatched:
	case <-time.After(rewatchPatience):
		w.mu.Lock()
		w.rewatched = nil
		w.mu.Unlock()
	}
}

// follow takes the next bytes that came in.
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
			w.answer(int32(binary.BigEndian.Uint32(w.header[4:])))
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
	var resumed bool
	if w.lease, resumed = w.monitor.established(w, id, timeout, w.probeSent); resumed {
		w.rewatched = make(chan struct{})
	}
}

func (w *wire) answer(xid int32) {
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
