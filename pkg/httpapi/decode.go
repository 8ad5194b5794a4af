package httpapi

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"reflect"
	"strconv"
	"strings"
	"sync"

	"github.com/gin-gonic/gin"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Decode reads the request's JSON body into dst, as DecodeRequest does. The engine bounds the body.
func Decode(c *gin.Context, dst any) error { return DecodeRequest(c.Request, dst) }

// DecodeRequest reads the request's JSON body into dst. It refuses, as a *Problem, another content type (415
// unsupported_media_type), a body over the bound of an http.MaxBytesReader (413 body_too_large), fields that dst does
// not have (400 unknown_field), values of the wrong type (400 invalid_field) and anything else that is not exactly one
// JSON value (400 malformed_json).
//
// No two readers can understand a body differently: names are case-sensitive, and duplicate names and invalid UTF-8 are
// malformed.
func DecodeRequest(r *http.Request, dst any) error {
	if kind := r.Header.Get("Content-Type"); kind != "application/json" {
		media, params, err := mime.ParseMediaType(kind)
		if charset := params["charset"]; err != nil || media != "application/json" ||
			(charset != "" && !strings.EqualFold(charset, "utf-8")) {
			return NewProblem(http.StatusUnsupportedMediaType, "unsupported_media_type", "send Content-Type: application/json")
		}
	}
	if r.Header.Get("Content-Encoding") != "" { // a few compressed bytes can expand to gigabytes
		return NewProblem(http.StatusUnsupportedMediaType, "unsupported_media_type",
			"send the body without Content-Encoding")
	}
	body := bodies.Get().(*bytes.Buffer)
	defer bodies.Put(body)
	body.Reset()
	if _, err := body.ReadFrom(r.Body); err != nil {
		var tooLarge *http.MaxBytesError
		if errors.As(err, &tooLarge) {
			return NewProblem(http.StatusRequestEntityTooLarge, "body_too_large", "the body may hold %d bytes at most",
				tooLarge.Limit)
		}
		return NewProblem(http.StatusBadRequest, "malformed_json", "the body ended early")
	}
	if err := json.Unmarshal(body.Bytes(), dst, json.RejectUnknownMembers(true)); err != nil {
		return decodeProblem(err)
	}
	return nil
}

// bodies are buffers for bodies, which are decoded at once.
var bodies = sync.Pool{New: func() any { return new(bytes.Buffer) }}

func decodeProblem(err error) *Problem {
	refuse := func(code, format string, args ...any) *Problem {
		return NewProblem(http.StatusBadRequest, code, format, args...)
	}
	var syntax *jsontext.SyntacticError // first: it may stand below a semantic error
	var wrong *json.SemanticError
	switch {
	case errors.As(err, &syntax) && errors.Is(err, jsontext.ErrDuplicateName):
		return refuse("malformed_json", "%s is given twice", syntax.JSONPointer)
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return refuse("malformed_json", "the body is empty or ends early")
	case syntax != nil, !errors.As(err, &wrong):
		return refuse("malformed_json", "%s", strings.TrimPrefix(err.Error(), "jsontext: "))
	case errors.Is(err, json.ErrUnknownName):
		return refuse("unknown_field", "%s is not a field of this request", wrong.JSONPointer)
	case wrong.JSONPointer == "":
		return refuse("invalid_field", "the body must be %s", wanted(wrong.GoType))
	}
	return refuse("invalid_field", "%s must be %s", wrong.JSONPointer, wanted(wrong.GoType))
}

// wanted describes the JSON values that a field of that type can hold.
func wanted(field reflect.Type) string {
	if field == nil {
		return "of another type"
	}
	switch field.Kind() {
	case reflect.String:
		return "a string"
	case reflect.Slice:
		return "an array"
	case reflect.Struct:
		return "an object"
	case reflect.Pointer:
		return wanted(field.Elem())
	case reflect.Int64:
		return "a whole number of 64 bits"
	}
	return "of another type"
}

// Query returns the parameters of the request's query, or an error if it is malformed. Go's url.URL.Query silently
// drops malformed parts.
func Query(c *gin.Context) (url.Values, error) {
	query, err := url.ParseQuery(c.Request.URL.RawQuery)
	if err != nil {
		return nil, fmt.Errorf("the query is malformed: %w", err)
	}
	return query, nil
}

// Limit parses a decimal number without sign or leading zeros. It returns an error if the number is not from 1 to most.
func Limit(value string, most int) (int, error) {
	n, err := strconv.Atoi(value)
	if err != nil || strconv.Itoa(n) != value || n < 1 || n > most {
		return 0, fmt.Errorf("limit is a whole number from 1 to %d", most)
	}
	return n, nil
}
