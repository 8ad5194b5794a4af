package send_test

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"orderstock/loadtest/judge/send"
	"orderstock/loadtest/judge/shop"
)

// servers are the servers of the tests, by what they speak, and the version by which requests must come. One that
// speaks HTTP/2 alone refuses a handshake for HTTP/1.1.
var servers = map[string]struct {
	start func(*httptest.Server)
	file  shop.File
	proto string
}{
	"http":                           {(*httptest.Server).Start, shop.File{}, "HTTP/1.1"},
	"https":                          {(*httptest.Server).StartTLS, shop.File{}, "HTTP/1.1"},
	"https, HTTP/2 as well":          {startBoth, shop.File{}, "HTTP/1.1"},
	"https, HTTP/2 as the file says": {startBoth, shop.File{HTTP2: true}, "HTTP/2.0"},
	"https, HTTP/2 alone":            {startRefusing, shop.File{}, "HTTP/2.0"},
	"http, HTTP/2 as the file says": {func(s *httptest.Server) {
		s.Config.Protocols = new(http.Protocols)
		s.Config.Protocols.SetUnencryptedHTTP2(true)
		s.Start()
	}, shop.File{HTTP2: true}, "HTTP/2.0"},
}

func startBoth(s *httptest.Server) {
	s.EnableHTTP2 = true
	s.TLS = &tls.Config{NextProtos: []string{"h2", "http/1.1"}}
	s.StartTLS()
}

func startRefusing(s *httptest.Server) {
	s.EnableHTTP2 = true
	s.TLS = &tls.Config{NextProtos: []string{"h2"}}
	s.TLS.GetConfigForClient = func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
		if slices.Contains(hello.SupportedProtos, "h2") {
			return nil, nil
		}
		refusing := s.TLS.Clone()
		refusing.NextProtos = []string{"none"}
		return refusing, nil
	}
	s.StartTLS()
}

// sender returns a sender and the address of a server.
func sender(t *testing.T, f shop.File, start func(*httptest.Server), h http.HandlerFunc) (*send.Sender, *url.URL) {
	t.Helper()
	server := httptest.NewUnstartedServer(h)
	server.Config.ErrorLog = log.New(io.Discard, "", 0) // of handshakes that it refuses
	start(server)
	t.Cleanup(server.Close)
	f.Insecure, f.Timeout = true, shop.Duration(10*time.Second)
	s := send.New(&f, nil)
	t.Cleanup(s.Close)
	u, err := url.Parse(server.URL + "/")
	if err != nil {
		t.Fatal(err)
	}
	return s, u
}

// A held request is executed only after its last byte, and one whose answer is lost is executed, too. Cookies that the
// session has are part of the bytes.
func TestRequestsAreHeldAndAnswersAreLost(t *testing.T) {
	t.Parallel()
	for name, c := range servers {
		for _, body := range []string{"one", "1", ""} {
			t.Run(fmt.Sprintf("%s, body %q", name, body), func(t *testing.T) {
				t.Parallel()
				var executed atomic.Int64
				arrived := make(chan struct{}, 2) // all but the last byte of an order
				s, u := sender(t, c.file, c.start, func(w http.ResponseWriter, r *http.Request) {
					if r.Proto != c.proto {
						t.Errorf("%s came by %s; want %s", r.URL, r.Proto, c.proto)
					}
					if r.URL.Path == "/login" {
						http.SetCookie(w, &http.Cookie{Name: "session", Value: "s1"})
						return
					}
					cookie, err := r.Cookie("session")
					if err != nil {
						t.Error(err)
						return
					}
					rest := make([]byte, max(0, len(body)-1))
					if _, err := io.ReadFull(r.Body, rest); err != nil {
						t.Error(err)
					}
					arrived <- struct{}{}
					last, err := io.ReadAll(r.Body)
					if err != nil {
						t.Error(err)
						return
					}
					fmt.Fprintf(w, "%d %s %s%s", executed.Add(1), cookie.Value, rest, last)
				})
				buyer := s.Session()
				login := &shop.Rendered{Method: http.MethodPost, URL: u.JoinPath("login"), Header: http.Header{}}
				if _, err := buyer.Do(t.Context(), login, false); err != nil {
					t.Fatal(err)
				}
				w, err := buyer.Wire(&shop.Rendered{
					Method: http.MethodPost, URL: u.JoinPath("orders"), Header: http.Header{}, Body: []byte(body),
				})
				if err != nil {
					t.Fatal(err)
				}
				lost, err := s.Hold(t.Context(), w)
				if err != nil {
					t.Fatal(err)
				}
				held, err := s.Hold(t.Context(), w)
				if err != nil {
					t.Fatal(err)
				}
				for range 2 {
					if len(body) > 1 {
						<-arrived
					}
				}
				for range 5 { // time enough to execute what has come
					if _, err := buyer.Do(t.Context(), login, false); err != nil {
						t.Fatal(err)
					}
				}
				if n := executed.Load(); n != 0 {
					t.Errorf("%d held orders are executed", n)
				}
				if err := errors.Join(lost.Release(time.Minute), lost.Lose()); err != nil || executed.Load() != 1 {
					t.Errorf("after the first order, %v, %d executed; want 1", err, executed.Load())
				}
				if err := held.Release(time.Minute); err != nil {
					t.Fatal(err)
				}
				a, err := held.Answer()
				if err != nil || string(a.Body) != "2 s1 "+body {
					t.Errorf("the second order was answered %v, %v; want 2 s1 %s", a, err, body)
				}
			})
		}
	}
}

