package service_test

import (
	"bytes"
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"orderstock/pkg/command"
	"orderstock/pkg/service"
)

// TestHealthAsksTheServiceOnThisMachine: "health" asks for readiness at the port that the service listens on, and
// exits with 1 if the service is not ready.
func TestHealthAsksTheServiceOnThisMachine(t *testing.T) {
	t.Parallel()
	var status int
	ready := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/readyz" {
			t.Errorf("asked for %s", r.URL.Path)
		}
		w.WriteHeader(status)
	})
	plain, tls := httptest.NewServer(ready), httptest.NewTLSServer(ready)
	t.Cleanup(plain.Close)
	t.Cleanup(tls.Close)
	_, port, _ := net.SplitHostPort(plain.Listener.Addr().String())
	other, err := net.Listen("tcp", "127.0.0.2:0")
	if err != nil {
		t.Fatal(err)
	}
	elsewhere := &http.Server{Handler: ready, ReadHeaderTimeout: time.Minute}
	go func() { _ = elsewhere.Serve(other) }()
	t.Cleanup(func() { _ = elsewhere.Close() })
	for name, test := range map[string]struct {
		addr   string
		https  bool
		err    error
		status int
		code   int
	}{
		"ready":           {addr: plain.Listener.Addr().String(), status: http.StatusOK, code: command.Passed},
		"ready, by HTTPS": {addr: tls.Listener.Addr().String(), https: true, status: http.StatusOK, code: command.Passed},
		"not ready": {
			addr: plain.Listener.Addr().String(), status: http.StatusServiceUnavailable, code: command.Failed,
		},
		"ready, of all addresses": {
			addr: "[::]:" + port, status: http.StatusOK, code: command.Passed,
		},
		"ready, at another address": {addr: other.Addr().String(), status: http.StatusOK, code: command.Passed},
		"nobody listens":            {addr: "127.0.0.1:1", code: command.Failed},
		"no port":                   {addr: "localhost", code: command.Unknown},
		"settings are wrong":        {err: errors.New("LISTEN_ADDR is not set"), code: command.Unknown},
	} {
		status = test.status
		c := service.Command(service.Program[string]{
			Name: "shop", Short: "Sells",
			Read:    func() (string, error) { return test.addr, test.err },
			Serve:   func(context.Context, string) error { return errors.New("served") },
			Listens: func(addr string) (string, bool) { return addr, test.https },
		})
		c.SetArgs([]string{"health"})
		var stderr bytes.Buffer
		c.SetErr(&stderr)
		if code := command.Run(t.Context(), c); code != test.code {
			t.Errorf("%s: exit code %d, want %d: %s", name, code, test.code, stderr.String())
		}
	}
}

// TestCheckReadsTheSettings, and does no more.
func TestCheckReadsTheSettings(t *testing.T) {
	t.Parallel()
	wrong := errors.New("RATE_LIMIT_ORDERS: 100/s: want 100-S")
	for _, found := range []struct{ read, check error }{{}, {read: wrong}, {check: wrong}} {
		c := service.Command(service.Program[string]{
			Name: "shop", Short: "Sells",
			Read:  func() (string, error) { return "", found.read },
			Serve: func(context.Context, string) error { return errors.New("served") },
			Check: func(string) error { return found.check },
		})
		c.SetArgs([]string{"check"})
		var stderr bytes.Buffer
		c.SetErr(&stderr)
		code, want := command.Run(t.Context(), c), command.Passed
		switch {
		case found.read != nil:
			want = command.Unknown
		case found.check != nil:
			want = command.Misused
		}
		if code != want || (want != command.Passed) != strings.Contains(stderr.String(), "RATE_LIMIT_ORDERS") {
			t.Errorf("exit code %d, want %d: %s", code, want, stderr.String())
		}
	}
}
