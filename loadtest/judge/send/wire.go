package send

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"orderstock/loadtest/judge/shop"
)

// Wire is a request as it is sent: sent again, it is the same bytes.
type Wire struct {
	URL *url.URL `json:"-"`
	// Address is the URL as text, and Text the request of HTTP/1.1.
	Address string `json:"address"`
	Text    string `json:"text"`
	// Insecure accepts any certificate.
	Insecure bool `json:"insecure,omitempty"`
}

// Wire returns the request with the session's cookies.
func (b *Session) Wire(r *shop.Rendered) (*Wire, error) {
	req, err := http.NewRequest(r.Method, r.URL.String(), nil) //nolint:noctx // it is only written
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", r.Method, r.URL, err)
	}
	withBody(req, r)
	for _, cookie := range b.client.Jar.Cookies(r.URL) {
		req.AddCookie(cookie)
	}
	req.Close = true // each call has its own connection
	var out bytes.Buffer
	if err := req.Write(&out); err != nil {
		return nil, fmt.Errorf("%s %s: %w", r.Method, r.URL, err)
	}
	return &Wire{r.URL, r.URL.String(), out.String(), b.s.f.Insecure}, nil
}

// unsaid are the headers that curl sets by itself, or that say nothing about the request.
var unsaid = []string{"Connection", "Content-Length", "User-Agent", "Accept"}

// Curl returns the request as a command of curl, with … in the place of what may be secret.
func (w *Wire) Curl() string {
	req, err := http.ReadRequest(bufio.NewReader(strings.NewReader(w.Text)))
	if err != nil {
		return "" // Wire has written it, so it can be read
	}
	body, _ := io.ReadAll(req.Body)
	words := []string{"curl", "-sS", "-X", req.Method, quoted(w.Address)}
	if w.Insecure {
		words = slices.Insert(words, 1, "-k")
	}
	for _, name := range slices.Sorted(maps.Keys(req.Header)) {
		value := strings.Join(req.Header[name], ", ")
		if shop.IsSecret(name) {
			value = "…"
		}
		if !slices.Contains(unsaid, name) {
			words = append(words, "-H", quoted(name+": "+value))
		}
	}
	if len(body) > 0 {
		words = append(words, "--data-binary", quoted(shop.WithoutSecrets(string(body))))
	}
	return strings.Join(words, " ")
}

// quoted returns a word for the shell.
func quoted(word string) string { return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'" }

// withBody sets the headers and the body of req.
func withBody(req *http.Request, r *shop.Rendered) {
	req.Header = r.Header.Clone()
	req.Header.Set("Accept", firstOf(r.Header.Get("Accept"), "*/*"))
	req.Header.Set("User-Agent", firstOf(r.Header.Get("User-Agent"), "loadtest-judge"))
	if host := r.Header.Get("Host"); host != "" {
		req.Host = host
		req.Header.Del("Host")
	}
	body := r.Body
	req.ContentLength = int64(len(body))
	req.Body = http.NoBody
	if len(body) > 0 {
		req.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
		req.Body, _ = req.GetBody()
	}
}

func firstOf(text, otherwise string) string {
	if text != "" {
		return text
	}
	return otherwise
}

func hostPort(u *url.URL) string {
	port := u.Port()
	switch {
	case port == "" && u.Scheme == "https":
		port = "443"
	case port == "":
		port = "80"
	}
	return net.JoinHostPort(u.Hostname(), port)
}

// Held is a request of which all but the last byte is sent. Release, then Answer or Lose, end it; or Close.
type Held interface {
	// Release sends the last byte. The answer must come within the timeout.
	Release(timeout time.Duration) error
	// Answer reads the answer and closes the connection.
	Answer() (*shop.Answer, error)
	// Lose waits until the service begins to answer, so it has executed the call, and closes the connection unread.
	Lose() error
	// Close drops the connection.
	Close()
}

// Hold connects and sends all but the last byte. An error is ErrNotSent.
func (s *Sender) Hold(ctx context.Context, w *Wire) (Held, error) {
	if !s.demanded(w.URL) {
		conn, err := s.Connect(ctx, w.URL)
		switch {
		case err != nil:
			return nil, err
		case !s.demanded(w.URL):
			return s.hold1(conn, w)
		}
		_ = conn.Close() // the server has just demanded HTTP/2
	}
	return s.hold2(ctx, w)
}

// demanded reports whether requests to an address are sent by HTTP/2.
func (s *Sender) demanded(u *url.URL) bool {
	_, demands := s.demanding.Load(hostPort(u))
	return s.f.HTTP2 || demands
}

// held1 is a request by HTTP/1.1.
type held1 struct {
	conn net.Conn
	last string
}

func (s *Sender) hold1(conn net.Conn, w *Wire) (Held, error) {
	rest := len(w.Text) - 1
	h := &held1{conn, w.Text[rest:]}
	_ = conn.SetDeadline(time.Now().Add(s.timeout)) // fails only on a closed connection, as the write does
	if _, err := io.WriteString(conn, w.Text[:rest]); err != nil {
		h.Close()
		return nil, fmt.Errorf("%w: %w", ErrNotSent, err)
	}
	return h, nil
}

func (h *held1) Release(timeout time.Duration) error {
	_ = h.conn.SetDeadline(time.Now().Add(timeout))
	if _, err := io.WriteString(h.conn, h.last); err != nil {
		return fmt.Errorf("send the last byte: %w", err)
	}
	return nil
}

func (h *held1) Answer() (*shop.Answer, error) {
	defer h.Close()
	in := bufio.NewReader(h.conn)
	for {
		resp, err := http.ReadResponse(in, nil)
		if err != nil {
			return nil, fmt.Errorf("read answer: %w", plainly(err))
		}
		if resp.StatusCode >= 200 {
			return readAnswer(resp)
		}
		_ = resp.Body.Close() // an interim answer has no body
	}
}

func (h *held1) Lose() error {
	defer h.Close()
	if _, err := h.conn.Read(make([]byte, 1)); err != nil {
		return fmt.Errorf("await answer: %w", plainly(err))
	}
	return nil
}

func (h *held1) Close() { _ = h.conn.Close() } // nothing is left to lose

// plainly returns an error in words for people.
func plainly(err error) error {
	var timeout net.Error
	switch {
	case errors.As(err, &timeout) && timeout.Timeout():
		return errors.New("no answer within the timeout")
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), strings.Contains(err.Error(), "reset by peer"),
		strings.Contains(err.Error(), "INTERNAL_ERROR"): // ends a call by HTTP/2
		return errors.New("the connection ended before the answer")
	}
	return err
}
