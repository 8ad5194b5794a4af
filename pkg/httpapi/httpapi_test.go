package httpapi_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gin-gonic/gin"

	"orderstock/pkg/httpapi"
	"orderstock/pkg/observe"
)

var errKnown = errors.New("known")

// serve returns an engine with one route of each kind, and the buffer that its log goes to.
func serve(t *testing.T) (*gin.Engine, *bytes.Buffer) {
	t.Helper()
	var log bytes.Buffer
	e := httpapi.NewEngine(slog.New(slog.NewJSONHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug})),
		httpapi.Options{
			MaxBody: 1000,
			Problem: func(err error) *httpapi.Problem {
				if errors.Is(err, errKnown) {
					return httpapi.NewProblem(http.StatusServiceUnavailable, "known", "come back").After(1500 * time.Millisecond)
				}
				return nil
			},
		})
	e.POST("/decode", httpapi.Handle(func(c *gin.Context) error {
		var body struct {
			Num   int64 `json:"num"`
			Items []struct {
				ID string `json:"id"`
			} `json:"items"`
		}
		if err := httpapi.Decode(c, &body); err != nil {
			return err
		}
		c.JSON(http.StatusOK, body)
		return nil
	}))
	e.GET("/fails/:how", httpapi.Handle(func(c *gin.Context) error {
		observe.AddAttrs(c.Request.Context(), "order_id", "42")
		switch c.Param("how") {
		case "known":
			return fmt.Errorf("wrapped: %w", errKnown)
		case "panic":
			panic("boom")
		}
		return errors.New("the database's secret")
	}))
	e.GET("/deadline", func(c *gin.Context) {
		_, has := c.Request.Context().Deadline()
		c.JSON(http.StatusOK, has)
	})
	e.GET("/private", httpapi.Bearer("secret"), func(c *gin.Context) { c.Status(http.StatusNoContent) })
	return e, &log
}

// start serves h until stop is called, and sends what Serve returns.
func start(t *testing.T, h http.Handler) (addr string, stop func(), stopped <-chan error) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	listening, ended := make(chan string, 1), make(chan error, 1)
	go func() {
		ended <- httpapi.Serve(ctx, httpapi.ServerConfig{
			Addr: "127.0.0.1:0", OpsAddr: "127.0.0.1:0", OnListen: func(a string) { listening <- a },
		}, h, slog.New(slog.DiscardHandler))
	}()
	return <-listening, stop, ended
}

func call(e http.Handler, method, path, body string, headers ...string) *httptest.ResponseRecorder {
	req := httptest.NewRequest(method, path, strings.NewReader(body))
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	rec := httptest.NewRecorder()
	e.ServeHTTP(rec, req)
	return rec
}

