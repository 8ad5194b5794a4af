package ordertest_test

import (
	"bytes"
	"io"
	"net"
	"sync"
	"testing"

	"github.com/go-sql-driver/mysql"
)

// link stands between a replica and MySQL. After cut, it passes on the next statement with the given text, waits until
// MySQL has answered it, and then drops all connections and refuses new ones. The replica never sees that answer.
type link struct {
	listener net.Listener
	server   string
	all      sync.WaitGroup

	mu      sync.Mutex
	text    []byte // cut after a statement with this; nil for never
	reached bool   // the statement was passed on
	conns   []net.Conn
}

// newLink returns a link to the server of the DSN, and the DSN that leads over it.
func newLink(t *testing.T, dsn string) (l *link, over string) {
	t.Helper()
	cfg, err := mysql.ParseDSN(dsn)
	must(t, err)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	l = &link{listener: listener, server: cfg.Addr}
	l.all.Go(l.accept)
	t.Cleanup(func() {
		l.drop()
		l.all.Wait()
	})
	cfg.Addr = listener.Addr().String()
	return l, cfg.FormatDSN()
}

func (l *link) cutAfter(text string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.text = []byte(text)
}

func (l *link) accept() {
	for {
		replica, err := l.listener.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("tcp", l.server)
		if err != nil {
			_ = replica.Close()
			continue
		}
		l.mu.Lock()
		l.conns = append(l.conns, replica, server)
		l.mu.Unlock()
		l.all.Go(func() {
			_, _ = io.Copy(server, io.TeeReader(replica, writer(l.sent)))
			_ = server.Close()
		})
		l.all.Go(func() {
			_, _ = io.Copy(replica, io.TeeReader(server, writer(l.answered)))
			_ = replica.Close()
		})
	}
}

// sent sees the replica's data before the server does.
func (l *link) sent(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.reached = l.reached || l.text != nil && bytes.Contains(b, l.text)
	return len(b), nil
}

// answered sees the server's data before the replica does.
func (l *link) answered(b []byte) (int, error) {
	l.mu.Lock()
	cut := l.reached
	l.mu.Unlock()
	if cut {
		l.drop()
		return 0, io.ErrClosedPipe
	}
	return len(b), nil
}

func (l *link) drop() {
	_ = l.listener.Close()
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, c := range l.conns {
		_ = c.Close()
	}
}

type writer func([]byte) (int, error)

func (w writer) Write(b []byte) (int, error) { return w(b) }
