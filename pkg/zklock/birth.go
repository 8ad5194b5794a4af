package zklock

import (
	"encoding/binary"
	"sync"
)

const (
	opCreate = 1
	// createPath is where the path of a create request begins with its length: after the packet's
	// length, the xid and the operation.
	createPath = 4 + 4 + 4
)

// birth is what the wire tells of one create: when it was sent, and of its answer what the library
// keeps to itself, the transaction and so the fencing token, and which session the node is of. It
// saves asking for these after the create.
type birth struct {
	sent chan struct{} // closed when the request is on its way

	mu    sync.Mutex
	send  sync.Once
	czxid int64
	lease *lease // nil until the answer says that the node was made
}

func (b *birth) outcome() (czxid int64, l *lease) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.czxid, b.lease
}

// expect returns the birth of the node that will be asked for as path, which holds a GUID and so
// is asked for once at a time.
func (m *Monitor) expect(path string) *birth {
	b := &birth{sent: make(chan struct{})}
	m.births.Store(path, b)
	return b
}

func (m *Monitor) forget(path string) { m.births.Delete(path) }

// creating returns the expected birth that the request is, or nil.
func (m *Monitor) creating(packet []byte) *birth {
	const begin = createPath + 4
	if len(packet) < begin || binary.BigEndian.Uint32(packet[8:]) != opCreate {
		return nil
	}
	n := int(binary.BigEndian.Uint32(packet[createPath:]))
	if n > len(packet)-begin {
		return nil
	}
	b, _ := m.births.Load(string(packet[begin : begin+n]))
	if b == nil {
		return nil
	}
	return b.(*birth)
}

// answered takes the answer's transaction and error code.
func (b *birth) answered(czxid int64, code int32, l *lease) {
	if code != 0 {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.czxid, b.lease = czxid, l
}

// sight is the children of a lock's path as they were at one moment.
type sight struct {
	names []string
	err   error
}

// lookBehind asks for the children as soon as the create is on its way, so that the answer comes
// with the create's: on one connection ZooKeeper serves requests in order. over is closed when the
// create has returned. What is sent is empty where the create was never sent.
func (s *Session) lookBehind(dir string, b *birth, over <-chan struct{}) <-chan sight {
	early := make(chan sight, 1)
	if !s.admit() {
		close(early)
		return early
	}
	go func() {
		defer s.requests.Done()
		defer close(early)
		select {
		case <-b.sent:
			names, _, err := s.conn.Children(dir)
			early <- sight{names, err}
		case <-over:
		case <-s.ctx.Done(): // and the create is not sent at all
		}
	}()
	return early
}
