package mysqldb

import (
	"net"
	"testing"
)

// Connections to a member that is the primary no longer are closed, so that nobody goes on waiting for its answer.
func TestDropClosesTheConnections(t *testing.T) {
	t.Parallel()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	m := &member{conns: map[*memberConn]struct{}{}}
	conn, err := m.dial(t.Context(), "tcp", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	read := make(chan error, 1)
	go func() {
		_, err := conn.Read(make([]byte, 1))
		read <- err
	}()
	m.drop()
	if err := <-read; err == nil {
		t.Error("read from a connection that was dropped")
	}
	if len(m.conns) > 0 {
		t.Errorf("%d connections are kept", len(m.conns))
	}
	if err := conn.Close(); err == nil {
		t.Error("closed a connection twice")
	}
}
