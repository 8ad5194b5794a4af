package orderhttp

import (
	"context"
	"log/slog"
	"net/http"

	"github.com/gin-gonic/gin"

	"orderstock/order-service/order"
	"orderstock/pkg/httpapi"
)

// Orders is what is served: an *order.Service.
type Orders interface {
	Place(ctx context.Context, r order.Request) (order.Placement, error)
	Cancel(ctx context.Context, id int64) (order.Order, error)
	Get(ctx context.Context, id int64) (order.Order, error)
	Page(ctx context.Context, status order.Status, after int64, limit int) (page []order.Order, more bool, err error)
}

var _ Orders = (*order.Service)(nil)

// New returns the handler of the order service. The checks are what /readyz asks.
func New(orders Orders, checks map[string]httpapi.Check, log *slog.Logger) http.Handler {
	h := &handlers{orders: orders}
	e := httpapi.NewEngine(log, httpapi.Options{Problem: problemOf})
	httpapi.Health(e, checks)
	e.POST("/v1/orders", httpapi.Handle(h.place))
	httpapi.Get(e, "/", func(c *gin.Context) { c.JSON(http.StatusOK, links) })
	httpapi.Get(e, "/v1/orders", httpapi.Handle(h.page))
	httpapi.Get(e, "/v1/orders/:id", httpapi.Handle(h.get))
	e.POST("/v1/orders/:id/cancel", httpapi.Handle(h.cancel))
	return e
}

// links is what GET / answers.
var links = map[string]any{
	"service": "order-service",
	"calls": []string{
		"POST /v1/orders", "GET /v1/orders?status=&after=&limit=", "GET /v1/orders/{id}",
		"POST /v1/orders/{id}/cancel", "GET /healthz", "GET /readyz",
	},
	"documentation": "order-service/README.md in the source",
	"orders":        "/v1/orders",
	"ready":         "/readyz",
}

type handlers struct {
	orders Orders
}