func TestDecodeRefuses(t *testing.T) {
	e, _ := serve(t)
	const kind = "application/json"
	for _, tc := range []struct {
		name, kind, body, code string
		status                 int
	}{
		{"another type", "text/plain", `{}`, "unsupported_media_type", 415},
		{"no type", "", `{}`, "unsupported_media_type", 415},
		{"another charset", "application/json; charset=latin1", `{}`, "unsupported_media_type", 415},
		{"nothing", kind, ``, "malformed_json", 400},
		{"half", kind, `{"num":`, "malformed_json", 400},
		{"two values", kind, `{}{}`, "malformed_json", 400},
		{"garbage after", kind, `{}]`, "malformed_json", 400},
		{"a string for a number", kind, `{"num":"1"}`, "invalid_field", 400},
		{"a fraction", kind, `{"num":1.5}`, "invalid_field", 400},
		{"above 64 bits", kind, `{"num":9223372036854775808}`, "invalid_field", 400},
		{"an array for an object", kind, `[]`, "invalid_field", 400},
		{"unknown field", kind, `{"price":1}`, "unknown_field", 400},
		{"unknown field inside", kind, `{"items":[{"id":"1","status":"x"}]}`, "unknown_field", 400},
		{"a name in another case", kind, `{"NUM":1}`, "unknown_field", 400},
		{"a name with a letter that folds", kind, `{"item\u017f":[]}`, "unknown_field", 400},
		{"a name twice", kind, `{"num":1,"num":1}`, "malformed_json", 400},
		{"two arrays", kind, `{"items":[{"id":"1"}],"items":[]}`, "malformed_json", 400},
		{"a name twice inside", kind, `{"items":[{"id":"1","id":"2"}]}`, "malformed_json", 400},
		{"a name twice, once escaped", kind, `{"num":1,"n\u0075m":2}`, "malformed_json", 400},
		{"bytes that are not UTF-8", kind, "{\"items\":[{\"id\":\"\xff\"}]}", "malformed_json", 400},
		{"half a surrogate pair", kind, `{"items":[{"id":"\ud800"}]}`, "malformed_json", 400},
		{"too large", kind, `{"items":[{"id":"` + strings.Repeat("x", 1000) + `"}]}`, "body_too_large", 413},
	} {
		t.Run(tc.name, func(t *testing.T) {
			wantProblem(t, call(e, "POST", "/decode", tc.body, "Content-Type", tc.kind), tc.status, tc.code)
		})
	}
	for body, want := range map[string]string{
		`{"num":1.5}`:                 "/num must be a whole number of 64 bits",
		`{"num":"1"}`:                 "/num must be a whole number of 64 bits",
		`{"num":9223372036854775808}`: "/num must be a whole number of 64 bits",
		`{"num":[1]}`:                 "/num must be a whole number of 64 bits",
		`{"items":[{"id":5}]}`:        "/items/0/id must be a string",
		`{"items":[5]}`:               "/items/0 must be an object",
		`{"items":{}}`:                "/items must be an array",
		`[]`:                          "the body must be an object",
		`"{}"`:                        "the body must be an object",
	} {
		rec := call(e, "POST", "/decode", body, "Content-Type", kind)
		wantProblem(t, rec, 400, "invalid_field")
		if !strings.Contains(rec.Body.String(), `"`+want+`"`) {
			t.Errorf("%s: %s; want %s", body, rec.Body, want)
		}
	}
	if rec := call(e, "POST", "/decode", `{"num":7}`,
		"Content-Type", "application/json; charset=UTF-8"); rec.Code != 200 ||
		!strings.Contains(rec.Body.String(), `"num":7`) {
		t.Errorf("a good body got %d %s", rec.Code, rec.Body)
	}
}

func wantProblem(t *testing.T, rec *httptest.ResponseRecorder, status int, code string) httpapi.Problem {
	t.Helper()
	var p httpapi.Problem
	if err := json.Unmarshal(rec.Body.Bytes(), &p); err != nil {
		t.Fatalf("not a problem: %s", rec.Body)
	}
	if rec.Code != status || p.Status != status || p.Code != code || p.RequestID == "" ||
		rec.Header().Get("Content-Type") != httpapi.ProblemType {
		t.Fatalf("got %d %+v (%s), want %d %s", rec.Code, p, rec.Header().Get("Content-Type"), status, code)
	}
	return p
}

func TestErrorsBecomeProblems(t *testing.T) {
	e, log := serve(t)
	rec := call(e, "GET", "/fails/known", "")
	wantProblem(t, rec, 503, "known")
	if rec.Header().Get("Retry-After") != "2" {
		t.Errorf("Retry-After %q, want 1.5 s rounded up", rec.Header().Get("Retry-After"))
	}
	for _, how := range []string{"unknown", "panic"} {
		p := wantProblem(t, call(e, "GET", "/fails/"+how, "", observe.HeaderID, "r-"+how), 500, "internal")
		if strings.Contains(p.Detail, "secret") || strings.Contains(p.Detail, "boom") {
			t.Errorf("the cause leaks: %s", p.Detail)
		}
		if !strings.Contains(log.String(), `"request_id":"r-`+how+`","order_id":"42"`) {
			t.Errorf("no log line carries the ids of %s:\n%s", how, log)
		}
	}
	wantProblem(t, call(e, "GET", "/nowhere", ""), 404, "not_found")
	wantProblem(t, call(e, "GET", "/private/", "", "X-Forwarded-Prefix", "//elsewhere.example"), 404, "not_found")
	wantProblem(t, call(e, "PUT", "/decode", ""), 405, "method_not_allowed")
}

