//go:build compose

package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"orderstock/pkg/httpapi"
)

// compose runs the compose program that the stack is up with, and returns its output.
func compose(t *testing.T, args ...string) string {
	t.Helper()
	program := strings.Fields(os.Getenv("COMPOSE"))
	return output(t, program[0], append(program[1:], args...)...)
}

func output(t *testing.T, name string, args ...string) string {
	t.Helper()
	var failure bytes.Buffer
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir, cmd.Stderr = "../..", &failure
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s", cmd, err, &failure)
	}
	return strings.TrimSpace(string(out))
}

// front returns the host of the front, whose inner ports have no limit of rate.
func front(t *testing.T) string {
	t.Helper()
	return output(t, "docker", "inspect", "-f", "{{range .NetworkSettings.Networks}}{{.IPAddress}}{{end}}",
		compose(t, "ps", "-q", "front"))
}

var frontPorts = []string{"8000", "8080", "8081"}

// TestIdleConnectionsLeaveThePortsOpen, if one client opens more of them than the front takes.
func TestIdleConnectionsLeaveThePortsOpen(t *testing.T) {
	host := front(t)
	for range 8100 {
		c, err := net.DialTimeout("tcp", net.JoinHostPort(host, "8081"), 10*time.Second)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = c.Close() }()
		if _, err := io.WriteString(c, "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"); err != nil {
			continue // the front closed it
		}
		_, _ = bufio.NewReader(c).ReadString('\n')
	}
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: 30 * time.Second}
	for _, port := range frontPorts {
		resp, err := client.Get("http://" + net.JoinHostPort(host, port) + "/healthz")
		if err != nil {
			t.Error(err)
			continue
		}
		_ = resp.Body.Close()
	}
}

// TestSilentConnectionsEndSoon: clients of the published port have one address, the engine's, and share its 2,000
// connections. Those of one client that sends nothing are closed after 5 s. Then the port is open for the others.
func TestSilentConnectionsEndSoon(t *testing.T) {
	published := compose(t, "port", "front", "8000")
	var silent []net.Conn
	for range 2600 {
		c, err := net.DialTimeout("tcp", published, 10*time.Second)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = c.Close() }()
		silent = append(silent, c)
	}
	limit := time.Now().Add(9 * time.Second)
	for _, c := range silent {
		_ = c.SetReadDeadline(limit)
		if _, err := io.Copy(io.Discard, c); errors.Is(err, os.ErrDeadlineExceeded) {
			t.Fatal("a silent connection is open after 9 s")
		}
	}
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: 30 * time.Second}
	resp, err := client.Get("http://" + published + "/healthz")
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
}

// TestTheFrontSpeaksNoHTTP2: a connection could bring a hundred unfinished requests.
func TestTheFrontSpeaksNoHTTP2(t *testing.T) {
	host := front(t)
	for _, port := range frontPorts {
		c, err := net.Dial("tcp", net.JoinHostPort(host, port))
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = c.Close() }()
		if _, err := io.WriteString(c, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00"); err != nil {
			t.Fatal(err)
		}
		if line, err := bufio.NewReader(c).ReadString('\n'); !strings.HasPrefix(line, "HTTP/1.1 400 ") {
			t.Errorf("port %s answers %q (%v), want HTTP/1.1 400", port, line, err)
		}
	}
}

// TestTheFrontsOwnAnswers are problems, and all flags that the stock service takes pass.
func TestTheFrontsOwnAnswers(t *testing.T) {
	host := front(t)
	flags := strings.Repeat("&flag="+strings.Repeat("f", 64), 500)[1:]
	for _, test := range []struct {
		name, port, path, header string
		status                   int
		code                     string
	}{
		{"500 flags", "8081", "/v1/flows?" + flags, "", 401, "unauthorized"},
		{"a long address", "8080", "/v1/orders?after=" + strings.Repeat("1", 15000), "", 414, "uri_too_long"},
		{"a longer address", "8081", "/v1/flows?" + flags + "&" + flags[:2000], "", 414, "uri_too_long"},
		{"long headers", "8000", "/v1/orders", strings.Repeat("x", 20000), 431, "headers_too_large"},
	} {
		r, err := http.NewRequestWithContext(t.Context(), "GET", "http://"+net.JoinHostPort(host, test.port)+test.path, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("X-Long", test.header)
		if status, p := ask(t, r); status != test.status || p.Code != test.code {
			t.Errorf("%s: %d %+v, want %d %s", test.name, status, p, test.status, test.code)
		}
	}
}

// ask returns the answer, which must be a problem.
func ask(t *testing.T, r *http.Request) (status int, p httpapi.Problem) {
	t.Helper()
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	if kind := resp.Header.Get("Content-Type"); kind != httpapi.ProblemType {
		t.Errorf("the content type is %q", kind)
	}
	if resp.StatusCode == http.StatusServiceUnavailable && resp.Header.Get("Retry-After") == "" {
		t.Error("503 without Retry-After")
	}
	if err := json.NewDecoder(resp.Body).Decode(&p); err != nil {
		t.Error(err)
	}
	return resp.StatusCode, p
}

// TestScaling: from three replicas to one, no request is refused or cut off; without any, it is a problem.
func TestScaling(t *testing.T) {
	order := "http://" + net.JoinHostPort(front(t), "8080") + "/v1/orders/1"
	scale := func(orders int) {
		compose(t, "up", "-d", "--no-recreate", "--scale", fmt.Sprint("order-service=", orders), "--scale", "stock-service=3",
			"order-service", "stock-service")
	}
	scale(3)
	var asked, failed atomic.Int64
	var asking sync.WaitGroup
	done := make(chan struct{})
	for range 20 {
		asking.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				asked.Add(1)
				resp, err := http.Get(order)
				if err == nil {
					_, _ = io.Copy(io.Discard, resp.Body)
					_ = resp.Body.Close()
				}
				if err != nil || resp.StatusCode != http.StatusNotFound {
					failed.Add(1)
					t.Logf("%v: %+v", err, resp)
				}
			}
		})
	}
	time.Sleep(5 * time.Second) // all three take part
	scale(1)
	close(done)
	asking.Wait()
	if failed.Load() > 0 {
		t.Errorf("%d of %d requests failed", failed.Load(), asked.Load())
	}
	compose(t, "stop", "order-service")
	defer compose(t, "start", "order-service")
	r, err := http.NewRequestWithContext(t.Context(), "GET", order, nil)
	if err != nil {
		t.Fatal(err)
	}
	if status, p := ask(t, r); status != http.StatusServiceUnavailable || p.Code != "unavailable" {
		t.Errorf("without an order service: %d %+v", status, p)
	}
}
