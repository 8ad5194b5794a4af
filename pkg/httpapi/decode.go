package httpapi

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"strings"

	"github.com/gin-gonic/gin"

	"orderstock/pkg/problem"
)

// Decode reads the request's JSON body into dst. It refuses, as a *problem.Problem,
// another content type (415 unsupported_media_type), a body over the engine's
// bound (413 body_too_large), fields that dst does not have (400
// unknown_field), values of the wrong type (400 invalid_field) and anything
// else that is not exactly one JSON value (400 malformed_json).
func Decode(c *gin.Context, dst any) error {
	if kind := c.GetHeader("Content-Type"); kind != "application/json" {
		media, params, err := mime.ParseMediaType(kind)
		if charset := params["charset"]; err != nil || media != "application/json" ||
			(charset != "" && !strings.EqualFold(charset, "utf-8")) {
			return problem.New(http.StatusUnsupportedMediaType, "unsupported_media_type", "send Content-Type: application/json")
		}
	}
	if c.GetHeader("Content-Encoding") != "" { // a few compressed bytes can expand to gigabytes
		return problem.New(http.StatusUnsupportedMediaType, "unsupported_media_type",
			"send the body without Content-Encoding")
	}
	body, err := io.ReadAll(c.Request.Body)
	if err != nil {
		var tooLarge *http.MaxBytesError
		if errors.As(err, &tooLarge) {
			return problem.New(http.StatusRequestEntityTooLarge, "body_too_large", "the body may hold %d bytes at most",
				tooLarge.Limit)
		}
		return problem.New(http.StatusBadRequest, "malformed_json", "the body ended early")
	}
	dec := json.NewDecoder(bytes.NewReader(body))
	dec.DisallowUnknownFields()
	if err := dec.Decode(dst); err != nil {
		return decodeProblem(err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return problem.New(http.StatusBadRequest, "malformed_json", "the body holds more than one JSON value")
	}
	return nil
}

func decodeProblem(err error) *problem.Problem {
	var wrongType *json.UnmarshalTypeError
	switch {
	case errors.As(err, &wrongType):
		field := wrongType.Field
		if field == "" {
			field = "body"
		}
		return problem.New(http.StatusBadRequest, "invalid_field", "%s cannot be a %s", field, wrongType.Value)
	case strings.HasPrefix(err.Error(), "json: unknown field "): // encoding/json has no type for it
		return problem.New(http.StatusBadRequest, "unknown_field", "%s is not a field of this request",
			strings.TrimPrefix(err.Error(), "json: unknown field "))
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return problem.New(http.StatusBadRequest, "malformed_json", "the body is empty or ends early")
	}
	return problem.New(http.StatusBadRequest, "malformed_json", "%s", err)
}
