package stockhttp

import (
	"context"
	"fmt"
	"time"

	"github.com/gin-gonic/gin"
	"golang.org/x/sync/semaphore"

	"orderstock/pkg/httpapi"
	"orderstock/pkg/operation"
)

// shed refuses the requests for which no slot is free.
func shed(slots *semaphore.Weighted) gin.HandlerFunc {
	return httpapi.Handle(func(c *gin.Context) error {
		if !slots.TryAcquire(1) {
			return operation.ErrOverloaded
		}
		defer slots.Release(1)
		c.Next()
		return nil
	})
}

// queue makes requests wait for a slot, until their deadline.
func queue(slots *semaphore.Weighted) gin.HandlerFunc {
	return httpapi.Handle(func(c *gin.Context) error {
		if err := slots.Acquire(c.Request.Context(), 1); err != nil {
			return fmt.Errorf("%w: %w", operation.ErrOverloaded, err)
		}
		defer slots.Release(1)
		c.Next()
		return nil
	})
}

// within ends the work for a request after d, or at its caller's deadline if that is earlier.
func within(d time.Duration) gin.HandlerFunc {
	return func(c *gin.Context) {
		if deadline, ok := c.Request.Context().Deadline(); ok && time.Until(deadline) <= d {
			return // the caller's deadline is no later
		}
		ctx, cancel := context.WithTimeout(c.Request.Context(), d)
		defer cancel()
		c.Request = c.Request.WithContext(ctx)
		c.Next()
	}
}
