package serverstest

import (
	"bytes"
	"errors"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"testing"
)

// Proxy is a TCP proxy of a server, which a test can cut. All methods may be called concurrently.
type Proxy struct {
	Addr     string
	Accepted atomic.Int64 // the number of connections so far

	listener net.Listener
	server   string
	cut      func(sent []byte) bool
	running  sync.WaitGroup

	mu    sync.Mutex
	text  []byte // drop after this was sent; nil for never
	conns []net.Conn
}

// NewProxy starts a proxy of the server at addr that ends with the test. If cut is not nil, it sees everything that
// clients send, before the server does. If it returns true, the connection is closed when the server replies, so that
// the client never gets the reply. Connections call cut concurrently.
func NewProxy(t testing.TB, addr string, cut func(sent []byte) bool) *Proxy {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &Proxy{Addr: listener.Addr().String(), listener: listener, server: addr, cut: cut}
	p.running.Go(p.accept)
	t.Cleanup(func() {
		p.Drop()
		p.running.Wait()
	})
	return p
}

// DropAfter passes on the next data that contains text, and calls Drop when the server replies to it. No client gets
// that reply.
func (p *Proxy) DropAfter(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.text = []byte(text)
}

// Drop closes all connections and refuses new ones.
func (p *Proxy) Drop() {
	_ = p.listener.Close()
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.conns {
		_ = c.Close()
	}
}

func (p *Proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		p.Accepted.Add(1)
		server, err := net.Dial("tcp", p.server)
		if err != nil {
			_ = client.Close()
			continue
		}
		p.mu.Lock()
		p.conns = append(p.conns, client, server)
		p.mu.Unlock()
		var cut, drop atomic.Bool
		p.pass(server, client, func(sent []byte) error {
			p.mu.Lock()
			if p.text != nil && bytes.Contains(sent, p.text) {
				drop.Store(true)
			}
			p.mu.Unlock()
			if p.cut != nil && p.cut(sent) {
				cut.Store(true)
			}
			return nil
		})
		p.pass(client, server, func([]byte) error {
			if drop.Load() {
				p.Drop()
			}
			if drop.Load() || cut.Load() {
				return io.ErrClosedPipe
			}
			return nil
		})
	}
}

// pass copies from src to dst until see returns an error, and closes both then.
func (p *Proxy) pass(dst, src net.Conn, see func([]byte) error) {
	p.running.Go(func() {
		defer func() { _ = errors.Join(src.Close(), dst.Close()) }()
		_, _ = io.Copy(writer(func(b []byte) (int, error) {
			if err := see(b); err != nil {
				return 0, err
			}
			return dst.Write(b)
		}), src)
	})
}

type writer func([]byte) (int, error)

func (w writer) Write(b []byte) (int, error) { return w(b) }
