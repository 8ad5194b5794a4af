package orderhttp

import (
	"bytes"
	"strconv"
	"time"

	"orderstock/order-service/order"
	"orderstock/pkg/operation"
)

// placeBody is the body of POST /v1/orders.
type placeBody struct {
	Items []placeItem `json:"items"`
}

type placeItem struct {
	GoodsID string   `json:"goods_id"`
	Num     quantity `json:"num"`
}

// quantity is a JSON integer. Any other JSON value becomes -1, which no order takes, so that 1.5, "1" and null are
// invalid quantities instead of malformed JSON.
type quantity int64

// UnmarshalJSON implements json.Unmarshaler.
func (q *quantity) UnmarshalJSON(text []byte) error {
	n, err := strconv.ParseInt(string(bytes.TrimSpace(text)), 10, 64)
	if err != nil {
		n = -1
	}
	*q = quantity(n)
	return nil
}

// domain returns the items. The domain validates them.
func (b placeBody) domain() ([]order.Item, error) {
	if len(b.Items) > operation.MaxItems {
		return nil, operation.ErrInvalidItems
	}
	items := make([]order.Item, len(b.Items))
	for i, item := range b.Items {
		id, err := operation.ParseGoodsID(item.GoodsID)
		if err != nil {
			return nil, err
		}
		items[i] = order.Item{GoodsID: id, Num: int64(item.Num)}
	}
	return items, nil
}

// orderBody is an order on the wire.
type orderBody struct {
	ID        string       `json:"id"`
	Status    order.Status `json:"status"`
	Reason    string       `json:"reason"`
	Total     int64        `json:"total"`
	Items     []orderItem  `json:"items"`
	CreatedAt time.Time    `json:"created_at"`
	// UpdatedAt is nil in a body that shows the order at its first outcome, which never changes.
	UpdatedAt *time.Time `json:"updated_at,omitempty"`
}

type orderItem struct {
	GoodsID string `json:"goods_id"`
	Num     int64  `json:"num"`
	Price   int64  `json:"price"`
}

// pageBody answers GET /v1/orders.
type pageBody struct {
	Orders []orderBody `json:"orders"`
	// Next is the value of after for the next page; empty on the last.
	Next string `json:"next,omitempty"`
}

// firstEnd returns the body that answers a placement.
func firstEnd(o order.Order) orderBody {
	b := orderBody{
		ID: strconv.FormatInt(o.ID, 10), Status: o.Status, Reason: o.Reason, Total: o.Total,
		Items: make([]orderItem, len(o.Items)), CreatedAt: o.CreatedAt,
	}
	for i, item := range o.Items {
		b.Items[i] = orderItem{GoodsID: strconv.FormatInt(item.GoodsID, 10), Num: item.Num, Price: item.Price}
	}
	return b
}

// present returns the body of an order in its current state.
func present(o order.Order) orderBody {
	b := firstEnd(o)
	b.UpdatedAt = &o.UpdatedAt
	return b
}
