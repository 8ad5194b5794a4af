// Package orderhttp serves the order service's use cases as JSON over HTTP:
//
//	POST /v1/orders              places an order
//	GET  /                       lists the calls
//	GET  /v1/orders/{id}         reads one
//	GET  /v1/orders              reads a page: ?status=&after=&limit=, up to 500 orders and 1,000 items
//	POST /v1/orders/{id}/cancel  cancels one
//
// Limits bound what one client may send. HEAD works wherever GET does. Ids are strings, amounts are whole minor units
// of the currency, errors are problem details with a stable code.
package orderhttp

import (
	"context"
	_ "embed"
	"log/slog"
	"net/http"

	"github.com/gin-gonic/gin"
	"github.com/prometheus/client_golang/prometheus"

	"orderstock/order-service/order"
	"orderstock/pkg/httpapi"
)

// Orders is the use cases to serve: an *order.Service.
type Orders interface {
	Place(ctx context.Context, r order.Request) (order.Placement, error)
	Cancel(ctx context.Context, id int64) (order.Order, error)
	Get(ctx context.Context, id int64) (order.Order, error)
	Page(ctx context.Context, r order.Range, settled bool) (page []order.Order, more bool, err error)
}

var _ Orders = (*order.Service)(nil)

// Config configures New. The zero value is usable.
type Config struct {
	// RequireKey refuses an order without an Idempotency-Key. By default the key is optional.
	RequireKey bool
	// LimitOrders and LimitReads, if not nil, run before the handlers that place and that read orders.
	LimitOrders, LimitReads gin.HandlerFunc
	// Metrics, if not nil, registers the counts and durations of requests.
	Metrics prometheus.Registerer
	// Checks are the readiness checks of /readyz.
	Checks map[string]httpapi.Check
	// Console, if not "", is the address of the console, for GET /.
	Console string
}

// OpenAPI describes the API. Tests compare it with the routes, the types and every answer.
//
//go:embed openapi.json
var OpenAPI []byte

// New returns the handler of the order service.
func New(orders Orders, cfg Config, log *slog.Logger) http.Handler {
	h := &handlers{orders: orders, requireKey: cfg.RequireKey}
	e := httpapi.NewEngine(log, httpapi.Options{Problem: problemOf, Metrics: cfg.Metrics})
	httpapi.Health(e, cfg.Checks)
	httpapi.Describe(e, OpenAPI)
	place, read := e.Group("/v1/orders"), e.Group("/v1/orders")
	if cfg.LimitOrders != nil {
		place.Use(cfg.LimitOrders)
	}
	if cfg.LimitReads != nil {
		read.Use(cfg.LimitReads)
	}
	place.POST("", httpapi.Handle(h.place))
	index := links(cfg.Console)
	httpapi.Get(e, "/", func(c *gin.Context) { c.JSON(http.StatusOK, index) })
	httpapi.Get(read, "", httpapi.Handle(h.page))
	httpapi.Get(read, "/:id", httpapi.Handle(h.get))
	e.POST("/v1/orders/:id/cancel", httpapi.Handle(h.cancel))
	return e
}

// links returns the answer to GET /.
func links(console string) map[string]any {
	all := map[string]any{
		"service": "order-service",
		"calls": []string{
			"POST /v1/orders", "GET /v1/orders?status=&after=&limit=", "GET /v1/orders/{id}",
			"POST /v1/orders/{id}/cancel", "GET /healthz", "GET /readyz", "GET /openapi.json", "GET /docs",
		},
		"documentation": "/docs",
		"description":   "/openapi.json",
		"orders":        "/v1/orders",
		"ready":         "/readyz",
	}
	if console != "" {
		all["console"] = console
	}
	return all
}

type handlers struct {
	orders     Orders
	requireKey bool
}
