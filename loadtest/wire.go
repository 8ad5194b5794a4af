package loadtest

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"time"
)

// wire is one keep-alive HTTP/1.1 connection, used by one goroutine at a time.
// The load client shares its cores with the services that it measures, and a
// connection that its own goroutine writes and reads costs about a third of
// http.Transport's, which passes each call through two goroutines more.
// A request is sent once and never again by itself.
type wire struct {
	host    string // host:port
	prefix  string // path before the API's
	timeout time.Duration

	conn net.Conn
	in   *bufio.Reader
	out  []byte
	body []byte
}

func newWire(base string, timeout time.Duration) (*wire, error) {
	u, err := url.Parse(base)
	if err != nil {
		return nil, fmt.Errorf("read address: %w", err)
	}
	host := u.Host
	if u.Port() == "" {
		host = net.JoinHostPort(u.Hostname(), "80")
	}
	prefix := u.EscapedPath()
	if prefix == "/" {
		prefix = ""
	}
	return &wire{host: host, prefix: prefix, timeout: timeout}, nil
}

// request is what to send; header and body are ready for the wire.
type request struct {
	method, path string
	header       []byte // whole lines, each ended
	body         []byte
}

// answer is valid until the wire's next call.
type answer struct {
	code     int
	replayed bool
	body     []byte
}

// errDial means that no connection was made: nothing reached the server.
var errDial = errors.New("dial")

// do sends r and reads the whole answer within the timeout. After an error the
// connection is closed; the next call makes a new one.
func (w *wire) do(ctx context.Context, r request) (answer, error) {
	deadline := time.Now().Add(w.timeout)
	if w.conn == nil {
		dialer := net.Dialer{Deadline: deadline}
		conn, err := dialer.DialContext(ctx, "tcp", w.host)
		if err != nil {
			return answer{}, fmt.Errorf("%w %s: %w", errDial, w.host, err)
		}
		w.conn = conn
		if w.in == nil {
			w.in = bufio.NewReaderSize(conn, 4096)
		} else {
			w.in.Reset(conn)
		}
	}
	a, keep, err := w.exchange(deadline, r)
	if err != nil || !keep {
		w.close()
	}
	return a, err
}

func (w *wire) exchange(deadline time.Time, r request) (a answer, keep bool, err error) {
	if err := w.conn.SetDeadline(deadline); err != nil {
		return answer{}, false, fmt.Errorf("set deadline: %w", err)
	}
	w.out = w.encode(w.out[:0], r)
	if _, err := w.conn.Write(w.out); err != nil {
		return answer{}, false, fmt.Errorf("send request: %w", err)
	}
	resp, err := http.ReadResponse(w.in, nil)
	if err != nil {
		return answer{}, false, fmt.Errorf("read answer: %w", err)
	}
	w.body, err = readAll(w.body[:0], resp.Body)
	if e := resp.Body.Close(); err == nil {
		err = e
	}
	if err != nil {
		return answer{}, false, fmt.Errorf("read answer: %w", err)
	}
	a = answer{
		code:     resp.StatusCode,
		replayed: resp.Header.Get("Idempotency-Replayed") == "true",
		body:     w.body,
	}
	return a, !resp.Close, nil
}

func (w *wire) encode(b []byte, r request) []byte {
	b = append(b, r.method...)
	b = append(b, ' ')
	b = append(b, w.prefix...)
	b = append(b, r.path...)
	b = append(b, " HTTP/1.1\r\nHost: "...)
	b = append(b, w.host...)
	b = append(b, "\r\n"...)
	b = append(b, r.header...)
	if len(r.body) > 0 {
		b = append(b, "Content-Type: application/json\r\n"...)
	}
	b = append(b, "Content-Length: "...)
	b = strconv.AppendInt(b, int64(len(r.body)), 10)
	b = append(b, "\r\n\r\n"...)
	return append(b, r.body...)
}

func (w *wire) close() {
	if w.conn != nil {
		_ = w.conn.Close() // whatever it says, it is given up
		w.conn = nil
	}
}

// readAll is io.ReadAll into a buffer that is used again.
func readAll(b []byte, r io.Reader) ([]byte, error) {
	for {
		if len(b) == cap(b) {
			b = append(b, 0)[:len(b)]
		}
		n, err := r.Read(b[len(b):cap(b)])
		b = b[:len(b)+n]
		if errors.Is(err, io.EOF) {
			return b, nil
		}
		if err != nil {
			return b, err
		}
	}
}

func failureOf(err error) Failure {
	var timeout interface{ Timeout() bool }
	switch {
	case errors.Is(err, errDial):
		return Refused
	case errors.Is(err, os.ErrDeadlineExceeded), errors.As(err, &timeout) && timeout.Timeout():
		return TimedOut
	default:
		return Broken
	}
}
