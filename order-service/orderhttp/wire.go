package orderhttp

import (
	"cmp"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"orderstock/order-service/order"
	"orderstock/pkg/httpapi"
	"orderstock/pkg/operation"
)

// placeBody is the body of POST /v1/orders.
type placeBody struct {
	Items []operation.Item `json:"items"`
}

// orderBody is an order on the wire.
type orderBody struct {
	ID        string       `json:"id"`
	Status    order.Status `json:"status"`
	Reason    string       `json:"reason"`
	Total     int64        `json:"total"`
	Items     []orderItem  `json:"items"`
	CreatedAt time.Time    `json:"created_at"`
	// UpdatedAt is nil in a body that shows the order at its outcome, which never changes.
	UpdatedAt *time.Time `json:"updated_at,omitempty"`
}

type orderItem struct {
	operation.Item
	Price int64 `json:"price"`
}

// pageBody answers GET /v1/orders.
type pageBody struct {
	Orders []orderBody `json:"orders"`
	// Next is the value of after for the next page; empty on the last.
	Next string `json:"next,omitempty"`
}

// placedBody returns the body that answers a placement.
func placedBody(o order.Order) orderBody {
	b := orderBody{
		ID: strconv.FormatInt(o.ID, 10), Status: o.Status, Reason: o.Reason, Total: o.Total,
		Items: make([]orderItem, len(o.Items)), CreatedAt: o.CreatedAt,
	}
	for i, item := range o.Items {
		b.Items[i] = orderItem{item, o.Prices[i]}
	}
	return b
}

// present returns the body of an order in its current state.
func present(o order.Order) orderBody {
	b := placedBody(o)
	b.UpdatedAt = &o.UpdatedAt
	return b
}

// answers is the table of the codes that differ from the others of their scope: in the status, and the stock service's
// in the name.
var answers = map[operation.Code]struct {
	status int
	name   string
}{
	order.ErrInvalidKey:      {http.StatusBadRequest, ""},
	order.ErrInvalidID:       {http.StatusBadRequest, ""},
	order.ErrNotFound:        {http.StatusNotFound, ""},
	order.ErrRejected:        {http.StatusConflict, ""},
	operation.ErrLocked:      {http.StatusServiceUnavailable, "stock_locked"},
	operation.ErrUnavailable: {http.StatusServiceUnavailable, "stock_unavailable"},
}

// problemOf returns the problem that answers an error with a code, or nil for any other. Its detail begins with the
// code's text. Wrapping text and causes are left out; they go to the log.
func problemOf(err error) *httpapi.Problem {
	code := operation.CodeOf(err)
	if code == (operation.Code{}) {
		return nil
	}
	status, after, detail := http.StatusServiceUnavailable, time.Second, code.Error()
	if code.Scope() == operation.Final {
		status, after = http.StatusUnprocessableEntity, 0
		_, more, _ := strings.Cut(err.Error(), detail)
		detail += more
	}
	row := answers[code]
	p := httpapi.NewProblem(cmp.Or(row.status, status), cmp.Or(row.name, code.Name()), "%s", detail).After(after)
	if locked := (operation.Locked{}); errors.As(err, &locked) {
		p.GoodsID = operation.FormatGoodsID(locked.GoodsID)
	}
	return p
}
