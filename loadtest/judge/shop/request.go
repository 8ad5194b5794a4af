package shop

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"mime/multipart"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// Target returns the path or the address of the request.
func (r *Request) Target() string {
	_, target := r.line()
	return target
}

func (r *Request) line() (method, target string) {
	for method, target := range map[string]string{
		http.MethodGet: r.Get, http.MethodPost: r.Post, http.MethodPut: r.Put,
		http.MethodPatch: r.Patch, http.MethodDelete: r.Delete,
	} {
		if target != "" {
			return method, target
		}
	}
	method = strings.ToUpper(r.Method)
	if method == "" {
		method = http.MethodGet
	}
	return method, r.URL
}

// texts returns everything in the request that may hold variables.
func (r *Request) texts() []any {
	out := []any{r.Target(), r.Body, r.JSON}
	for name, value := range r.Headers {
		out = append(out, name, value)
	}
	for _, form := range []Form{r.Form, r.Multipart} {
		for name, values := range form {
			out = append(out, name)
			for _, value := range values {
				out = append(out, value)
			}
		}
	}
	return out
}

// Rendered is a request with the values of its variables.
type Rendered struct {
	Method string
	URL    *url.URL
	Header http.Header
	Body   []byte
}

// Render fills in the variables. A path is one of the address base.
func (r *Request) Render(base string, vars Vars) (*Rendered, error) {
	method, target := r.line()
	target, err := vars.Text(target)
	if err != nil {
		return nil, err
	}
	if !strings.Contains(target, "://") {
		if base, err = vars.Text(base); err != nil {
			return nil, err
		}
		target = strings.TrimSuffix(base, "/") + target
	}
	out := &Rendered{Method: method, Header: http.Header{}}
	if out.URL, err = url.Parse(target); err != nil || out.URL.Host == "" {
		return nil, fmt.Errorf("address %q: want http://host:port/path", target)
	}
	kind, err := r.body(out, vars)
	if err != nil {
		return nil, err
	}
	if kind != "" {
		out.Header.Set("Content-Type", kind)
	}
	for name, value := range r.Headers {
		if value, err = vars.Text(value); err != nil {
			return nil, err
		}
		if strings.ContainsAny(name+value, "\r\n\x00") {
			return nil, fmt.Errorf("header %s: it has a line break", name)
		}
		out.Header.Set(name, value)
	}
	return out, nil
}

// values returns the fields of a form with the values of their variables.
func (f Form) values(vars Vars) (url.Values, error) {
	form := url.Values{}
	for name, values := range f {
		name, err := vars.Text(name)
		if err != nil {
			return nil, err
		}
		for _, value := range values {
			if value, err = vars.Text(value); err != nil {
				return nil, err
			}
			form.Add(name, value)
		}
	}
	return form, nil
}

// body renders the body and returns its content type.
func (r *Request) body(out *Rendered, vars Vars) (kind string, err error) {
	switch {
	case r.JSON != nil:
		value, err := vars.Value(r.JSON)
		if err != nil {
			return "", err
		}
		var text bytes.Buffer
		encoder := json.NewEncoder(&text)
		encoder.SetEscapeHTML(false)
		if err := encoder.Encode(value); err != nil {
			return "", fmt.Errorf("body: %w", err)
		}
		out.Body = bytes.TrimSuffix(text.Bytes(), []byte("\n"))
		return "application/json", nil
	case r.Form != nil:
		form, err := r.Form.values(vars)
		out.Body = []byte(form.Encode())
		return "application/x-www-form-urlencoded", err
	case r.Multipart != nil:
		form, err := r.Multipart.values(vars)
		if err != nil {
			return "", err
		}
		var text bytes.Buffer
		parts := multipart.NewWriter(&text)
		for _, name := range slices.Sorted(maps.Keys(form)) {
			for _, value := range form[name] {
				err = errors.Join(err, parts.WriteField(name, value))
			}
		}
		err = errors.Join(err, parts.Close())
		out.Body = text.Bytes()
		return parts.FormDataContentType(), err
	case r.Body != "":
		text, err := vars.Text(r.Body)
		out.Body = []byte(text)
		if err == nil && json.Valid(out.Body) {
			return "application/json", nil
		}
		return "text/plain; charset=utf-8", err
	}
	return "", nil
}
