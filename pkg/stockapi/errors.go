package stockapi

import (
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"time"

	"orderstock/pkg/httpapi"
	"orderstock/pkg/operation"
)

// Problem returns the answer with this code. The table of statuses is here alone.
func Problem(code operation.Code, detail string) *httpapi.Problem {
	status, after := http.StatusServiceUnavailable, time.Second
	if code.Scope() == operation.Final {
		status, after = http.StatusUnprocessableEntity, 0
	}
	switch code {
	case operation.ErrFlagConflict:
		status = http.StatusConflict
	case operation.ErrUnauthorized:
		status, after = http.StatusUnauthorized, 0
	case operation.ErrInternal:
		status, after = http.StatusInternalServerError, 0
	}
	return httpapi.NewProblem(status, code.Name(), "%s", detail).After(after)
}

// Error is an answer that is not 2xx. It unwraps to its operation.Code, or to an operation.Locked.
type Error struct {
	Code   string // the name in the answer, also if it is in no table
	Status int
	Detail string
	// RetryAfter is the time after which the service asks to be called again, or 0.
	RetryAfter time.Duration

	kind error
}

func (e *Error) Error() string { return "stock service: " + e.Code + ": " + e.Detail }

// Unwrap returns the code of package operation.
func (e *Error) Unwrap() error { return e.kind }

// refusal returns the Error of a response that is not 2xx.
func refusal(resp *http.Response, raw []byte) error {
	var p httpapi.Problem
	if err := json.Unmarshal(raw, &p); err != nil || p.Code == "" {
		p.Code, p.Detail = "http_"+strconv.Itoa(resp.StatusCode), http.StatusText(resp.StatusCode)
	}
	seconds, _ := strconv.ParseInt(resp.Header.Get("Retry-After"), 10, 32) // 0 if it is not a number
	return errorOf(p, resp.StatusCode, seconds)
}

func errorOf(p httpapi.Problem, status int, retryAfter int64) *Error {
	code := codeOf(p.Code, status)
	e := &Error{
		Code: p.Code, Status: status, Detail: p.Detail,
		RetryAfter: time.Duration(max(0, retryAfter)) * time.Second, kind: code,
	}
	if id, ok := operation.ParseID(p.GoodsID); ok && code == operation.ErrLocked {
		e.kind = operation.Locked{GoodsID: id}
	}
	return e
}

// codeOf returns the code of that name. For a name of no code, for example from a newer server or a proxy, the status
// decides.
func codeOf(name string, status int) operation.Code {
	i := slices.IndexFunc(operation.Codes, func(c operation.Code) bool { return c.Name() == name })
	switch {
	case i >= 0:
		return operation.Codes[i]
	case status == http.StatusUnauthorized:
		return operation.ErrUnauthorized
	case status == http.StatusServiceUnavailable, status == http.StatusTooManyRequests, status < 400: // not followed
		return operation.ErrUnavailable
	case status < 500:
		return operation.NewCode(name, operation.Final, http.StatusText(status))
	}
	return operation.ErrInternal
}

// answered reports whether err is the stock service's answer.
func answered(err error) bool {
	var answer *Error
	return errors.As(err, &answer)
}
