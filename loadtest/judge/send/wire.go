package send

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"orderstock/loadtest/judge/shop"
)

// Wire is a request as bytes: sent again, it is the same bytes.
type Wire struct {
	URL   *url.URL
	Bytes []byte
}

// Wire returns the request with the session's cookies as bytes.
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
	return &Wire{r.URL, out.Bytes()}, nil
}

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
type Held struct {
	conn net.Conn
	last []byte
}

// Hold connects and sends all but the last byte. An error is ErrNotSent.
func (s *Sender) Hold(ctx context.Context, w *Wire) (*Held, error) {
	conn, err := s.Connect(ctx, w.URL)
	if err != nil {
		return nil, err
	}
	h := &Held{conn, w.Bytes[len(w.Bytes)-1:]}
	_ = conn.SetDeadline(time.Now().Add(s.timeout)) // fails only on a closed connection, as the write does
	if _, err := conn.Write(w.Bytes[:len(w.Bytes)-1]); err != nil {
		h.Close()
		return nil, fmt.Errorf("%w: %w", ErrNotSent, err)
	}
	return h, nil
}

// Release sends the last byte.
func (h *Held) Release(timeout time.Duration) error {
	_ = h.conn.SetDeadline(time.Now().Add(timeout))
	if _, err := h.conn.Write(h.last); err != nil {
		return fmt.Errorf("send the last byte: %w", err)
	}
	return nil
}

// Answer reads the answer and closes the connection.
func (h *Held) Answer() (*shop.Answer, error) {
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

// Lose waits until the service begins to answer, so it has executed the call, and closes the connection unread.
func (h *Held) Lose() error {
	defer h.Close()
	if _, err := h.conn.Read(make([]byte, 1)); err != nil {
		return fmt.Errorf("await answer: %w", plainly(err))
	}
	return nil
}

// Close drops the connection.
func (h *Held) Close() { _ = h.conn.Close() } // nothing is left to lose

// plainly returns an error in words for people.
func plainly(err error) error {
	var timeout net.Error
	switch {
	case errors.As(err, &timeout) && timeout.Timeout():
		return errors.New("no answer within the timeout")
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), strings.Contains(err.Error(), "reset by peer"):
		return errors.New("the connection ended before the answer")
	}
	return err
}
