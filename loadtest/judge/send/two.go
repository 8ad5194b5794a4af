package send

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"

	"orderstock/loadtest/judge/shop"
)

// held2 is a request by HTTP/2, over its own connection. Its body is held before the last byte; without a body, all of
// it is one frame, which Release sends.
type held2 struct {
	conn   *http.ClientConn
	cancel context.CancelFunc
	timer  *time.Timer    // calls cancel
	begin  func()         // sends the request
	body   *io.PipeWriter // nil without a body
	last   []byte
	ended  chan struct{} // closed once answer or err is set
	answer *http.Response
	err    error
}

func (s *Sender) hold2(ctx context.Context, w *Wire) (Held, error) {
	req, err := http.ReadRequest(bufio.NewReader(strings.NewReader(w.Text)))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNotSent, err)
	}
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNotSent, err)
	}
	dialing, dialed := context.WithTimeout(ctx, s.timeout)
	defer dialed()
	h := &held2{ended: make(chan struct{})}
	if h.conn, err = s.transport.NewClientConn(dialing, w.URL.Scheme, hostPort(w.URL)); err != nil {
		return nil, err // of dial
	}
	ctx, h.cancel = context.WithCancel(ctx)
	h.timer = time.AfterFunc(s.timeout, h.cancel)
	req = req.WithContext(ctx)
	req.URL, req.RequestURI = w.URL, ""
	h.begin = func() {
		go func() {
			defer close(h.ended)
			h.answer, h.err = h.conn.RoundTrip(req) //nolint:bodyclose // Answer and Close do
		}()
	}
	if len(body) == 0 {
		return h, nil
	}
	req.Body, h.body = io.Pipe()
	h.last = body[len(body)-1:]
	h.begin()
	if _, err := h.body.Write(body[:len(body)-1]); err != nil { // the request has ended, or is answered early
		if <-h.ended; h.err != nil {
			h.Close()
			return nil, fmt.Errorf("%w: %w", ErrNotSent, h.err)
		}
	}
	return h, nil
}

func (h *held2) Release(timeout time.Duration) error {
	h.timer.Reset(timeout)
	if h.body == nil {
		h.begin()
		return nil
	}
	if _, err := h.body.Write(h.last); err != nil {
		if <-h.ended; h.err != nil {
			return fmt.Errorf("send the last byte: %w", h.failure())
		}
	}
	return h.body.Close()
}

func (h *held2) Answer() (*shop.Answer, error) {
	defer h.Close()
	if <-h.ended; h.err != nil {
		return nil, fmt.Errorf("read answer: %w", h.failure())
	}
	return readAnswer(h.answer)
}

func (h *held2) Lose() error {
	defer h.Close()
	if <-h.ended; h.err != nil {
		return fmt.Errorf("await answer: %w", h.failure())
	}
	return nil
}

// failure says in words why there is no answer.
func (h *held2) failure() error {
	if errors.Is(h.err, context.Canceled) { // by the timer
		return plainly(os.ErrDeadlineExceeded)
	}
	return plainly(h.err)
}

func (h *held2) Close() {
	h.timer.Stop()
	h.cancel()
	_ = h.conn.Close() // nothing is left to lose
}
