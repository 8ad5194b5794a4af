package stockhttp

import (
	"context"
	"time"

	"github.com/gin-gonic/gin"

	"orderstock/pkg/httpapi"
	stock "orderstock/stock-service"
)

// slots bound what is in work at a time.
type slots chan struct{}

// take reports whether a slot was free, which leave gives back.
func (s slots) take() bool {
	select {
	case s <- struct{}{}:
		return true
	default:
		return false
	}
}

func (s slots) leave() { <-s }

// atMost sheds the requests for which no slot is free.
func atMost(s slots) gin.HandlerFunc {
	return httpapi.Handle(func(c *gin.Context) error {
		if !s.take() {
			return stock.ErrOverloaded
		}
		defer s.leave()
		c.Next()
		return nil
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
