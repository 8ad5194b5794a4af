// Package stockhttp serves the stock service over HTTP: routes, limits, and the table from the domain's errors to the
// codes of package stockapi.
package stockhttp

import (
	"cmp"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/semaphore"

	"orderstock/pkg/httpapi"
	"orderstock/pkg/operation"
	"orderstock/pkg/stockapi"
	"orderstock/stock-service/stock"
)

// Config configures New.
type Config struct {
	// Token is the service token that every call of /v1 must carry.
	Token string
	// OldToken, if not empty, is accepted as well: the previous token, while callers change to Token.
	OldToken string
	// MaxInFlight bounds the operations in flight. One more is answered 503 overloaded at once. Default 2048.
	MaxInFlight int
	// Timeout bounds the work for a request, unless its caller sets an earlier deadline. Default 5 s.
	Timeout time.Duration
	// Metrics, if not nil, registers the counts and durations of requests.
	Metrics prometheus.Registerer
	// Checks are the readiness checks of /readyz.
	Checks map[string]httpapi.Check
}

// OpenAPI describes the API. Tests compare it with the routes, the types and every answer.
//
//go:embed openapi.json
var OpenAPI []byte

// New returns the handler of the stock service.
func New(service *stock.Service, cfg Config, log *slog.Logger) http.Handler {
	cfg.MaxInFlight, cfg.Timeout = cmp.Or(cfg.MaxInFlight, 2048), cmp.Or(cfg.Timeout, 5*time.Second)
	h := &handlers{service: service, writes: semaphore.NewWeighted(int64(cfg.MaxInFlight))}
	e := httpapi.NewEngine(log, httpapi.Options{Problem: problemOf, MaxBody: maxBody, Metrics: cfg.Metrics})
	httpapi.Health(e, cfg.Checks)
	httpapi.Describe(e, OpenAPI)
	v1 := e.Group("/v1", httpapi.Bearer(cfg.Token, cfg.OldToken), within(cfg.Timeout))

	v1.POST("/operations", httpapi.Handle(h.deductAll)) // each of its operations takes a slot
	writes := v1.Group("", shed(h.writes))
	writes.PUT("/operations/:flag", httpapi.Handle(h.deduct))
	writes.POST("/operations/:flag/cancel", httpapi.Handle(h.cancel))
	writes.POST("/stock/:goods_id/restock", httpapi.Handle(h.restock))

	reads := v1.Group("", queue(semaphore.NewWeighted(readsAtOnce)))
	reads.GET("/flows", httpapi.Handle(h.flows))
	reads.GET("/stock", httpapi.Handle(h.stock))
	reads.GET("/stock/:goods_id", httpapi.Handle(h.goods))
	return e
}

// readsAtOnce bounds the reads in flight, so that operations keep connections and memory. Further reads wait.
const readsAtOnce = 16

// maxBody is enough for the largest shared request: MaxDeductions operations of MaxItems items.
const maxBody = 512 << 10

// MaxHeader is enough for the request line with the most flags, of 64 characters each, and for the headers.
const MaxHeader = 64 << 10

type handlers struct {
	service *stock.Service
	writes  *semaphore.Weighted // operations in flight
}

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
		ctx, cancel := context.WithTimeout(c.Request.Context(), d)
		defer cancel()
		c.Request = c.Request.WithContext(ctx)
		c.Next()
	}
}

// problemOf returns the answer for an error with a code, or nil for any other. The detail of a 503 says what failed;
// the cause stays in the log.
func problemOf(err error) *httpapi.Problem {
	code := operation.CodeOf(err)
	if code == (operation.Code{}) {
		return nil
	}
	p := stockapi.Problem(code, err.Error())
	if p.Status >= 500 {
		p.Detail = code.Error()
	}
	if locked := (operation.Locked{}); code == operation.ErrLocked && errors.As(err, &locked) {
		p.GoodsID = operation.FormatGoodsID(locked.GoodsID)
	}
	return p
}
