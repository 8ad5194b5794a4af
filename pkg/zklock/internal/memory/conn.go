package memory

import (
	"crypto/sha1" //nolint:gosec // the digest of ZooKeeper's scheme
	"encoding/base64"
	"encoding/binary"
	"io"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/go-zookeeper/zk"
)

// conn is one client's connection.
type conn struct {
	net.Conn
	server *Server
	delay  func() time.Duration
	wake   chan struct{} // wakes write for more, or for the end

	// The Server's mutex guards the following.
	session *session // nil before the handshake
	ids     []zk.ACL // that the client has authenticated as; they have no permissions
	out     []delayed
	ending  bool // once out is sent
}

// delayed is a packet that is to be sent at a time.
type delayed struct {
	packet []byte
	due    time.Time
}

// maxPacket is the greatest request, as in ZooKeeper's jute.maxbuffer.
const maxPacket = 0xfffff

func (s *Server) serve(nc net.Conn, delay func() time.Duration) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		_ = nc.Close() // nothing was written
		return false
	}
	c := &conn{Conn: nc, server: s, delay: delay, wake: make(chan struct{}, 1)}
	s.conns[c] = struct{}{}
	s.running.Go(c.read)
	s.running.Go(c.write)
	return true
}

// read handles packets until the connection ends.
func (c *conn) read() {
	for handle := c.hello; ; handle = c.request {
		var size [4]byte
		_, err := io.ReadFull(c, size[:])
		if string(size[:]) == "wchp" {
			_, _ = c.Write(c.server.watchesByPath()) // a client that has gone does not want it
			break
		}
		n := binary.BigEndian.Uint32(size[:])
		if err != nil || n > maxPacket {
			break
		}
		packet := make([]byte, n)
		if _, err := io.ReadFull(c, packet); err != nil || !c.locked(handle, &reader{rest: packet}) {
			break
		}
	}
	c.server.mu.Lock()
	defer c.server.mu.Unlock()
	c.end()
	delete(c.server.conns, c)
	c.server.tree.data.remove(c)
	c.server.tree.children.remove(c)
	if c.session != nil && c.session.conn == c {
		c.session.conn = nil
	}
}

// locked handles a packet, unless the connection has ended. It returns whether the connection goes on.
func (c *conn) locked(handle func(*reader) bool, r *reader) bool {
	c.server.mu.Lock()
	defer c.server.mu.Unlock()
	return !c.ending && handle(r) && !c.ending
}

// write sends the packets in out, each when it is due, and closes the connection at the end.
func (c *conn) write() {
	defer func() { _ = c.Close() }() // the client may have closed it
	for range c.wake {
		for {
			c.server.mu.Lock()
			out, ending := c.out, c.ending
			c.out = nil
			c.server.mu.Unlock()
			for _, d := range out {
				if wait := time.Until(d.due); wait > 0 {
					select {
					case <-time.After(wait):
					case <-c.server.done:
					}
				}
				if _, err := c.Write(d.packet); err != nil {
					return
				}
			}
			if len(out) == 0 && ending {
				return
			}
			if len(out) == 0 {
				break
			}
		}
	}
}

// The functions that follow are called with the Server's mutex held.

// end closes the connection once the packets so far are sent.
func (c *conn) end() {
	c.ending = true
	c.rouse()
}

func (c *conn) rouse() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

func (c *conn) send(w writer) {
	c.out = append(c.out, delayed{w.packet(), time.Now().Add(c.delay())})
	c.rouse()
}

func (c *conn) event(event zk.EventType, path string) {
	var w writer
	w.int32(-1)
	w.int64(-1)
	w.int32(int32(ok))
	w.int32(int32(event))
	w.int32(int32(zk.StateConnected))
	w.string(path)
	c.send(w)
}

// hello answers the handshake. It returns whether the connection goes on.
func (c *conn) hello(r *reader) bool {
	s := c.server
	_, seen := r.int32(), r.int64()
	timeout, id, secret := time.Duration(r.int32())*time.Millisecond, r.int64(), r.bytes()
	if r.short || seen > s.tree.zxid {
		return false // the client has seen transactions that this server does not know
	}
	session := s.sessions[id]
	if id == 0 {
		session = s.newSession(timeout)
	}
	var w writer
	w.int32(0)
	if session == nil || id != 0 && !slices.Equal(secret, session.secret[:]) {
		w.int32(0) // the session is over
		w.int64(0)
		w.bytes(make([]byte, 16))
		c.send(w)
		return false
	}
	if before := session.conn; before != nil {
		before.end()
	}
	c.session, session.conn = session, c
	session.expiry.Reset(session.timeout + tick)
	w.int32(int32(session.timeout.Milliseconds()))
	w.int64(session.id)
	w.bytes(session.secret[:])
	c.send(w)
	return true
}

// expand returns an ACL with the client's own ids in place of the scheme auth.
func (c *conn) expand(acl []zk.ACL) (expanded []zk.ACL, result code) {
	for _, a := range acl {
		switch {
		case a.Scheme == "auth":
			for _, id := range c.ids {
				expanded = append(expanded, zk.ACL{Perms: a.Perms, Scheme: id.Scheme, ID: id.ID})
			}
		case a.Scheme == "digest" && strings.Contains(a.ID, ":"), a == zk.ACL{Perms: a.Perms, Scheme: "world", ID: "anyone"}:
			expanded = append(expanded, a)
		default:
			return nil, invalidACL
		}
	}
	if len(expanded) == 0 {
		return nil, invalidACL
	}
	return expanded, ok
}

func (c *conn) may(n *node, permission int32) bool {
	return slices.ContainsFunc(n.acl, func(a zk.ACL) bool {
		return a.Perms&permission != 0 &&
			(a.Scheme == "world" || slices.Contains(c.ids, zk.ACL{Scheme: a.Scheme, ID: a.ID}))
	})
}

// authenticate adds an id to the client's.
func (c *conn) authenticate(scheme string, secret []byte) code {
	user, _, found := strings.Cut(string(secret), ":")
	if scheme != "digest" || !found {
		return authFailed
	}
	sum := sha1.Sum(secret) //nolint:gosec // the digest of ZooKeeper's scheme
	id := zk.ACL{Scheme: scheme, ID: user + ":" + base64.StdEncoding.EncodeToString(sum[:])}
	if !slices.Contains(c.ids, id) {
		c.ids = append(c.ids, id)
	}
	return ok
}
