package stockapi

import (
	"errors"
	"net/http"
	"time"

	"orderstock/pkg/problem"
)

// What a call can fail with; match with errors.Is. After ErrUnavailable,
// ErrOverloaded and ErrUnknownOutcome the same call may be sent again with the
// same flag; the others would fail again.
var (
	// ErrUnavailable: nothing was done, because the stock service, its lock or its database could not be had in time.
	ErrUnavailable = errors.New("stock service unavailable")
	// ErrOverloaded: nothing was done; the stock service sheds load.
	ErrOverloaded = errors.New("stock service overloaded")
	// ErrUnknownOutcome: the call may have been carried out or not. Only the flag's recorded outcome says.
	ErrUnknownOutcome = errors.New("outcome unknown")
	// ErrFlagConflict: the flag is in use for something else.
	ErrFlagConflict = errors.New("flag used for something else")
	// ErrUnknownGoods: there are no such goods. Nothing was recorded under the flag.
	ErrUnknownGoods = errors.New("unknown goods")
	// ErrInvalid: the request breaks a rule; the detail says which.
	ErrInvalid = errors.New("invalid request")
	// ErrUnauthorized: the service token is missing or wrong.
	ErrUnauthorized = errors.New("unauthorized")
	// ErrInternal: the stock service failed in a way it has no name for; what it did is unknown.
	ErrInternal = errors.New("stock service failed")
)

// Code is the stable name of an error on the wire.
type Code string

// The codes that the stock service answers with, beside those of package httpapi.
const (
	CodeUnavailable    Code = "unavailable"
	CodeOverloaded     Code = "overloaded"
	CodeUnknownOutcome Code = "unknown_outcome"
	CodeFlagConflict   Code = "flag_conflict"
	CodeUnknownGoods   Code = "unknown_goods"
	CodeInvalidItems   Code = "invalid_items"
	CodeInvalidNum     Code = "invalid_num"
	CodeInvalidGoods   Code = "invalid_goods_id"
	CodeInvalidPrice   Code = "invalid_price"
	CodeInvalidName    Code = "invalid_name"
	CodeInvalidFlag    Code = "invalid_flag"
	CodeInvalidPage    Code = "invalid_page"
	CodeDuplicateGoods Code = "duplicate_goods"
	CodeLevelOverflow  Code = "level_overflow"
	CodeUnauthorized   Code = "unauthorized"
	CodeInternal       Code = "internal"
)

// table is the one place where codes, statuses and errors meet: the server
// reads it from left to right, the client from right to left.
var table = map[Code]struct {
	err        error
	status     int
	retryAfter time.Duration
}{
	CodeUnavailable:    {ErrUnavailable, http.StatusServiceUnavailable, time.Second},
	CodeOverloaded:     {ErrOverloaded, http.StatusServiceUnavailable, time.Second},
	CodeUnknownOutcome: {ErrUnknownOutcome, http.StatusServiceUnavailable, time.Second},
	CodeFlagConflict:   {ErrFlagConflict, http.StatusConflict, 0},
	CodeUnknownGoods:   {ErrUnknownGoods, http.StatusUnprocessableEntity, 0},
	CodeInvalidItems:   {ErrInvalid, http.StatusUnprocessableEntity, 0},
	CodeInvalidNum:     {ErrInvalid, http.StatusUnprocessableEntity, 0},
	CodeInvalidGoods:   {ErrInvalid, http.StatusUnprocessableEntity, 0},
	CodeInvalidPrice:   {ErrInvalid, http.StatusUnprocessableEntity, 0},
	CodeInvalidName:    {ErrInvalid, http.StatusUnprocessableEntity, 0},
	CodeInvalidFlag:    {ErrInvalid, http.StatusUnprocessableEntity, 0},
	CodeInvalidPage:    {ErrInvalid, http.StatusUnprocessableEntity, 0},
	CodeDuplicateGoods: {ErrInvalid, http.StatusUnprocessableEntity, 0},
	CodeLevelOverflow:  {ErrInvalid, http.StatusUnprocessableEntity, 0},
	CodeUnauthorized:   {ErrUnauthorized, http.StatusUnauthorized, 0},
	CodeInternal:       {ErrInternal, http.StatusInternalServerError, 0},
}

// Problem returns the answer that stands for code on the wire. An unknown code
// answers as CodeInternal.
func Problem(code Code, detail string) *problem.Problem {
	row, ok := table[code]
	if !ok {
		code, row = CodeInternal, table[CodeInternal]
	}
	return problem.New(row.status, string(code), "%s", detail).After(row.retryAfter)
}

// Error is a refusal as the client hands it on. It unwraps to one of the sentinels above.
type Error struct {
	Code   Code
	Status int
	Detail string
	// RetryAfter is how long the service asked to be left alone; 0 where it did not say.
	RetryAfter time.Duration

	kind error
}

func (e *Error) Error() string { return "stock service: " + string(e.Code) + ": " + e.Detail }

// Unwrap returns the sentinel.
func (e *Error) Unwrap() error { return e.kind }

// RetryAfter returns how long err asks to wait before the call is sent again; 0 where it does not say.
func RetryAfter(err error) time.Duration {
	var e *Error
	if errors.As(err, &e) {
		return e.RetryAfter
	}
	return 0
}

// kindOf reads the table backwards. A code that it lacks, such as one of a
// newer server or of a proxy in between, is judged by its status.
func kindOf(code Code, status int) error {
	if row, ok := table[code]; ok {
		return row.err
	}
	switch {
	case status == http.StatusUnauthorized:
		return ErrUnauthorized
	case status == http.StatusServiceUnavailable, status == http.StatusTooManyRequests:
		return ErrUnavailable
	case status >= 400 && status < 500:
		return ErrInvalid
	}
	return ErrInternal
}
