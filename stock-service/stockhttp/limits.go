package stockhttp

import (
	"context"
	"time"

	"github.com/gin-gonic/gin"

	"orderstock/pkg/httpapi"
	stock "orderstock/stock-service"
)

// atMost sheds what would be more than n requests at a time.
func atMost(n int) gin.HandlerFunc {
	slots := make(chan struct{}, n)
	return httpapi.Handle(func(c *gin.Context) error {
		select {
		case slots <- struct{}{}:
			defer func() { <-slots }()
			c.Next()
			return nil
		default:
			return stock.ErrOverloaded
		}
	})
}

// within ends a request's work after d, whatever its caller allows.
func within(d time.Duration) gin.HandlerFunc {
	return func(c *gin.Context) {
		if deadline, ok := c.Request.Context().Deadline(); ok && time.Until(deadline) <= d {
			return // its caller waits no longer than that
		}
		ctx, cancel := context.WithTimeout(c.Request.Context(), d)
		defer cancel()
		c.Request = c.Request.WithContext(ctx)
		c.Next()
	}
}
