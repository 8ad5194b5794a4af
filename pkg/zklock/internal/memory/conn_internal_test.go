package memory

import (
	"net"
	"testing"
	"time"
)

// A session that has moved to another connection makes nothing by requests that arrive late on the one before.
func TestLateRequest(t *testing.T) {
	server, late, next := New(), conn{}, conn{}
	defer server.Close()
	for _, c := range []*conn{&late, &next} {
		client, end := net.Pipe()
		defer func() { _ = client.Close() }()
		*c = conn{Conn: end, server: server, delay: func() time.Duration { return 0 }, wake: make(chan struct{}, 1)}
	}
	hello := func(id int64, secret []byte) *reader {
		var w writer
		w.int32(0)
		w.int64(0)
		w.int32(10_000)
		w.int64(id)
		w.bytes(secret)
		return &reader{rest: w.packet()[4:]}
	}
	if !late.locked(late.hello, hello(0, make([]byte, 16))) {
		t.Fatal("no session")
	}
	if !next.locked(next.hello, hello(late.session.id, late.session.secret[:])) {
		t.Fatal("the session did not move")
	}
	if late.locked(func(*reader) bool { t.Error("a late request was handled"); return true }, &reader{}) {
		t.Error("the connection before goes on")
	}
}
