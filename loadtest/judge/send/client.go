// Package send sends a shop's requests: those of buyers and resets by a client with cookies, and orders over plain
// connections, so that several can arrive at the same moment.
package send

import (
	"compress/gzip"
	"compress/zlib"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"orderstock/loadtest/judge/shop"
)

// Sender sends requests to this machine and the hosts that the user allows: by HTTP/1.1, or by HTTP/2 if the file or
// the server demands it. It is safe for concurrent use.
type Sender struct {
	f         *shop.File
	hosts     []string
	timeout   time.Duration
	transport *http.Transport
	demanding sync.Map // the addresses of servers that speak nothing but HTTP/2
}

// New returns a Sender for the shop of a file.
func New(f *shop.File, hosts []string) *Sender {
	s := &Sender{f: f, hosts: hosts, timeout: time.Duration(f.Timeout)}
	var protocols http.Protocols
	protocols.SetHTTP1(!f.HTTP2)
	protocols.SetHTTP2(true)
	protocols.SetUnencryptedHTTP2(f.HTTP2)
	s.transport = &http.Transport{
		DialContext: s.dial, DialTLSContext: s.dialTLS, Protocols: &protocols, MaxIdleConnsPerHost: 64,
		DisableCompression: true,
	}
	return s
}

// Close closes the idle connections.
func (s *Sender) Close() { s.transport.CloseIdleConnections() }

// ErrNotSent means that a request did not reach the service as a whole, so the service did not execute it.
var ErrNotSent = errors.New("not sent")

func (s *Sender) dial(ctx context.Context, network, address string) (net.Conn, error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNotSent, err)
	}
	if !shop.Allowed(host, s.hosts) {
		return nil, fmt.Errorf("%w: %s is not this machine; to judge it all the same, give --host %s", ErrNotSent, host, host)
	}
	conn, err := new(net.Dialer).DialContext(ctx, network, address)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNotSent, err)
	}
	return conn, nil
}

// The names of the versions of HTTP in TLS.
const (
	http1 = "http/1.1"
	http2 = "h2"
)

// dialTLS connects with TLS for HTTP/1.1, or for HTTP/2 if that is demanded.
func (s *Sender) dialTLS(ctx context.Context, network, address string) (net.Conn, error) {
	if _, demands := s.demanding.Load(address); !demands && !s.f.HTTP2 {
		conn, err := s.handshake(ctx, network, address, http1)
		if err == nil || !strings.Contains(err.Error(), notSpoken) {
			return conn, err
		}
		s.demanding.Store(address, true)
	}
	return s.handshake(ctx, network, address, http2)
}

// notSpoken is in the error of a server that speaks no version that it is offered.
const notSpoken = "no application protocol"

var errNotHTTP2 = errors.New("the service does not speak HTTP/2: leave http2: true out of the file")

func (s *Sender) handshake(ctx context.Context, network, address, version string) (net.Conn, error) {
	conn, err := s.dial(ctx, network, address)
	if err != nil {
		return nil, err
	}
	host, _, _ := net.SplitHostPort(address) // dial has done it
	secure := tls.Client(conn, &tls.Config{
		ServerName: host, NextProtos: []string{version}, InsecureSkipVerify: s.f.Insecure, //nolint:gosec // as its user says
	})
	err = secure.HandshakeContext(ctx)
	if err == nil && (version == http1 || secure.ConnectionState().NegotiatedProtocol == http2) {
		return secure, nil
	}
	_ = conn.Close() // nothing was sent
	if _, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		err = fmt.Errorf("%w; insecure: true in the file accepts it", err)
	}
	if _, ok := errors.AsType[tls.RecordHeaderError](err); ok {
		err = fmt.Errorf("%w; the service does not speak https: write target: http://%s", err, address)
	}
	if version == http2 && (err == nil || strings.Contains(err.Error(), notSpoken)) {
		err = errNotHTTP2
	}
	return nil, fmt.Errorf("%w: %w", ErrNotSent, err)
}

// Never reports whether an error of a request comes again each time: a certificate that is not accepted, or a service
// that does not speak https.
func Never(err error) bool {
	_, refused := errors.AsType[*tls.CertificateVerificationError](err)
	_, plain := errors.AsType[tls.RecordHeaderError](err)
	return refused || plain
}

