// Package contracttest checks a service against its OpenAPI description, in tests: every answer, every route,
// every type, and any call that can be generated from the description.
package contracttest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"github.com/gin-gonic/gin"

	"orderstock/pkg/httpapi"
)

// Description is an OpenAPI description. Safe for concurrent use.
type Description struct {
	doc *openapi3.T
}

const ndjson = "application/x-ndjson"

func init() {
	openapi3filter.RegisterBodyDecoder(ndjson, lines)
	openapi3filter.RegisterBodyDecoder("text/html", openapi3filter.PlainBodyDecoder)
}

// read keeps the descriptions by their text: reading one takes long.
var read sync.Map

// Read returns the description, which must be valid OpenAPI 3.1.
func Read(t testing.TB, text []byte) *Description {
	t.Helper()
	if d, ok := read.Load(string(text)); ok {
		return d.(*Description)
	}
	doc, err := openapi3.NewLoader().LoadFromData(text)
	if err != nil {
		t.Fatalf("read the description: %v", err)
	}
	err = doc.Validate(t.Context(), openapi3.IsOpenAPI31OrLater())
	if err != nil || !strings.HasPrefix(doc.OpenAPI, "3.1.") {
		t.Fatalf("the description is not OpenAPI 3.1: %s %v", doc.OpenAPI, err)
	}
	d, _ := read.LoadOrStore(string(text), &Description{doc})
	return d.(*Description)
}

// Check returns a handler that calls next and reports violations as errors of t: each answer must match the
// description, and a request that does not must not succeed.
func (d *Description) Check(t testing.TB, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		sent, err := io.ReadAll(r.Body)
		broken := err != nil // the body is too large for the test's server, or its sender went away
		r.Body = io.NopCloser(io.MultiReader(bytes.NewReader(sent), errReader{err}))
		request := r.Clone(context.WithoutCancel(r.Context()))
		request.Body = io.NopCloser(bytes.NewReader(sent))
		rec := &recorder{ResponseWriter: w, status: http.StatusOK}
		defer func() {
			if p := recover(); p != nil {
				panic(p) // the answer was cut: there is none to check
			}
			if err := d.check(request, rec); err != nil && !broken && r.Context().Err() == nil {
				t.Errorf("%s %s %s: %d %s\nagainst the description: %v",
					r.Method, r.URL, sent, rec.status, rec.body.Bytes(), err)
			}
		}()
		next.ServeHTTP(rec, r)
	})
}

// Transport is Check on the client's side, for a service that is already running.
func (d *Description) Transport(t testing.TB, next http.RoundTripper) http.RoundTripper {
	return transport(func(r *http.Request) (*http.Response, error) {
		var sent []byte
		if r.Body != nil {
			var err error
			if sent, err = io.ReadAll(r.Body); err != nil {
				return nil, err
			}
			r.Body = io.NopCloser(bytes.NewReader(sent))
		}
		resp, err := next.RoundTrip(r)
		if err != nil {
			return nil, err
		}
		body, err := io.ReadAll(resp.Body)
		if err = errors.Join(err, resp.Body.Close()); err != nil {
			return nil, err
		}
		request := r.Clone(context.WithoutCancel(r.Context()))
		request.Body = io.NopCloser(bytes.NewReader(sent))
		rec := &recorder{ResponseWriter: headers(resp.Header), status: resp.StatusCode}
		rec.body.Write(body)
		if err := d.check(request, rec); err != nil {
			t.Errorf("%s %s %s: %d %s\nagainst the description: %v", r.Method, r.URL, sent, rec.status, body, err)
		}
		resp.Body = io.NopCloser(bytes.NewReader(body))
		return resp, nil
	})
}

type transport func(*http.Request) (*http.Response, error)

func (f transport) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// headers are the headers of a received answer, as an http.ResponseWriter.
type headers http.Header

func (h headers) Header() http.Header       { return http.Header(h) }
func (headers) Write(p []byte) (int, error) { return len(p), nil }
func (headers) WriteHeader(int)             {}

func (d *Description) check(r *http.Request, rec *recorder) error {
	route, params := d.route(r)
	if route == nil {
		return notDescribed(rec)
	}
	asked := &openapi3filter.RequestValidationInput{
		Request:    r,
		PathParams: params,
		Route:      route,
		Options: &openapi3filter.Options{
			AuthenticationFunc:  openapi3filter.NoopAuthenticationFunc,
			SkipSettingDefaults: true,
		},
	}
	if rec.status < 400 && rec.Header().Get("Content-Type") != ndjson { // each of its lines can be a refusal
		if err := openapi3filter.ValidateRequest(r.Context(), asked); err != nil {
			return fmt.Errorf("the request is not as described, and succeeds: %w", err)
		}
	}
	if r.Method == http.MethodHead && rec.body.Len() > 0 {
		rec.body.Reset() // the server drops it
	}
	answer := &openapi3filter.ResponseValidationInput{
		RequestValidationInput: asked, Status: rec.status, Header: rec.Header(),
		Options: &openapi3filter.Options{IncludeResponseStatus: true},
	}
	return openapi3filter.ValidateResponse(r.Context(), answer.SetBodyBytes(rec.body.Bytes()))
}

