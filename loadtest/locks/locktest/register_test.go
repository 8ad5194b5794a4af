package locktest_test

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"
	"time"
)

// register is a store that remembers the greatest token it has seen and refuses a smaller one, as a
// fencing token requires. It notes each attempt in the order of arrival.
type register struct {
	listener net.Listener

	mu       sync.Mutex
	greatest string
	attempts []attempt
}

type attempt struct {
	token    string
	accepted bool
}

func newRegister(t *testing.T) *register {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r := &register{listener: listener}
	var served sync.WaitGroup
	served.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			served.Go(func() {
				defer func() { _ = conn.Close() }()
				_ = conn.SetDeadline(time.Now().Add(30 * time.Second))
				token, err := bufio.NewReader(conn).ReadString('\n')
				if err != nil {
					return
				}
				fmt.Fprintln(conn, r.take(strings.TrimSpace(token)))
			})
		}
	})
	t.Cleanup(func() {
		_ = listener.Close()
		served.Wait()
	})
	return r
}

func (r *register) addr() string { return r.listener.Addr().String() }

func (r *register) take(token string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	accepted := token >= r.greatest
	r.greatest = max(r.greatest, token)
	r.attempts = append(r.attempts, attempt{token, accepted})
	return accepted
}

func (r *register) log() []attempt {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]attempt(nil), r.attempts...)
}

// write offers a write with the token; that it is refused is no error.
func write(ctx context.Context, addr, token string) error {
	conn, err := (&net.Dialer{Timeout: 5 * time.Second}).DialContext(ctx, "tcp", addr)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	_ = conn.SetDeadline(time.Now().Add(5 * time.Second))
	if _, err := fmt.Fprintln(conn, token); err != nil {
		return err
	}
	_, err = bufio.NewReader(conn).ReadString('\n')
	return err
}
