package fire

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
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
// http.Transport's, which passes each call through two more goroutines.
type conn struct {
	host    string // host:port
	prefix  string // path prefix of the API
	timeout time.Duration

	tcp  *net.TCPConn
	in   *bufio.Reader
	out  []byte
	body bytes.Buffer
}

// mostKept is how many bytes for an answer a connection keeps for its next one. A page of orders has far more.
const mostKept = 16 << 10

// mostSends bounds how often a call is sent to a server that closes its connections before it reads the call.
const mostSends = 3

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
	return &conn{host: host, prefix: strings.TrimSuffix(u.EscapedPath(), "/"), timeout: timeout}
}

// request is a request; header and body are sent as they are.
type request struct {
	method, path string
	header       []byte // whole lines, each with its CRLF
	body         []byte
	media        string // of the body; application/json if it is empty
	once         bool   // it must not be sent again: it has no key
}

// answer is valid until the connection's next call.
type answer struct {
	code     int
	resent   bool // the call was sent again
	replayed bool
	location string
	// requestID is the header X-Request-Id.
	requestID string
	hinted    bool // it says when to repeat the call
	// after is how long to wait before the call is repeated; 0 if the answer does not say.
	after time.Duration
	body  []byte
}

// errDial means that connecting failed: nothing reached the server.
var errDial = errors.New("dial")

// errUnread means that the server closed the connection before it read the call.
var errUnread = errors.New("closed before the call was read")

// do sends r and reads the whole answer within the timeout. A server that stops closes its connections, and a call that
// it has not read is sent again on another one, as Go's transport does; a call that must not be is sent on a new one.
// An error closes the connection; the next call opens a new one.
func (c *conn) do(ctx context.Context, r request) (a answer, err error) {
	deadline := time.Now().Add(c.timeout)
	for sent := 0; ; sent++ {
		if r.once {
			c.close()
		}
		if err := c.dial(ctx, deadline); err != nil {
			return answer{resent: sent > 0}, err
		}
		a, keep, err := c.exchange(deadline, r)
		if err != nil || !keep {
			c.close()
		}
		a.resent = sent > 0
		if r.once || sent+1 == mostSends || !errors.Is(err, errUnread) {
			return a, err
		}
	}
}

// dial connects, unless the connection is open.
func (c *conn) dial(ctx context.Context, deadline time.Time) error {
	if c.tcp != nil {
		return nil
	}
	dialer := net.Dialer{Deadline: deadline}
	tcp, err := dialer.DialContext(ctx, "tcp", c.host)
	if err != nil {
		return fmt.Errorf("%w %s: %w", errDial, c.host, err)
	}
	c.tcp = tcp.(*net.TCPConn)
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
		return answer{}, false, fmt.Errorf("send request: %w", errors.Join(err, c.unread(err)))
	}
	if _, err := c.in.Peek(1); err != nil {
		return answer{}, false, fmt.Errorf("await answer: %w", errors.Join(err, c.unread(err)))
	}
	var asked *http.Request // nil means GET
	if r.method == http.MethodHead {
		asked = &http.Request{Method: r.method}
	}
	resp, err := http.ReadResponse(c.in, asked)
	if err != nil {
		return answer{}, false, fmt.Errorf("read answer: %w", err)
	}
	if c.body.Cap() > mostKept {
		c.body = bytes.Buffer{}
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
		location: resp.Header.Get("Location"), requestID: resp.Header.Get("X-Request-Id"),
		body: c.body.Bytes(),
	}
	if seconds, err := strconv.Atoi(resp.Header.Get("Retry-After")); err == nil && seconds >= 0 {
		a.hinted = seconds > 0
		a.after = time.Duration(seconds) * time.Second
	}
	return a, !resp.Close, nil
}

// unread returns errUnread if err, before the first byte of an answer, means that the server has not read the call: it
// closed the connection although there was more to read, or before the call arrived.
func (c *conn) unread(err error) error {
	if errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE) || errors.Is(err, io.EOF) && !arrived(c.tcp) {
		return errUnread
	}
	return nil
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
		b = append(b, "Content-Type: "...)
		b = append(b, cmp.Or(r.media, "application/json")...)
		b = append(b, "\r\n"...)
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
