package httpapi

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/gin-gonic/gin"
)

// Problem is an error as it goes over the wire: RFC 9457 problem details with
// a stable Code to decide by. Detail is for people.
type Problem struct {
	Type      string `json:"type"`
	Title     string `json:"title"`
	Status    int    `json:"status"`
	Code      string `json:"code"`
	Detail    string `json:"detail,omitempty"`
	RequestID string `json:"request_id,omitempty"`

	// RetryAfter, where above zero, is sent as the header of that name, in whole seconds rounded up.
	RetryAfter time.Duration `json:"-"`
}

// ProblemType is the media type of a Problem.
const ProblemType = "application/problem+json"

// Errorf returns a problem with that status and code.
func Errorf(status int, code, format string, args ...any) *Problem {
	return &Problem{Type: "about:blank", Title: http.StatusText(status), Status: status, Code: code, Detail: fmt.Sprintf(format, args...)}
}

// Error returns the code and the detail.
func (p *Problem) Error() string { return p.Code + ": " + p.Detail }

// After returns a copy that asks the caller to come back after d.
func (p *Problem) After(d time.Duration) *Problem {
	q := *p
	q.RetryAfter = d
	return &q
}

// Handle turns a handler that returns an error into a gin handler. The error
// becomes the response: a *Problem as it is, any other through the table given
// to NewEngine, and what the table does not know as 500 "internal", logged.
func Handle(fn func(c *gin.Context) error) gin.HandlerFunc {
	return func(c *gin.Context) {
		if err := fn(c); err != nil {
			fail(c, err)
		}
	}
}

func fail(c *gin.Context, err error) {
	table, _ := c.Get(tableKey)
	known, _ := table.(func(error) *Problem)
	write(c, ProblemOf(c.Request.Context(), err, known))
}

// ProblemOf returns what answers err: a *Problem as it is, any other error through the table, which
// may be nil, and what the table does not know as 500 "internal". It logs those of 500 and above.
func ProblemOf(ctx context.Context, err error, table func(error) *Problem) *Problem {
	var p *Problem
	if !errors.As(err, &p) && table != nil {
		p = table(err)
	}
	if p == nil {
		p = Errorf(http.StatusInternalServerError, "internal", "the request failed; the log has the cause under this request id")
	}
	if p.Status >= http.StatusInternalServerError {
		Logger(ctx).Warn("request failed", "status", p.Status, "code", p.Code, "error", err.Error())
	}
	return p
}

// For returns a copy with the id of the request that ctx belongs to.
func (p *Problem) For(ctx context.Context) *Problem {
	q := *p
	q.RequestID = RequestID(ctx)
	return &q
}

// RetrySeconds returns RetryAfter as it goes over the wire: whole seconds, rounded up.
func (p *Problem) RetrySeconds() int64 { return int64((p.RetryAfter + time.Second - 1) / time.Second) }

// write sends the problem and ends the chain of handlers.
func write(c *gin.Context, p *Problem) {
	q := p.For(c.Request.Context())
	if q.RetryAfter > 0 {
		c.Header("Retry-After", strconv.FormatInt(q.RetrySeconds(), 10))
	}
	c.Header("Content-Type", ProblemType)
	c.AbortWithStatusJSON(q.Status, q)
}
