package locktest_test

import (
	"encoding/binary"
	"sync"
	"testing"

	"github.com/Shopify/toxiproxy/v2/stream"
	"github.com/Shopify/toxiproxy/v2/toxics"
)

// direction is a way through a proxy, by toxiproxy's name for it.
type direction string

const (
	requests direction = "upstream"
	answers  direction = "downstream"
)

// Operations of ZooKeeper's protocol.
const (
	opHello  = 0  // the handshake, which has no number
	opCreate = 15 // create2, of queue nodes
	opDelete = 2
	opPing   = 11
	opEvent  = -1
)

// frame is one packet on its way: a request, an answer, or a watch event.
type frame struct {
	direction direction
	op        int32 // of an answer: the operation of its request
	xid       int32
}

// script decides for each packet that passes a proxy whether the connection breaks before it gets
// through. It serves all connections of one client, which counts its requests over all of them.
type script struct {
	name string

	mu  sync.Mutex
	ops map[int32]int32 // of unanswered requests, by xid
	cut func(frame) bool
}

var (
	scripts     = map[string]*script{}
	scriptsLock sync.Mutex
)

func newScript(t *testing.T) *script {
	s := &script{name: t.Name(), ops: map[int32]int32{}}
	scriptsLock.Lock()
	defer scriptsLock.Unlock()
	for scripts[s.name] != nil {
		s.name += "'"
	}
	scripts[s.name] = s
	return s
}

// cutAt breaks the connection before each packet for which decide returns true. Nil lets all through.
func (s *script) cutAt(decide func(frame) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cut = decide
}

// cutOnce breaks the connection before the first such packet, and closes the channel then.
func (s *script) cutOnce(decide func(frame) bool) <-chan struct{} {
	done := make(chan struct{})
	s.cutAt(func(f frame) bool {
		select {
		case <-done:
			return false
		default:
		}
		if !decide(f) {
			return false
		}
		close(done)
		return true
	})
	return done
}

// breaks says whether the packet ends its connection. first says that it is the first of its
// direction on its connection, which is the handshake.
func (s *script) breaks(d direction, packet []byte, first bool) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	f := frame{direction: d, op: opHello}
	if !first {
		f.xid = int32(binary.BigEndian.Uint32(packet[4:]))
		switch {
		case f.xid == -1:
			f.op = opEvent
		case f.xid == -2:
			f.op = opPing
		case d == requests:
			f.op = int32(binary.BigEndian.Uint32(packet[8:]))
			s.ops[f.xid] = f.op
		default:
			f.op = s.ops[f.xid]
			delete(s.ops, f.xid)
		}
	}
	return s.cut != nil && s.cut(f)
}

// frames is the toxic that cuts the stream into packets and asks the script about each.
type frames struct {
	Script    string    `json:"script"`
	Direction direction `json:"direction"`
}

const scriptToxic = "zookeeper-frames"

func init() { toxics.Register(scriptToxic, new(frames)) }

// buffered is the part of a packet that has arrived so far.
type buffered struct {
	bytes  []byte
	greets bool // the handshake has passed
}

// NewState makes toxiproxy keep a buffer for each connection.
func (*frames) NewState() any { return new(buffered) }

// Pipe passes whole packets.
func (f *frames) Pipe(stub *toxics.ToxicStub) {
	scriptsLock.Lock()
	s := scripts[f.Script]
	scriptsLock.Unlock()
	b := stub.State.(*buffered)
	for {
		select {
		case <-stub.Interrupt:
			return
		case chunk := <-stub.Input:
			if chunk == nil {
				stub.Close()
				return
			}
			b.bytes = append(b.bytes, chunk.Data...)
			for {
				packet := b.next()
				if packet == nil {
					break
				}
				if s.breaks(f.Direction, packet, !b.greets) {
					stub.Close()
					for range stub.Input { // until the source is closed too
					}
					return
				}
				b.greets = true
				stub.Output <- &stream.StreamChunk{Data: packet, Timestamp: chunk.Timestamp}
			}
		}
	}
}

// next takes one whole packet with its length from the front, or returns nil.
func (b *buffered) next() []byte {
	if len(b.bytes) < 4 {
		return nil
	}
	n := 4 + int(binary.BigEndian.Uint32(b.bytes))
	if len(b.bytes) < n {
		return nil
	}
	packet := append([]byte(nil), b.bytes[:n]...)
	b.bytes = b.bytes[n:]
	return packet
}
