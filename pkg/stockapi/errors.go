package stockapi

import (
	"errors"
	"net/http"
	"time"

	"orderstock/pkg/httpapi"
	"orderstock/pkg/operation"
)

// The errors of calls, besides operation.ErrLocked; match with errors.Is. After it, ErrUnavailable, ErrOverloaded
// and ErrUnknownOutcome the same call may succeed if it is sent again with the same
// flag. After the others it would fail again.
var (
	// ErrUnavailable: nothing was done; the stock service, its lock or its database did not answer in time.
	ErrUnavailable = errors.New("stock service unavailable")
	// ErrOverloaded: nothing was done; the stock service is overloaded.
	ErrOverloaded = errors.New("stock service overloaded")
	// ErrUnknownOutcome: the call may or may not have taken effect. The outcome under its flag decides.
	ErrUnknownOutcome = errors.New("outcome unknown")
	// ErrFlagConflict: the flag is in use for something else.
	ErrFlagConflict = errors.New("flag used for something else")
	// ErrUnknownGoods: there is no such product. Nothing was recorded under the flag.
	ErrUnknownGoods = errors.New("unknown product")
	// ErrInvalid: the request breaks a rule; the detail says which.
	ErrInvalid = errors.New("invalid request")
	// ErrUnauthorized: the service token is missing or wrong.
	ErrUnauthorized = errors.New("unauthorized")
	// ErrInternal: the stock service failed unexpectedly; the effect of the call is unknown.
	ErrInternal = errors.New("stock service failed")
)

// Code is the stable name of an error in the API.
type Code string

// The codes that the stock service answers with, in addition to package httpapi's.
const (
	CodeUnavailable    Code = "unavailable"
	CodeOverloaded     Code = "overloaded"
	CodeLocked         Code = "locked"
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

// table is the one place that relates codes, errors and statuses. The server looks up the status of a code, the client
// the error.
var table = map[Code]struct {
	err        error
	status     int
	retryAfter time.Duration
}{
	CodeUnavailable:    {ErrUnavailable, http.StatusServiceUnavailable, time.Second},
	CodeOverloaded:     {ErrOverloaded, http.StatusServiceUnavailable, time.Second},
	CodeLocked:         {operation.ErrLocked, http.StatusServiceUnavailable, time.Second},
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

// Problem returns the answer with this code. An unknown code becomes CodeInternal.
func Problem(code Code, detail string) *httpapi.Problem {
	row, ok := table[code]
	if !ok {
		code, row = CodeInternal, table[CodeInternal]
	}
	return httpapi.NewProblem(row.status, string(code), "%s", detail).After(row.retryAfter)
}

// Error is an answer that is not 2xx. It unwraps to one of the errors above.
type Error struct {
	Code   Code
	Status int
	Detail string
	// RetryAfter is the time after which the service asks to be called again, or 0.
	RetryAfter time.Duration

	kind error
}

func (e *Error) Error() string { return "stock service: " + string(e.Code) + ": " + e.Detail }

// Unwrap returns the error that table relates to the code.
func (e *Error) Unwrap() error { return e.kind }

// RetryAfter returns how long err asks to wait before a retry, or 0.
func RetryAfter(err error) time.Duration {
	var e *Error
	if errors.As(err, &e) {
		return e.RetryAfter
	}
	return 0
}

// kindOf returns the error of a code. For a code missing from the table, for example from a newer server or a proxy,
// the status decides.
func kindOf(code Code, status int) error {
	if row, ok := table[code]; ok {
		return row.err
	}
	switch {
	case status == http.StatusUnauthorized:
		return ErrUnauthorized
	case status == http.StatusServiceUnavailable, status == http.StatusTooManyRequests, status < 400: // not followed
		return ErrUnavailable
	case status >= 400 && status < 500:
		return ErrInvalid
	}
	return ErrInternal
}
