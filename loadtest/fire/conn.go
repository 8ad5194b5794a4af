package fire

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	"orderstock/loadtest/history"
)

// conn is one keep-alive HTTP/1.1 connection, used by one goroutine at a time. The load tester shares its cores with
// the services that it measures. A connection that its own goroutine writes and reads costs about a third of
// http.Transport's, which passes each call through two more goroutines. A request is sent once and never repeated.
type conn struct {
	base    string // the URL as configured
	host    string // host:port
	prefix  string // path prefix of the API
	timeout time.Duration

	tcp  net.Conn
	in   *bufio.Reader
	out  []byte
	body bytes.Buffer
	used time.Time // when the last answer was read
}

// keptIdle is how long a connection may be idle and still be used. A server closes idle connections, though later, and
// a request that meets the end of its connection would look like a lost answer.
const keptIdle = 5 * time.Second

// newConn returns a conn that connects on its first call. Config must have validated base.
func newConn(base string, timeout time.Duration) *conn {
	u, err := url.Parse(base)
	if err != nil {
		panic(err) // validate has parsed it
	}
	host := u.Host
	if u.Port() == "" {
		host = net.JoinHostPort(u.Hostname(), "80")
	}
	return &conn{base: base, host: host, prefix: strings.TrimSuffix(u.EscapedPath(), "/"), timeout: timeout}
}

// request is a request; header and body are sent as they are.
type request struct {
	method, path string
	header       []byte // whole lines, each with its CRLF
	body         []byte
}

// answer is valid until the connection's next call.
type answer struct {
	code     int
	replayed bool
	location string
	// after is how long to wait before the call is repeated; 0 if the answer does not say.
	after time.Duration
	body  []byte
}

// errDial means that connecting failed: nothing reached the server.
var errDial = errors.New("dial")

// do sends r and reads the whole answer within the timeout. An error closes the connection; the next call opens a new
// one.
func (c *conn) do(ctx context.Context, r request) (answer, error) {
	deadline := time.Now().Add(c.timeout)
	if err := c.dial(ctx, deadline); err != nil {
		return answer{}, err
	}
	a, keep, err := c.exchange(deadline, r)
	if err != nil || !keep {
		c.close()
	}
	return a, err
}

// dial connects, unless the connection is open.
func (c *conn) dial(ctx context.Context, deadline time.Time) error {
	if c.tcp != nil && time.Since(c.used) > keptIdle {
		c.close()
	}
	if c.tcp != nil {
		return nil
	}
	dialer := net.Dialer{Deadline: deadline}
	tcp, err := dialer.DialContext(ctx, "tcp", c.host)
	if err != nil {
		return fmt.Errorf("%w %s: %w", errDial, c.host, err)
	}
	c.tcp, c.used = tcp, time.Now()
	if c.in == nil {
		c.in = bufio.NewReaderSize(tcp, 4096)
	} else {
		c.in.Reset(tcp)
	}
	return nil
}

func (c *conn) exchange(deadline time.Time, r request) (a answer, keep bool, err error) {
	if err := c.tcp.SetDeadline(deadline); err != nil {
		return answer{}, false, fmt.Errorf("set deadline: %w", err)
	}
	c.out = c.encode(c.out[:0], r)
	if _, err := c.tcp.Write(c.out); err != nil {
		return answer{}, false, fmt.Errorf("send request: %w", err)
	}
	resp, err := http.ReadResponse(c.in, nil)
	if err != nil {
		return answer{}, false, fmt.Errorf("read answer: %w", err)
	}
	c.body.Reset()
	_, err = c.body.ReadFrom(resp.Body)
	if e := resp.Body.Close(); err == nil {
		err = e
	}
	if err != nil {
		return answer{}, false, fmt.Errorf("read answer: %w", err)
	}
	a = answer{
		code:     resp.StatusCode,
		replayed: resp.Header.Get("Idempotency-Replayed") == "true",
		location: resp.Header.Get("Location"),
		body:     c.body.Bytes(),
	}
	if seconds, err := strconv.Atoi(resp.Header.Get("Retry-After")); err == nil && seconds > 0 {
		a.after = time.Duration(seconds) * time.Second
	}
	c.used = time.Now()
	return a, !resp.Close, nil
}

func (c *conn) encode(b []byte, r request) []byte {
	b = append(b, r.method...)
	b = append(b, ' ')
	b = append(b, c.prefix...)
	b = append(b, r.path...)
	b = append(b, " HTTP/1.1\r\nHost: "...)
	b = append(b, c.host...)
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

func (c *conn) close() {
	if c.tcp != nil {
		_ = c.tcp.Close() // the connection is dropped; its error does not matter
		c.tcp = nil
	}
}

func failureOf(err error) history.Failure {
	var timeout interface{ Timeout() bool }
	switch {
	case errors.Is(err, syscall.EMFILE), errors.Is(err, syscall.ENFILE), errors.Is(err, syscall.EADDRNOTAVAIL):
		return history.Unsent
	case errors.Is(err, errDial):
		return history.Refused
	case errors.Is(err, os.ErrDeadlineExceeded), errors.As(err, &timeout) && timeout.Timeout():
		return history.TimedOut
	default:
		return history.Broken
	}
}
