package stockhttp

import (
	"fmt"
	"net/http"
	"time"

	"github.com/gin-gonic/gin"

	"orderstock/pkg/httpapi"
	"orderstock/pkg/observe"
	"orderstock/pkg/operation"
	"orderstock/pkg/stockapi"
	"orderstock/pkg/tracing"
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
	began := time.Now()
	c.JSON(http.StatusOK, op)
	tracing.Past(ctx, "reply", began, nil)
	return nil
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
