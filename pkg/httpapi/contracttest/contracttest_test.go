package contracttest_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"orderstock/pkg/httpapi/contracttest"
)

const thing = `{"openapi": "3.1.0", "info": {"title": "t", "version": "1"}, "paths": {"/v1/things/{id}": {"get": {
	"parameters": [{"name": "id", "in": "path", "required": true, "schema": {"type": "string", "pattern": "^[0-9]+$"}}],
	"responses": {"200": {"description": "d",
		"headers": {"X-Request-Id": {"required": true, "schema": {"type": "string"}}},
		"content": {"application/json": {"schema": {"type": "object", "required": ["num"], "additionalProperties": false,
			"properties": {"num": {"type": "integer"}}}}}}}}}}}`

// failures are the errors that a check reports to a test.
type failures struct {
	testing.TB
	told []string
}

func (f *failures) Errorf(format string, args ...any) {
	f.told = append(f.told, fmt.Sprintf(format, args...))
}

// TestViolationsAreReported, by the handler and by the transport.
func TestViolationsAreReported(t *testing.T) {
	t.Parallel()
	d := contracttest.Read(t, []byte(thing))
	for _, c := range []struct {
		name, path, kind, id, body string
		status                     int
		want                       string // in the error; empty: none
	}{
		{"as described", "/v1/things/1", "application/json", "r", `{"num":1}`, 200, ""},
		{"a status that is not", "/v1/things/1", "application/json", "r", `{"num":1}`, 418, "status is not supported"},
		{"a server's failure", "/v1/things/1", "application/json", "r", `{"num":1}`, 500, "status is not supported"},
		{"another type", "/v1/things/1", "application/json", "r", `{"num":"1"}`, 200, "integer"},
		{"a field missing", "/v1/things/1", "application/json", "r", `{}`, 200, "num"},
		{"a field too many", "/v1/things/1", "application/json", "r", `{"num":1,"secret":1}`, 200, "secret"},
		{"another media type", "/v1/things/1", "text/plain", "r", `{"num":1}`, 200, "Content-Type"},
		{"a header missing", "/v1/things/1", "application/json", "", `{"num":1}`, 200, "X-Request-Id"},
		{"a request that should fail", "/v1/things/x", "application/json", "r", `{"num":1}`, 200, "succeeds"},
		{"another path", "/v1/nothing", "application/json", "r", `{"num":1}`, 200, "not described"},
		{
			"another path that is refused", "/v1/nothing", "application/problem+json", "r",
			`{"status":404,"code":"not_found"}`, 404, "",
		},
	} {
		answer := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", c.kind)
			if c.id != "" {
				w.Header().Set("X-Request-Id", c.id)
			}
			w.WriteHeader(c.status)
			_, _ = io.WriteString(w, c.body)
		})
		handler, client := &failures{TB: t}, &failures{TB: t}
		server := httptest.NewServer(d.Check(handler, answer))
		resp, err := (&http.Client{Transport: d.Transport(client, http.DefaultTransport)}).Get(server.URL + c.path)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		server.Close()
		if err != nil || string(body) != c.body || resp.StatusCode != c.status {
			t.Errorf("%s: the check changed the answer to %d %s, %v", c.name, resp.StatusCode, body, err)
		}
		for _, f := range []*failures{handler, client} {
			if got := strings.Join(f.told, "\n"); (c.want == "") != (got == "") || !strings.Contains(got, c.want) {
				t.Errorf("%s: reported %q, want %q", c.name, got, c.want)
			}
		}
	}
}

// TestHeadersAreAsTheServerReadsThem: a test that asks whether a generated header is 1 must not see "1 ".
func TestHeadersAreAsTheServerReadsThem(t *testing.T) {
	t.Parallel()
	var read string
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		read = r.Header.Get("After")
	}))
	defer server.Close()
	d := contracttest.Read(t, []byte(strings.Replace(thing, `"parameters": [`,
		`"parameters": [{"name": "After", "in": "header", "required": true, "schema": {"type": "string"}}, `, 1)))
	rapid.Check(t, func(rt *rapid.T) {
		call := d.Generate(rt, map[string][]string{"id": {"1"}, "After": {" 1\x00 ", "\t1", "1"}}).Call()
		req, err := http.NewRequestWithContext(t.Context(), call.Method, server.URL, http.NoBody)
		if err != nil {
			rt.Fatal(err)
		}
		req.Header = call.Header
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			rt.Fatal(err)
		}
		_ = resp.Body.Close()
		if generated := call.Header.Get("After"); generated != read {
			rt.Fatalf("generated %q, read %q", generated, read)
		}
	})
}