// A server that does not answer or hangs up is named, by each version of HTTP.
func TestAnswersThatDoNotCome(t *testing.T) {
	t.Parallel()
	for name, c := range servers {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			gone := make(chan struct{})
			s, u := sender(t, c.file, c.start, func(_ http.ResponseWriter, r *http.Request) {
				if _, err := io.ReadAll(r.Body); err != nil || r.URL.Path == "/hang-up" {
					panic(http.ErrAbortHandler)
				}
				<-gone
			})
			t.Cleanup(func() { close(gone) }) // before the server waits for the call
			for path, c := range map[string]struct {
				timeout time.Duration
				want    string
			}{
				"silent":  {time.Second, "no answer within the timeout"},
				"hang-up": {time.Minute, "the connection ended before the answer"},
			} {
				w, err := s.Session().Wire(&shop.Rendered{
					Method: http.MethodPost, URL: u.JoinPath(path), Header: http.Header{}, Body: []byte("one"),
				})
				if err != nil {
					t.Fatal(err)
				}
				held, err := s.Hold(t.Context(), w)
				if err != nil {
					t.Fatal(err)
				}
				if err := held.Release(c.timeout); err != nil {
					t.Fatal(err)
				}
				if _, err := held.Answer(); err == nil || !strings.Contains(err.Error(), c.want) {
					t.Errorf("%s: %v; want %s", path, err, c.want)
				}
			}
		})
	}
}

// The file may say HTTP/2, and the server does not speak it.
func TestAServerWithoutHTTP2IsNamed(t *testing.T) {
	t.Parallel()
	for _, start := range []func(*httptest.Server){(*httptest.Server).Start, (*httptest.Server).StartTLS} {
		s, u := sender(t, shop.File{HTTP2: true}, start, func(http.ResponseWriter, *http.Request) {})
		if err := s.Reach(t.Context(), u); err == nil || !strings.Contains(err.Error(), "leave http2: true out of the file") {
			t.Errorf("at %s: %v", u, err)
		}
	}
	for name, c := range servers {
		s, u := sender(t, c.file, c.start, func(http.ResponseWriter, *http.Request) {})
		if err := s.Reach(t.Context(), u); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestNothingIsSentToAnotherMachine(t *testing.T) {
	t.Parallel()
	u := &url.URL{Scheme: "http", Host: "192.0.2.1:80"}
	s := send.New(&shop.File{Timeout: shop.Duration(time.Second)}, nil)
	if _, err := s.Hold(t.Context(), &send.Wire{URL: u, Text: "x"}); !errors.Is(err, send.ErrNotSent) {
		t.Errorf("%v; want ErrNotSent", err)
	}
}
