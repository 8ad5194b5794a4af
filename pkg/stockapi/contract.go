// Package stockapi is the HTTP API between the order service and the stock service: bodies that package operation does
// not have, the statuses of the codes, and the client.
//
// The client chooses the replica, fails over to the next one if that is unreachable, passes over one that does not
// answer, and repeats a failed call within a budget, all under one flag.
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

// DeductRequest is the body of PUT /v1/operations/{flag}.
type DeductRequest struct {
	Items []operation.Item `json:"items"`
}

// MaxDeductions is the maximum number of deductions in one request.
const MaxDeductions = 64

// DeductAllRequest is the body of POST /v1/operations: deductions that share the request and nothing
// else. Each succeeds or fails as if it were sent alone by PUT /v1/operations/{flag}.
type DeductAllRequest struct {
	Operations []Deduction `json:"operations"`
}

// Deduction is one deduction of a DeductAllRequest. RequestID, Traceparent and TimeoutMS replace the headers of a lone
// request; if RequestID is empty or TimeoutMS 0, the header of the shared request counts. Traceparent is W3C's; a
// deduction without it is not traced.
type Deduction struct {
	Flag        string           `json:"flag"`
	Items       []operation.Item `json:"items"`
	RequestID   string           `json:"request_id,omitempty"`
	Traceparent string           `json:"traceparent,omitempty"`
	TimeoutMS   int64            `json:"timeout_ms,omitempty"`
}

// DeductAnswer is one line of the answer to a DeductAllRequest: an Operation, or a Problem with the seconds to wait
// before the next try. The lines come in the order that the deductions finish. If the answer ends early, the outcome of
// each deduction without a line is unknown.
type DeductAnswer struct {
	// Index is the deduction's place in the request.
	Index      int                  `json:"index"`
	Operation  *operation.Operation `json:"operation,omitempty"`
	Problem    *httpapi.Problem     `json:"problem,omitempty"`
	RetryAfter int64                `json:"retry_after,omitempty"`
}

// FlowsResponse answers GET /v1/flows?flag=a&flag=b: the operations and the flow
// rows under the flags. A flag with nothing recorded is in neither list.
type FlowsResponse struct {
	Operations []operation.Operation `json:"operations"`
	Flows      []operation.Flow      `json:"flows"`
}

// StockResponse answers GET /v1/stock?after=&limit= with a page, and
// GET /v1/stock?goods_id=a&goods_id=b with these products.
type StockResponse struct {
	Goods []operation.Goods `json:"goods"`
	// Next is the value of after for the next page, or empty on the last.
	Next string `json:"next,omitempty"`
}

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
