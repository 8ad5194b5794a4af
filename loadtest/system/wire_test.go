package system

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"orderstock/pkg/servers/serverstest"
)

// echo answers each line with itself and counts them.
func echo(t *testing.T) (addr string, lines *atomic.Int32) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	lines = new(atomic.Int32)
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer func() { _ = conn.Close() }()
				for r := bufio.NewReader(conn); ; {
					line, err := r.ReadString('\n')
					if err != nil {
						return
					}
					lines.Add(1)
					_, _ = io.WriteString(conn, line)
				}
			}()
		}
	}()
	return l.Addr().String(), lines
}

// say sends a line over a new connection and returns the answer.
func say(addr string, wait time.Duration) (string, error) {
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		return "", err
	}
	defer func() { _ = conn.Close() }()
	if err := conn.SetDeadline(time.Now().Add(wait)); err != nil {
		return "", err
	}
	if _, err := io.WriteString(conn, "hello\n"); err != nil {
		return "", err
	}
	return bufio.NewReader(conn).ReadString('\n')
}

func TestWire(t *testing.T) {
	for name, c := range map[string]struct {
		breakIt func(*Wire) error
		arrives bool
		within  time.Duration // the answer's least time; 0: there is none
	}{
		"whole":          {func(*Wire) error { return nil }, true, time.Nanosecond},
		"replies lost":   {(*Wire).LoseReplies, true, 0},
		"requests lost":  {(*Wire).LoseRequests, false, 0},
		"slow":           {func(w *Wire) error { return w.Slow(50 * time.Millisecond) }, true, 80 * time.Millisecond},
		"reset":          {(*Wire).Reset, false, 0},
		"cut":            {(*Wire).Cut, false, 0},
		"reply and slow": {func(w *Wire) error { _ = w.Slow(time.Millisecond); return w.LoseReplies() }, true, 0},
	} {
		t.Run(name, func(t *testing.T) {
			addr, lines := echo(t)
			w, err := NewWire("test", addr)
			if err != nil {
				t.Fatal(err)
			}
			defer w.Close()
			if err := c.breakIt(w); err != nil {
				t.Fatal(err)
			}
			if n := w.Struck(); n != 0 {
				t.Errorf("struck %d times before anything was sent", n)
			}
			began := time.Now()
			wait := 300 * time.Millisecond
			if c.within > 0 {
				wait = 10 * time.Second
			}
			answer, err := say(w.Addr(), wait)
			if answered := err == nil && answer == "hello\n"; answered != (c.within > 0) || time.Since(began) < c.within {
				t.Errorf("answer %q %v after %s", answer, err, time.Since(began))
			}
			if c.arrives {
				serverstest.Eventually(t, "the line arrives, maybe after its answer is given up", func() bool {
					return lines.Load() > 0
				})
			}
			if arrived := lines.Load() == 1; arrived != c.arrives {
				t.Errorf("%d lines arrived", lines.Load())
			}
			if name != "whole" && name != "cut" { // a connection that is refused is not seen
				awaitStruck(t, w, 1)
			}
			if err := w.Mend(context.Background()); err != nil {
				t.Fatal(err)
			}
			struck := w.Struck()
			if answer, err := say(w.Addr(), 10*time.Second); err != nil || answer != "hello\n" {
				t.Errorf("after mending: %q %v", answer, err)
			}
			if n := w.Struck(); n != struck {
				t.Errorf("struck %d times, and %d after mending", struck, n)
			}
		})
	}
}

// awaitStruck waits until the wire's faults have struck n times.
func awaitStruck(t *testing.T, w *Wire, n int) {
	t.Helper()
	serverstest.Eventually(t, fmt.Sprintf("%d strikes: connections end a little later", n), func() bool {
		return w.Struck() >= n
	})
}

// TestWireCountsClosedConnections: the connections that are open when it is cut or reset.
func TestWireCountsClosedConnections(t *testing.T) {
	for name, breakIt := range map[string]func(*Wire) error{"cut": (*Wire).Cut, "reset": (*Wire).Reset} {
		t.Run(name, func(t *testing.T) {
			addr, _ := echo(t)
			w, err := NewWire("test", addr)
			if err != nil {
				t.Fatal(err)
			}
			defer w.Close()
			for range 2 {
				conn, err := net.Dial("tcp", w.Addr())
				if err != nil {
					t.Fatal(err)
				}
				defer func() { _ = conn.Close() }()
				if _, err := io.WriteString(conn, "hello\n"); err != nil {
					t.Fatal(err)
				}
				if _, err := bufio.NewReader(conn).ReadString('\n'); err != nil { // the wire knows the connection
					t.Fatal(err)
				}
			}
			if err := breakIt(w); err != nil {
				t.Fatal(err)
			}
			awaitStruck(t, w, 2)
			if n := w.Struck(); n != 2 {
				t.Errorf("struck %d times, want 2", n)
			}
		})
	}
}

func TestDuplicator(t *testing.T) {
	var arrived atomic.Int32
	var bodies [3]string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		bodies[arrived.Add(1)-1] = r.Method + " " + r.URL.Path + " " + r.Header.Get("Authorization") + " " + string(body)
	}))
	defer server.Close()
	d, err := newDuplicator(strings.TrimPrefix(server.URL, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	send := func() {
		t.Helper()
		req, err := http.NewRequest(http.MethodPut, "http://"+d.addr+"/v1/operations/7", strings.NewReader("items"))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer x")
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
	}
	send()
	d.Switch(true)
	send()
	d.close() // waits for the copy
	if arrived.Load() != 3 || d.Doubled() != 1 {
		t.Fatalf("%d requests arrived, %d doubled; want 3 and 1", arrived.Load(), d.Doubled())
	}
	for _, body := range bodies {
		if body != "PUT /v1/operations/7 Bearer x items" {
			t.Errorf("arrived as %q", body)
		}
	}
}

// A wire gets its port back, also when somebody has a copy of its socket for a moment, as a process that is being
// started has; and no outgoing connection can take the port.
func TestMendWaitsForThePort(t *testing.T) {
	t.Parallel()
	addr, _ := echo(t)
	w, err := NewWire("w", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if _, port, _ := net.SplitHostPort(w.Addr()); len(port) != 5 || port >= "32768" {
		t.Errorf("the port %s is one of outgoing connections", port)
	}
	if err := w.Cut(); err != nil {
		t.Fatal(err)
	}
	other, err := net.Listen("tcp", w.Addr())
	if err != nil {
		t.Fatal(err)
	}
	time.AfterFunc(100*time.Millisecond, func() { _ = other.Close() })
	if err := w.Mend(t.Context()); err != nil || w.Broken() {
		t.Errorf("mended with %v", err)
	}
}
