package fire_test

import (
	"bufio"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"orderstock/loadtest/history"
)

// A call on a connection that the server closed before it read the call is sent again on another. A call that was read
// is not: nobody knows what became of it.
func TestACallThatNobodyReadIsSentAgain(t *testing.T) {
	t.Parallel()
	for name, reads := range map[string]bool{"not read": false, "read": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newShop(t)
			cfg := s.config()
			cfg.OrderURLs, cfg.Orders, cfg.Concurrency = []string{closeEarly(t, s, reads)}, 20, 1
			h, _ := run(t, cfg)
			broken, resent := 0, 0
			for i := range h.Calls {
				if h.Calls[i].Failure != history.Answered {
					broken++
				}
				if h.Calls[i].Resent {
					resent++
				}
			}
			if reads && (broken < 5 || resent > 0) || !reads && (broken > 0 || resent < 5) {
				t.Errorf("of %d calls, %d broke, and %d were sent again", len(h.Calls), broken, resent)
			}
		})
	}
}

// closeEarly serves the shop's orders, and closes each connection after an answer without saying so: at once or, if it
// reads, when it has read the next call.
func closeEarly(t *testing.T, s *shop, reads bool) (url string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var serving sync.WaitGroup
	serve := func(c net.Conn) {
		defer func() { _ = c.Close() }()
		in := bufio.NewReader(c)
		r, err := http.ReadRequest(in)
		if err != nil {
			return
		}
		answer := httptest.NewRecorder()
		s.Config.Handler.ServeHTTP(answer, r)
		whole := answer.Result()
		if whole.ContentLength = int64(answer.Body.Len()); whole.Write(c) == nil && reads {
			_, _ = http.ReadRequest(in)
		}
	}
	serving.Go(func() {
		for {
			c, err := listener.Accept()
			if err != nil {
				return
			}
			serving.Go(func() { serve(c) })
		}
	})
	t.Cleanup(func() { _ = listener.Close(); serving.Wait() })
	return "http://" + listener.Addr().String()
}
