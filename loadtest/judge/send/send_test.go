package send_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync/atomic"
	"testing"
	"time"

	"orderstock/loadtest/judge/send"
	"orderstock/loadtest/judge/shop"
)

// A held request is executed only after its last byte, and one whose answer is lost is executed, too. Cookies that the
// session has are part of the bytes.
func TestRequestsAreHeldAndAnswersAreLost(t *testing.T) {
	t.Parallel()
	var executed atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/login" {
			http.SetCookie(w, &http.Cookie{Name: "session", Value: "s1"})
			return
		}
		cookie, err := r.Cookie("session")
		if err != nil {
			t.Error(err)
			return
		}
		body, err := io.ReadAll(r.Body) // waits for the last byte
		if err != nil {
			t.Error(err)
			return
		}
		fmt.Fprintf(w, "%d %s %s", executed.Add(1), cookie.Value, body)
	}))
	t.Cleanup(server.Close)
	s := send.New(nil, 10*time.Second, false)
	t.Cleanup(s.Close)
	u, err := url.Parse(server.URL + "/")
	if err != nil {
		t.Fatal(err)
	}
	buyer := s.Session()
	login := &shop.Rendered{Method: http.MethodPost, URL: u.JoinPath("login"), Header: http.Header{}}
	if _, err := buyer.Do(t.Context(), login, false); err != nil {
		t.Fatal(err)
	}
	w, err := buyer.Wire(&shop.Rendered{
		Method: http.MethodPost, URL: u.JoinPath("orders"), Header: http.Header{}, Body: []byte("one"),
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
	if err := errors.Join(lost.Release(time.Minute), lost.Lose()); err != nil || executed.Load() != 1 {
		t.Errorf("after the first order, %v, %d executed; want 1", err, executed.Load())
	}
	if err := held.Release(time.Minute); err != nil {
		t.Fatal(err)
	}
	a, err := held.Answer()
	if err != nil || string(a.Body) != "2 s1 one" {
		t.Errorf("the second order was answered %v, %v; want 2 s1 one", a, err)
	}
}

func TestNothingIsSentToAnotherMachine(t *testing.T) {
	t.Parallel()
	u := &url.URL{Scheme: "http", Host: "192.0.2.1:80"}
	s := send.New(nil, time.Second, false)
	if _, err := s.Hold(t.Context(), &send.Wire{URL: u, Bytes: []byte("x")}); !errors.Is(err, send.ErrNotSent) {
		t.Errorf("%v; want ErrNotSent", err)
	}
}
