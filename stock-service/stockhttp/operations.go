package stockhttp

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"runtime/debug"
	"time"

	"github.com/gin-gonic/gin"

	"orderstock/pkg/batch"
	"orderstock/pkg/httpapi"
	"orderstock/pkg/observe"
	"orderstock/pkg/operation"
	"orderstock/pkg/stockapi"
)

// maxFlags bounds the flags, and the products, of one read.
const maxFlags = 500

// deduct is PUT /v1/operations/{flag}.
func (h *handlers) deduct(c *gin.Context) error {
	ctx := c.Request.Context()
	var body stockapi.DeductRequest
	if err := httpapi.Decode(c, &body); err != nil {
		return err
	}
	observe.AddAttrs(ctx, "flag", c.Param("flag"))
	op, err := h.service.Deduct(ctx, c.Param("flag"), body.Items)
	if err != nil {
		return err
	}
	_, step := observe.Begin(ctx, "reply")
	c.JSON(http.StatusOK, op)
	step.End(nil)
	return nil
}

// deductAll is POST /v1/operations: many deductions in one request. None waits for another, and each is answered as
// soon as it is done.
func (h *handlers) deductAll(c *gin.Context) error {
	var body stockapi.DeductAllRequest
	if err := httpapi.Decode(c, &body); err != nil {
		return err
	}
	n := len(body.Operations)
	if n == 0 || n > stockapi.MaxDeductions {
		return stockapi.Problem(operation.ErrInvalidItems, fmt.Sprintf("name 1 to %d operations", stockapi.MaxDeductions))
	}
	ctx := c.Request.Context()
	answers := make(chan answer, n)
	for i, d := range body.Operations {
		go func() { answers <- h.deductOne(ctx, i, d) }()
	}
	c.Header("Content-Type", "application/x-ndjson")
	c.Status(http.StatusOK)
	out := bufio.NewWriter(c.Writer) // keeps the caller's error, which also ended the operations
	lines := json.NewEncoder(out)
	for i := range n {
		if len(answers) == 0 && i > 0 {
			batch.Yield() // so that deductions of the same group are answered in one write
			if len(answers) == 0 && out.Flush() == nil {
				c.Writer.Flush()
			}
		}
		a := <-answers
		a.replied(lines.Encode(a.DeductAnswer))
	}
	return out.Flush()
}

// answer is the answer to one of the deductions.
type answer struct {
	stockapi.DeductAnswer
	replied func(error) // ends the trace's part, with the reply's error
}

// deductOne executes one of the deductions, as if it had its own request.
func (h *handlers) deductOne(ctx context.Context, index int, d stockapi.Deduction) (a answer) {
	a.Index = index
	ctx = observe.WithPart(ctx, d.RequestID)
	ctx, part := observe.Part(ctx, d.Traceparent, "PUT /v1/operations/:flag")
	defer func() {
		problem := a.Problem
		_, reply := observe.Begin(ctx, "reply")
		a.replied = func(err error) {
			reply.End(err)
			if problem != nil {
				err = problem
			}
			part.End(err)
		}
	}()
	refuse := func(err error) {
		a.Problem = httpapi.ProblemOf(ctx, err, problemOf).For(ctx)
		a.RetryAfter = a.Problem.RetrySeconds()
	}
	defer func() {
		if p := recover(); p != nil {
			refuse(fmt.Errorf("panic: %v\n%s", p, debug.Stack()))
		}
	}()
	if d.TimeoutMS > 0 && d.TimeoutMS <= math.MaxInt32 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, time.Duration(d.TimeoutMS)*time.Millisecond)
		defer cancel()
	}
	if !h.writes.TryAcquire(1) {
		refuse(operation.ErrOverloaded)
		return a
	}
	defer h.writes.Release(1)
	observe.AddAttrs(ctx, "flag", d.Flag)
	op, err := h.service.Deduct(ctx, d.Flag, d.Items)
	if err != nil {
		refuse(err)
		return a
	}
	a.Operation = &op
	return a
}

// cancel is POST /v1/operations/{flag}/cancel.
func (h *handlers) cancel(c *gin.Context) error {
	ctx, flag := c.Request.Context(), c.Param("flag")
	observe.AddAttrs(ctx, "flag", flag)
	op, err := h.service.Cancel(ctx, flag)
	if err != nil {
		return err
	}
	c.JSON(http.StatusOK, op)
	return nil
}

// flows is GET /v1/flows?flag=a&flag=b.
func (h *handlers) flows(c *gin.Context) error {
	query, err := httpapi.Query(c)
	flags := query["flag"]
	if err != nil || len(query) != 1 || len(flags) == 0 || len(flags) > maxFlags {
		return stockapi.Problem(operation.ErrInvalidFlag,
			fmt.Sprintf("name 1 to %d flags, and nothing else: ?flag=a&flag=b", maxFlags))
	}
	operations, flows, err := h.service.Recorded(c.Request.Context(), flags)
	if err != nil {
		return err
	}
	answer := stockapi.FlowsResponse{Operations: make([]operation.Operation, 0, len(operations)), Flows: flows}
	for _, flag := range flags {
		if op, ok := operations[flag]; ok {
			answer.Operations = append(answer.Operations, op)
			delete(operations, flag) // a flag that is named twice is answered once
		}
	}
	c.JSON(http.StatusOK, answer)
	return nil
}
