package httpapi

import (
	"context"
	"errors"
	"net/http"
	"strconv"

	"github.com/gin-gonic/gin"

	"orderstock/pkg/observe"
	"orderstock/pkg/problem"
)

// Handle turns a handler that returns an error into a gin handler. The error becomes the response: a *problem.Problem
// as it is, any other through the table given to NewEngine, and an error missing from the table as 500 "internal",
// logged.
func Handle(fn func(c *gin.Context) error) gin.HandlerFunc {
	return func(c *gin.Context) {
		if err := fn(c); err != nil {
			fail(c, err)
		}
	}
}

func fail(c *gin.Context, err error) {
	table, _ := c.Get(tableKey)
	known, _ := table.(func(error) *problem.Problem)
	write(c, ProblemOf(c.Request.Context(), err, known))
}

// ProblemOf returns the problem that answers err: a *problem.Problem as it is, any other error through the table, which
// may be nil, and an error missing from the table as 500 "internal". It logs problems of status 500 and above.
func ProblemOf(ctx context.Context, err error, table func(error) *problem.Problem) *problem.Problem {
	var p *problem.Problem
	if !errors.As(err, &p) && table != nil {
		p = table(err)
	}
	if p == nil {
		p = problem.New(http.StatusInternalServerError, "internal",
			"the request failed; the log has the cause under this request id")
	}
	if p.Status >= http.StatusInternalServerError {
		observe.Logger(ctx).Warn("request failed", "status", p.Status, "code", p.Code, "error", err.Error())
	}
	return p
}

// write sends the problem and ends the chain of handlers.
func write(c *gin.Context, p *problem.Problem) {
	q := p.For(c.Request.Context())
	if q.RetryAfter > 0 {
		c.Header("Retry-After", strconv.FormatInt(q.RetrySeconds(), 10))
	}
	c.Header("Content-Type", problem.Type)
	c.AbortWithStatusJSON(q.Status, q)
}