// Connect connects to the address, with TLS if it is https, and sends no request.
func (s *Sender) Connect(ctx context.Context, u *url.URL) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	if u.Scheme == "https" {
		return s.dialTLS(ctx, "tcp", hostPort(u))
	}
	return s.dial(ctx, "tcp", hostPort(u))
}

// Reach returns an error unless a connection to the address can be made, by HTTP/2 if the file demands it.
func (s *Sender) Reach(ctx context.Context, u *url.URL) error {
	conn, err := s.Connect(ctx, u)
	if err != nil {
		return err
	}
	if u.Scheme == "http" && s.f.HTTP2 {
		err = s.greet(conn)
	}
	return errors.Join(err, conn.Close())
}

// greet begins a connection by HTTP/2, and returns an error unless the server does the same.
func (s *Sender) greet(conn net.Conn) error {
	const preface, settings = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "\x00\x00\x00\x04\x00\x00\x00\x00\x00"
	const kind, isSettings = 3, 4 // in the head of the server's first frame
	head := make([]byte, len(settings))
	_ = conn.SetDeadline(time.Now().Add(s.timeout)) // fails only on a closed connection, as the write does
	if _, err := io.WriteString(conn, preface+settings); err != nil {
		return err
	}
	if _, err := io.ReadFull(conn, head); err != nil || head[kind] != isSettings {
		return errNotHTTP2
	}
	return nil
}

// Session is one buyer with cookies. It is used by one goroutine at a time.
type Session struct {
	s      *Sender
	client http.Client
}

// Session returns a buyer without cookies.
func (s *Sender) Session() *Session {
	jar, _ := cookiejar.New(nil) // has no error without options
	return &Session{s: s, client: http.Client{Transport: s.transport, Jar: jar, Timeout: s.timeout}}
}

// Do sends a request and reads the answer. Redirects are followed only if follow says so.
func (b *Session) Do(ctx context.Context, r *shop.Rendered, follow bool) (*shop.Answer, error) {
	req, err := http.NewRequestWithContext(ctx, r.Method, r.URL.String(), nil)
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", r.Method, r.URL, err)
	}
	withBody(req, r)
	b.client.CheckRedirect = nil
	if !follow {
		b.client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	}
	resp, err := b.client.Do(req)
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", r.Method, r.URL.Path, unwrapURL(err))
	}
	return readAnswer(resp)
}

// Follow follows the redirect in an answer to an order, with the session's cookies.
func (b *Session) Follow(ctx context.Context, from *url.URL, a *shop.Answer) (*shop.Answer, error) {
	b.Remember(from, a)
	location := a.Header.Get("Location")
	if location == "" || a.Status < 300 || a.Status > 399 {
		return a, nil
	}
	to, err := from.Parse(location)
	if err != nil {
		return nil, fmt.Errorf("redirect to %q: %w", location, err)
	}
	return b.Do(ctx, &shop.Rendered{Method: http.MethodGet, URL: to, Header: http.Header{}}, true)
}

// Remember keeps the cookies that an answer sets.
func (b *Session) Remember(from *url.URL, a *shop.Answer) {
	b.client.Jar.SetCookies(from, (&http.Response{Header: a.Header}).Cookies())
}

func unwrapURL(err error) error {
	if u, ok := errors.AsType[*url.Error](err); ok {
		return u.Err
	}
	return err
}

// longest bounds the part of an answer that is read, in bytes.
const longest = 4 << 20

func readAnswer(resp *http.Response) (*shop.Answer, error) {
	defer resp.Body.Close()
	plain := io.Reader(resp.Body)
	var err error
	switch strings.ToLower(resp.Header.Get("Content-Encoding")) {
	case "gzip", "x-gzip":
		plain, err = gzip.NewReader(resp.Body)
	case "deflate":
		plain, err = zlib.NewReader(resp.Body)
	}
	if errors.Is(err, io.EOF) { // an empty body
		plain, err = http.NoBody, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read answer: its body is not compressed as it says: %w", err)
	}
	body, err := io.ReadAll(io.LimitReader(plain, longest))
	if err != nil {
		return nil, fmt.Errorf("read answer: %w", err)
	}
	return &shop.Answer{Status: resp.StatusCode, Header: resp.Header, Body: body}, nil
}

// Succeeded reports whether the answer is one of a request that did its work.
func Succeeded(r *shop.Request, a *shop.Answer) bool {
	if len(r.Expect) > 0 {
		return slices.Contains(r.Expect, a.Status)
	}
	return a.Status < http.StatusBadRequest
}
