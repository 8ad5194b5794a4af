// Package problem is the form of a service's errors: RFC 9457 problem details, with a stable code for programs.
package problem

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"orderstock/pkg/observe"
)

// Problem is an error as sent over the wire. Detail is for people.
type Problem struct {
	Type      string `json:"type"`
	Title     string `json:"title"`
	Status    int    `json:"status"`
	Code      string `json:"code"`
	Detail    string `json:"detail,omitempty"`
	RequestID string `json:"request_id,omitempty"`
	// GoodsID names the product that the problem concerns, if it concerns no other.
	GoodsID string `json:"goods_id,omitempty"`

	// RetryAfter, if above zero, is sent as the header of that name, in whole seconds rounded up.
	RetryAfter time.Duration `json:"-"`
}

// Type is the media type of a Problem.
const Type = "application/problem+json"

// New returns a problem with that status and code.
func New(status int, code, format string, args ...any) *Problem {
	return &Problem{
		Type: "about:blank", Title: http.StatusText(status), Status: status, Code: code,
		Detail: fmt.Sprintf(format, args...),
	}
}

// Error returns the code and the detail.
func (p *Problem) Error() string { return p.Code + ": " + p.Detail }

// After returns a copy that asks the caller to retry after d.
func (p *Problem) After(d time.Duration) *Problem {
	q := *p
	q.RetryAfter = d
	return &q
}

// For returns a copy with the id of the request that ctx belongs to.
func (p *Problem) For(ctx context.Context) *Problem {
	q := *p
	q.RequestID = observe.RequestID(ctx)
	return &q
}

// RetrySeconds returns RetryAfter as it goes over the wire: whole seconds, rounded up.
func (p *Problem) RetrySeconds() int64 { return int64((p.RetryAfter + time.Second - 1) / time.Second) }
