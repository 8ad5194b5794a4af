package conn

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// packet returns a packet with its length before it.
func packet(fields ...any) []byte {
	var b bytes.Buffer
	for _, f := range fields {
		_ = binary.Write(&b, binary.BigEndian, f) // a buffer takes all
	}
	return append(binary.BigEndian.AppendUint32(nil, uint32(b.Len())), b.Bytes()...)
}

// However the bytes come in, the library is shown all but the zxids of the answers.
func TestLibrarySeesNoZxidOfAnswers(t *testing.T) {
	const xid, body = int32(7), int64(0x0807060504030201)
	greeting := packet(int32(0), int32(6000), int64(42), make([]byte, 16), false)
	for _, step := range []int{1, 3, 5, 1000} {
		t.Run(fmt.Sprintf("%d bytes at a time", step), func(t *testing.T) {
			client, server := net.Pipe()
			m := NewMonitor(nil)
			w := m.monitor(client)
			m.newest = w
			stream := func(answer, event int64) []byte {
				return bytes.Join([][]byte{
					greeting,
					packet(xid, answer, int32(0), body),
					packet(int32(-1), event, int32(0), body), // an event
					packet(xid, int64(0), int32(0)),          // as an answer to an auth request
				}, nil)
			}
			go func() {
				for sent := stream(99, 98); len(sent) > 0; {
					n, err := server.Write(sent[:min(step, len(sent))])
					if err != nil {
						return
					}
					sent = sent[n:]
				}
				_ = server.Close()
			}()
			got, err := io.ReadAll(w)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(got, stream(0, 0)) {
				t.Errorf("the library reads %x, want %x", got, stream(0, 0))
			}
			if seen := m.zxid.Load(); seen != 99 {
				t.Errorf("zxid %d, want 99", seen)
			}
		})
	}
}

// The requests that inform the server what this client has seen say what it had seen before the
// handshake, whatever the library puts there and whatever has been answered since.
func TestServerIsToldOfWhatWasSeenBefore(t *testing.T) {
	client, server := net.Pipe()
	defer func() { _, _ = client.Close(), server.Close() }()
	m := NewMonitor(nil)
	m.zxid.Store(99)
	w := m.monitor(client)
	hello := func(zxid int64) []byte { return packet(int32(0), zxid, int32(6000), int64(42), make([]byte, 16)) }
	setWatches := func(zxid int64) []byte {
		return packet(int32(1), int32(opSetWatches), zxid, int32(0), int32(0), int32(0))
	}
	get := packet(int32(2), int32(4), int64(5), true)
	received := make(chan []byte)
	go func() {
		for _, p := range [][]byte{hello(0), setWatches(0), get} {
			b := make([]byte, len(p))
			_, _ = io.ReadFull(server, b) // missing bytes show in the comparison
			received <- b
		}
	}()
	write := func(sent, want []byte) {
		t.Helper()
		before := bytes.Clone(sent)
		if _, err := w.Write(sent); err != nil {
			t.Fatal(err)
		}
		if got := <-received; !bytes.Equal(got, want) {
			t.Errorf("the server reads %x, want %x", got, want)
		}
		if !bytes.Equal(sent, before) {
			t.Error("the library's packet was changed")
		}
	}
	write(hello(5), hello(99))
	w.clock = &Clock{ID: 42}
	m.zxid.Store(100)
	write(setWatches(100), setWatches(99))
	write(get, get)
}

// Only an answer that needed the leader proves that the session is alive: a server that is cut off from its ensemble
// goes on answering pings and reads, and refuses writes by itself if it throttles or checks permissions early.
func TestOnlyTheLeaderProvesLife(t *testing.T) {
	client, server := net.Pipe()
	defer func() { _, _ = client.Close(), server.Close() }()
	m := NewMonitor(nil)
	w := m.monitor(client)
	w.clock = &Clock{ID: 42}
	m.newest, m.clock = w, w.clock
	ping := packet(int32(pingXid), int32(11))
	sync := packet(int32(pingXid), int32(opSync), int32(1), []byte("/"))
	read := packet(int32(1), int32(4), int32(1), []byte("/"), false)
	write := packet(int32(2), int32(2), int32(1), []byte("/"), int32(-1))
	for _, step := range []struct {
		name       string
		sent, want []byte
		xid, code  int32
		proves     bool
	}{
		{"a ping becomes a sync", ping, sync, pingXid, 0, true},
		{"a read", read, read, 1, 0, false},
		{"a write", write, write, 2, 0, true},
		{"a throttled ping", ping, sync, pingXid, -127, false},
		{"a throttled write", write, write, 2, -127, false},
		{"a write without permission", write, write, 2, -102, false},
	} {
		received := make(chan []byte)
		go func() {
			b := make([]byte, len(step.want))
			_, _ = io.ReadFull(server, b) // missing bytes show in the comparison
			received <- b
		}()
		if n, err := w.Write(step.sent); err != nil || n != len(step.sent) {
			t.Errorf("%s: wrote %d of %d bytes, %v", step.name, n, len(step.sent), err)
		}
		if got := <-received; !bytes.Equal(got, step.want) {
			t.Errorf("%s: the server reads %x, want %x", step.name, got, step.want)
		}
		w.clock.heard.Store(-1)
		w.follow(packet(step.xid, int64(7), step.code))
		if proves := w.clock.heard.Load() >= 0; proves != step.proves {
			t.Errorf("%s proves life: %v", step.name, proves)
		}
	}
}

// A connection's deadline is moved only if it is later than the next one, or much earlier.
func TestDeadlinesMoveRarely(t *testing.T) {
	var (
		d     deadline
		moves []time.Duration
		now   = time.Now()
	)
	for _, after := range []time.Duration{16, 16, 17, 60, 18, 1, 5} {
		err := d.set(now.Add(after*time.Minute), func(t time.Time) error {
			moves = append(moves, t.Sub(now)/time.Minute)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := d.set(time.Time{}, nil); err != nil {
			t.Fatal(err)
		}
	}
	if want := []time.Duration{16, 60, 18, 1, 5}; !slices.Equal(moves, want) {
		t.Errorf("moved to %d minutes, want %d", moves, want)
	}
}

// However many handshakes were in vain, the next one has the session timeout at most: the server may hang that it is
// with, while the others serve again.
func TestHandshakesEndWithinASessionTimeout(t *testing.T) {
	const timeout = 6 * time.Second
	synctest.Test(t, func(t *testing.T) { // time stands still
		for refused, want := range map[int32]time.Duration{
			1: timeout / 3, 2: timeout * 2 / 3, 3: timeout, 4: timeout, 7: timeout, 1000: timeout,
		} {
			client := &readDeadline{}
			m := NewMonitor(nil)
			m.refused.Store(refused)
			if err := m.monitor(client).SetReadDeadline(time.Now().Add(10 * timeout * 2 / 3)); err != nil { // the library's
				t.Fatal(err)
			}
			if got := time.Until(client.at); got != want {
				t.Errorf("after %d in vain, a handshake has %s, want %s", refused, got, want)
			}
		}
	})
}

// readDeadline is a connection that keeps the deadline of its reads.
type readDeadline struct {
	net.Conn
	at time.Time
}

func (c *readDeadline) SetReadDeadline(t time.Time) error {
	c.at = t
	return nil
}