func TestTheServiceTokenIsNeeded(t *testing.T) {
	e, _ := serve(t)
	for _, header := range []string{
		"", "secret", "Bearer", "Bearer ", "Bearer secre", "Bearer secret2", "Bearer SECRET",
		"Basic secret", "Bearersecret",
	} {
		wantProblem(t, call(e, "GET", "/private", "", "Authorization", header), 401, "unauthorized")
	}
	for _, header := range []string{"Bearer secret", "bearer secret", "BEARER  secret"} {
		if rec := call(e, "GET", "/private", "", "Authorization", header); rec.Code != http.StatusNoContent {
			t.Errorf("%q got %d", header, rec.Code)
		}
	}
}

func TestTheCallersPatienceBecomesTheDeadline(t *testing.T) {
	e, _ := serve(t)
	for value, want := range map[string]string{"500": "true", "": "false", "-1": "false", "x": "false"} {
		if got := call(e, "GET", "/deadline", "", observe.HeaderTimeout, value).Body.String(); got != want {
			t.Errorf("%s %q: has deadline %s, want %s", observe.HeaderTimeout, value, got, want)
		}
	}
}

func TestNoAnswerIsStored(t *testing.T) {
	e, _ := serve(t)
	for _, path := range []string{"/deadline", "/nowhere", "/healthz", "/readyz"} {
		if got := call(e, "GET", path, "").Header().Get("Cache-Control"); got != "no-store" {
			t.Errorf("%s: Cache-Control %q", path, got)
		}
	}
}

func TestForeignRequestIDsAreHeldHarmless(t *testing.T) {
	e, _ := serve(t)
	for given, kept := range map[string]bool{"abc-1_2": true, "a b": false, strings.Repeat("x", 65): false, `"}`: false} {
		got := call(e, "GET", "/deadline", "", observe.HeaderID, given).Header().Get(observe.HeaderID)
		if (got == given) != kept || got == "" {
			t.Errorf("request id %q became %q", given, got)
		}
	}
}

func TestReadyNamesFailingChecks(t *testing.T) {
	e, log := serve(t)
	var mysql, redis error
	httpapi.Health(e, map[string]httpapi.Check{
		"mysql": {Ask: func(context.Context) error { return mysql }},
		"redis": {Ask: func(context.Context) error { return redis }, Optional: true},
	})
	refused := errors.New("access denied for user 'order_app'")
	for _, tc := range []struct {
		mysql, redis error
		status       int
		body         string
	}{
		{nil, nil, 200, `{"status":"ready"}`},
		{nil, refused, 200, `{"status":"degraded","failing":["redis"]}`},
		{refused, nil, 503, `{"status":"not ready","failing":["mysql"]}`},
		{refused, refused, 503, `{"status":"not ready","failing":["mysql","redis"]}`},
		{nil, nil, 200, `{"status":"ready"}`},
	} {
		mysql, redis = tc.mysql, tc.redis
		log.Reset()
		for range 2 {
			if rec := call(e, "GET", "/readyz", ""); rec.Code != tc.status || rec.Body.String() != tc.body {
				t.Errorf("got %d %s, want %d %s", rec.Code, rec.Body, tc.status, tc.body)
			}
		}
		if tc.mysql != nil && strings.Count(log.String(), `"mysql":"access denied`) != 1 {
			t.Errorf("the cause is not once in the log:\n%s", log)
		}
	}
	if rec := call(e, "GET", "/healthz", ""); rec.Code != 200 {
		t.Errorf("alive: %d", rec.Code)
	}
}

func TestReadyWaitsForNoCheckThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e, _ := serve(t)
		leave := make(chan struct{})
		var asked atomic.Int32
		hang := func(context.Context) error { asked.Add(1); <-leave; return nil }
		httpapi.Health(e, map[string]httpapi.Check{
			"one": {Ask: hang}, "other": {Ask: hang}, "passes": {Ask: func(context.Context) error { return nil }},
		})
		start := time.Now()
		var both sync.WaitGroup
		for range 2 {
			both.Go(func() {
				if rec := call(e, "GET", "/readyz", ""); rec.Code != 503 ||
					rec.Body.String() != `{"status":"not ready","failing":["one","other"]}` {
					t.Errorf("got %d %s", rec.Code, rec.Body)
				}
			})
		}
		both.Wait()
		if took := time.Since(start); took != 2*time.Second || asked.Load() != 2 {
			t.Errorf("answered after %v with %d checks running, want 2s and one of each", took, asked.Load())
		}
		close(leave)
	})
}

func TestAReaderThatDoesNotReadIsCutOff(t *testing.T) {
	e := httpapi.NewEngine(slog.New(slog.DiscardHandler), httpapi.Options{WriteTimeout: 200 * time.Millisecond})
	written := make(chan error, 1)
	e.GET("/large", func(c *gin.Context) {
		_, err := c.Writer.Write(make([]byte, 64<<20)) // more than the buffers of a connection hold
		written <- err
	})
	addr, stop, stopped := start(t, e)
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	fmt.Fprint(conn, "GET /large HTTP/1.1\r\nHost: x\r\n\r\n")
	select {
	case err := <-written:
		if !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("written: %v, want a deadline exceeded", err)
		}
	case <-time.After(20 * time.Second):
		t.Error("still being written")
	}
	stop()
	if err := <-stopped; err != nil {
		t.Errorf("Serve: %v", err)
	}
}

// TestLimitsOfAConnection: a header that is too large and a compressed body are refused; a header and a body that do
// not come to their end are cut.
// It takes 15 s, the limit for a body.
func TestLimitsOfAConnection(t *testing.T) {
	t.Parallel()
	e, _ := serve(t)
	addr, stop, stopped := start(t, e)
	ask := func(text string) string {
		conn, err := net.Dial("tcp", addr)
		if err != nil {
			t.Error(err)
			return ""
		}
		defer func() { _ = conn.Close() }()
		if err := conn.SetDeadline(time.Now().Add(60 * time.Second)); err != nil {
			t.Error(err)
		}
		fmt.Fprint(conn, text)
		answer, err := io.ReadAll(conn)
		if err != nil && !errors.Is(err, syscall.ECONNRESET) {
			t.Errorf("the connection stays: %v", err)
		}
		return string(answer)
	}
	const head = "GET /healthz HTTP/1.1\r\nHost: x\r\n"
	long := head + "X: " + strings.Repeat("x", 64<<10) + "\r\n\r\n"
	if answer := ask(long); !strings.HasPrefix(answer, "HTTP/1.1 431 ") {
		t.Errorf("a header of 64 KiB: %.100q", answer)
	}
	body := "POST /decode HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Encoding: gzip\r\n" +
		"Connection: close\r\nContent-Length: 2\r\n\r\n{}"
	if answer := ask(body); !strings.HasPrefix(answer, "HTTP/1.1 415 ") {
		t.Errorf("a compressed body: %.100q", answer)
	}
	var bomb bytes.Buffer // 64 MiB of zeros
	z := gzip.NewWriter(&bomb)
	if _, err := z.Write(make([]byte, 64<<20)); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	body = strings.TrimSuffix(body, "2\r\n\r\n{}") + fmt.Sprintf("%d\r\n\r\n%s", bomb.Len(), bomb.String())
	if answer := ask(body); !strings.HasPrefix(answer, "HTTP/1.1 415 ") {
		t.Errorf("a compressed bomb: %.100q", answer)
	}
	slow := "POST /decode HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{"
	var senders sync.WaitGroup // of requests that never end
	senders.Go(func() {
		if answer := ask(head); answer != "" {
			t.Errorf("half a header: %.100q", answer)
		}
	})
	senders.Go(func() {
		if answer := ask(slow); strings.HasPrefix(answer, "HTTP/1.1 2") {
			t.Errorf("half a body: %.100q", answer)
		}
	})
	senders.Wait()
	stop()
	if err := <-stopped; err != nil {
		t.Errorf("Serve: %v", err)
	}
}

