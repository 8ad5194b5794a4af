package orderhttp

import (
	"errors"
	"net/http"
	"strings"
	"time"

	"orderstock/order-service/order"
	"orderstock/pkg/httpapi"
	"orderstock/pkg/operation"
)

// problems is the one table from the domain's errors to HTTP statuses and codes. The first match counts.
var problems = []struct {
	err        error
	status     int
	code       string
	retryAfter time.Duration
}{
	{order.ErrInvalidKey, http.StatusBadRequest, "invalid_idempotency_key", 0},
	{order.ErrInvalidID, http.StatusBadRequest, "invalid_order_id", 0},
	{operation.ErrInvalidItems, http.StatusUnprocessableEntity, "invalid_items", 0},
	{operation.ErrInvalidNum, http.StatusUnprocessableEntity, "invalid_num", 0},
	{operation.ErrInvalidGoodsID, http.StatusUnprocessableEntity, "invalid_goods_id", 0},
	{operation.ErrDuplicateGoods, http.StatusUnprocessableEntity, "duplicate_goods", 0},
	{order.ErrTotalOverflow, http.StatusUnprocessableEntity, "total_overflow", 0},
	{order.ErrUnknownGoods, http.StatusUnprocessableEntity, "unknown_goods", 0},
	{order.ErrKeyReused, http.StatusUnprocessableEntity, "idempotency_key_reused", 0},
	{errInvalidPage, http.StatusUnprocessableEntity, "invalid_page", 0},
	{order.ErrNotFound, http.StatusNotFound, "order_not_found", 0},
	{order.ErrRejected, http.StatusConflict, "order_rejected", 0},
	{order.ErrUnanswered, http.StatusServiceUnavailable, "unknown_outcome", time.Second},
	{operation.ErrLocked, http.StatusServiceUnavailable, "stock_locked", time.Second},
	{order.ErrOverloaded, http.StatusServiceUnavailable, "overloaded", time.Second},
	{order.ErrStockUnavailable, http.StatusServiceUnavailable, "stock_unavailable", time.Second},
	{order.ErrUnavailable, http.StatusServiceUnavailable, "unavailable", time.Second},
}

// problemOf returns the problem that answers err, or nil if the table has none. Its detail begins with the text of the
// domain's error. Wrapping text and causes are left out; they go to the log.
func problemOf(err error) *httpapi.Problem {
	for _, row := range problems {
		if errors.Is(err, row.err) {
			detail := row.err.Error()
			if _, more, ok := strings.Cut(err.Error(), detail); ok && row.status < http.StatusInternalServerError {
				detail += more
			}
			p := httpapi.NewProblem(row.status, row.code, "%s", detail).After(row.retryAfter)
			if locked := (operation.Locked{}); errors.As(err, &locked) {
				p.GoodsID = operation.FormatGoodsID(locked.GoodsID)
			}
			return p
		}
	}
	return nil
}
