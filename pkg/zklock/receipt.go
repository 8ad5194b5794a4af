package zklock

import (
	"encoding/binary"
	"sync"
)

const (
	opCreate = 1
	opDelete = 2
	// writePath is where the path of a create or delete request begins with its length: after the
	// packet's length, the xid and the operation.
	writePath = 4 + 4 + 4
)

// receipt is what the wire tells of one create or delete: when it was sent, and of its answer what
// the library keeps to itself, the transaction and which session it was answered in. Of a create
// that is the fencing token and whose the node is; it saves asking for these.
type receipt struct {
	sent chan struct{} // closed when the request is on its way

	mu    sync.Mutex
	send  sync.Once
	zxid  int64
	lease *lease // nil until the answer says that it was done
}

func (r *receipt) outcome() (zxid int64, l *lease) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.zxid, r.lease
}

// expect returns the receipt of the write that will be asked for with path, which holds a GUID and
// so is asked for once at a time.
func (m *Monitor) expect(path string) *receipt {
	r := &receipt{sent: make(chan struct{})}
	m.receipts.Store(path, r)
	return r
}

func (m *Monitor) forget(path string) { m.receipts.Delete(path) }

// receiptOf returns the receipt that is expected of the request, or nil.
func (m *Monitor) receiptOf(packet []byte) *receipt {
	const begin = writePath + 4
	if len(packet) < begin {
		return nil
	}
	if op := binary.BigEndian.Uint32(packet[8:]); op != opCreate && op != opDelete {
		return nil
	}
	n := int(binary.BigEndian.Uint32(packet[writePath:]))
	if n > len(packet)-begin {
		return nil
	}
	r, _ := m.receipts.Load(string(packet[begin : begin+n]))
	if r == nil {
		return nil
	}
	return r.(*receipt)
}

// answered takes the answer's transaction and error code.
func (r *receipt) answered(zxid int64, code int32, l *lease) {
	if code != 0 {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.zxid, r.lease = zxid, l
}

// sight is the children of a lock's path as they were at one moment.
type sight struct {
	names []string
	err   error
}

// lookBehind asks for the children as soon as the create is on its way, so that the answer comes
// with the create's: on one connection ZooKeeper serves requests in order. over is closed when the
// create has returned. What is sent is empty where the create was never sent.
func (s *Session) lookBehind(dir string, r *receipt, over <-chan struct{}) <-chan sight {
	early := make(chan sight, 1)
	if !s.admit() {
		close(early)
		return early
	}
	go func() {
		defer s.requests.Done()
		defer close(early)
		select {
		case <-r.sent:
			names, _, err := s.conn.Children(dir)
			early <- sight{names, err}
		case <-over:
		case <-s.ctx.Done(): // and the create is not sent at all
		}
	}()
	return early
}