// notDescribed checks the answer to an undescribed call: it must be 404 or 405 as a problem, or a redirect.
func notDescribed(rec *recorder) error {
	switch rec.status {
	case http.StatusNotFound, http.StatusMethodNotAllowed:
		var p httpapi.Problem
		if err := json.Unmarshal(rec.body.Bytes(), &p); err != nil {
			return fmt.Errorf("not a problem: %w", err)
		}
		if p.Status != rec.status || p.Code == "" || rec.Header().Get("Content-Type") != httpapi.ProblemType {
			return fmt.Errorf("not a problem of status %d: %s", rec.status, rec.body.Bytes())
		}
		return nil
	case http.StatusMovedPermanently, http.StatusTemporaryRedirect: // of a path with a slash too many
		return nil
	}
	return fmt.Errorf("the call is not described")
}

// route finds the operation of a request. HEAD is described with GET.
func (d *Description) route(r *http.Request) (*routers.Route, map[string]string) {
	given := strings.Split(r.URL.EscapedPath(), "/")
	for _, path := range slices.Sorted(maps.Keys(d.doc.Paths.Map())) {
		params, ok := match(strings.Split(path, "/"), given)
		if !ok {
			continue
		}
		item := d.doc.Paths.Value(path)
		method := r.Method
		if method == http.MethodHead {
			method = http.MethodGet
		}
		if op := item.GetOperation(method); op != nil {
			return &routers.Route{Spec: d.doc, Path: path, PathItem: item, Method: r.Method, Operation: op}, params
		}
	}
	return nil, nil
}

func match(path, given []string) (params map[string]string, ok bool) {
	if len(path) != len(given) {
		return nil, false
	}
	params = map[string]string{}
	for i, part := range path {
		value, err := url.PathUnescape(given[i])
		switch {
		case err != nil:
			return nil, false
		case strings.HasPrefix(part, "{") && (value != "" || i < len(path)-1): // as gin matches them
			params[strings.Trim(part, "{}")] = value
		case part != value:
			return nil, false
		}
	}
	return params, true
}

// Routes checks that the engine has the calls of the description and no others. HEAD goes with GET.
func (d *Description) Routes(t testing.TB, engine gin.RoutesInfo) {
	t.Helper()
	var described, served []string
	for path, item := range d.doc.Paths.Map() {
		for method := range item.Operations() {
			described = append(described, method+" "+path)
			if method == http.MethodGet && !strings.HasPrefix(path, "/v1/stock") && path != "/v1/flows" {
				described = append(described, "HEAD "+path)
			}
		}
	}
	for _, route := range engine {
		parts := strings.Split(route.Path, "/")
		for i, part := range parts {
			if name, ok := strings.CutPrefix(part, ":"); ok {
				parts[i] = "{" + name + "}"
			}
		}
		served = append(served, route.Method+" "+strings.Join(parts, "/"))
	}
	slices.Sort(described)
	slices.Sort(served)
	if !slices.Equal(described, served) {
		t.Errorf("described: %q\nserved:    %q", described, served)
	}
}

// Types checks that each schema has the fields of the Go type of its name, and requires the fields that are always
// written.
func (d *Description) Types(t testing.TB, types map[string]any) {
	t.Helper()
	for name, value := range types {
		ref := d.doc.Components.Schemas[name]
		if ref == nil {
			t.Errorf("schema %s is not described", name)
			continue
		}
		described, written := map[string]bool{}, map[string]bool{}
		for field := range ref.Value.Properties {
			described[field] = slices.Contains(ref.Value.Required, field)
		}
		of := reflect.TypeOf(value)
		for _, f := range reflect.VisibleFields(of) {
			field, options, _ := strings.Cut(f.Tag.Get("json"), ",")
			if f.IsExported() && !f.Anonymous && field != "-" {
				written[field] = options != "omitempty"
			}
		}
		if name == "Problem" {
			written["request_id"] = true // every request has one
		}
		if !maps.Equal(described, written) {
			t.Errorf("schema %s (field: required) has %v, type %v has %v", name, described, of, written)
		}
	}
}

// lines decodes lines of JSON as a list of their values.
func lines(body io.Reader, _ http.Header, _ *openapi3.SchemaRef, _ openapi3filter.EncodingFn) (any, error) {
	values := []any{}
	for dec := json.NewDecoder(body); ; {
		var value any
		switch err := dec.Decode(&value); {
		case err == io.EOF:
			return values, nil
		case err != nil:
			return nil, err
		}
		values = append(values, value)
	}
}

// recorder passes an answer on and keeps a copy of it.
type recorder struct {
	http.ResponseWriter
	status int
	body   bytes.Buffer
}

func (r *recorder) WriteHeader(status int) {
	r.status = status
	r.ResponseWriter.WriteHeader(status)
}

func (r *recorder) Write(p []byte) (int, error) {
	r.body.Write(p)
	return r.ResponseWriter.Write(p)
}

func (r *recorder) Flush() { _ = http.NewResponseController(r.ResponseWriter).Flush() }

// Unwrap lets http.ResponseController reach the connection.
func (r *recorder) Unwrap() http.ResponseWriter { return r.ResponseWriter }

// errReader is an io.Reader that fails with err, or with io.EOF if err is nil.
type errReader struct{ err error }

func (r errReader) Read([]byte) (int, error) {
	if r.err == nil {
		return 0, io.EOF
	}
	return 0, r.err
}