func TestStoppingCutsNoRequest(t *testing.T) {
	entered, leave := make(chan struct{}), make(chan struct{})
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/late" {
			return
		}
		close(entered)
		<-leave
		_, _ = w.Write([]byte("whole"))
	})
	addr, stop, stopped := start(t, h)
	url := "http://" + addr
	answer := make(chan error, 1)
	go func() { answer <- httpapi.AskHealth(t.Context(), url) }()
	<-entered
	stop()
	for { // the port is closed while the request is still in there
		if _, err := http.Get(url + "/late"); err != nil {
			break
		}
	}
	close(leave)
	if err := <-answer; err != nil {
		t.Errorf("the request in flight: %v", err)
	}
	if err := <-stopped; err != nil {
		t.Errorf("Serve: %v", err)
	}
}

// TestAStopWithADelay: a proxy that asks for the health sends no request in vain, and clients that keep their
// connections lose them between two answers.
func TestAStopWithADelay(t *testing.T) {
	t.Parallel()
	e, _ := serve(t)
	httpapi.Health(e, nil)
	ctx, stop := context.WithCancel(t.Context())
	listening, ended := make(chan string, 1), make(chan error, 1)
	go func() {
		ended <- httpapi.Serve(ctx, httpapi.ServerConfig{
			Addr: "127.0.0.1:0", ShutdownDelay: 10 * time.Second, OnListen: func(a string) { listening <- a },
		}, e, slog.New(slog.DiscardHandler))
	}()
	base := "http://" + <-listening
	get := func(path string) *http.Response {
		t.Helper()
		resp, err := http.Get(base + path)
		if err != nil {
			t.Fatalf("GET %s: %v", path, err)
		}
		_, _ = io.Copy(io.Discard, resp.Body) // so that the connection is kept
		_ = resp.Body.Close()
		return resp
	}
	for _, path := range []string{"/healthz", "/readyz", "/nowhere"} {
		if resp := get(path); resp.Close || resp.StatusCode == http.StatusServiceUnavailable {
			t.Errorf("before the stop, %s answers %d, closes: %v", path, resp.StatusCode, resp.Close)
		}
	}
	stop()
	for get("/healthz").StatusCode != http.StatusServiceUnavailable {
		time.Sleep(time.Millisecond)
	}
	for path, status := range map[string]int{"/readyz": http.StatusServiceUnavailable, "/nowhere": http.StatusNotFound} {
		if resp := get(path); !resp.Close || resp.StatusCode != status {
			t.Errorf("during the delay, %s answers %d, closes: %v", path, resp.StatusCode, resp.Close)
		}
	}
	if err := <-ended; err != nil {
		t.Errorf("Serve: %v", err)
	}
}

func TestAPortInUseIsAnError(t *testing.T) {
	srv := httptest.NewServer(http.NotFoundHandler())
	defer srv.Close()
	err := httpapi.Serve(t.Context(), httpapi.ServerConfig{Addr: srv.Listener.Addr().String()}, http.NotFoundHandler(),
		slog.New(slog.DiscardHandler))
	if err == nil || !strings.Contains(err.Error(), srv.Listener.Addr().String()) {
		t.Errorf("got %v, want an error that names the address", err)
	}
}
