package httpapi

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/gin-gonic/gin"

	"orderstock/pkg/observe"
)

// Problem is a service's error as sent over the wire: RFC 9457 problem details, with a stable code for programs. Detail
// is for people.
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

// ProblemType is the media type of a Problem.
const ProblemType = "application/problem+json"

// NewProblem returns a problem with that status and code.
func NewProblem(status int, code, format string, args ...any) *Problem {
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

// Handle turns a handler that returns an error into a gin handler. The error becomes the response: a *Problem as it is,
// any other through the table given to NewEngine, and an error missing from the table as 500 "internal", logged.
func Handle(fn func(c *gin.Context) error) gin.HandlerFunc {
	return func(c *gin.Context) {
		if err := fn(c); err != nil {
			var table func(error) *Problem
			if w, ok := c.Writer.(boundedWriter); ok {
				table = w.opts.Problem
			}
			write(c, ProblemOf(c.Request.Context(), err, table))
		}
	}
}

// internal answers a failure of the service's own, which is logged.
var internal = NewProblem(http.StatusInternalServerError, "internal",
	"the request failed; the log has the cause under this request id")

// ProblemOf returns the problem that answers err: a *Problem as it is, any other error through the table, which
// may be nil, and an error missing from the table as 500 "internal". It logs problems of status 500 and above.
func ProblemOf(ctx context.Context, err error, table func(error) *Problem) *Problem {
	var p *Problem
	if !errors.As(err, &p) && table != nil {
		p = table(err)
	}
	if p == nil {
		p = internal
	}
	if p.Status >= http.StatusInternalServerError {
		observe.Logger(ctx).Warn("request failed", "status", p.Status, "code", p.Code, "error", err.Error())
	}
	return p
}

// write sends the problem and ends the chain of handlers.
func write(c *gin.Context, p *Problem) {
	q := p.For(c.Request.Context())
	if q.RetryAfter > 0 {
		c.Header("Retry-After", strconv.FormatInt(q.RetrySeconds(), 10))
	}
	c.Header("Content-Type", ProblemType)
	c.AbortWithStatusJSON(q.Status, q)
}
