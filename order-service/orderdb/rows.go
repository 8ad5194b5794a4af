package orderdb

import (
	"time"

	"orderstock/order-service/order"
)

// orderRow is a row of orders. The server sets updated_at: an order's age counts from it, and the clocks of replicas
// differ.
type orderRow struct {
	ID             int64
	Status         string
	Outcome        *string
	Reason         string
	IdempotencyKey *string
	BodyHash       []byte
	Total          int64
	CreatedAt      time.Time
	UpdatedAt      time.Time
	Trace          *string
}

// TableName names the table for gorm.
func (orderRow) TableName() string { return "orders" }

// itemRow is a row of order_items.
type itemRow struct {
	OrderID int64
	GoodsID int64
	Num     int64
	Price   int64
}

// TableName names the table for gorm.
func (itemRow) TableName() string { return "order_items" }

func (r orderRow) domain() order.Order {
	o := order.Order{
		ID: r.ID, Status: order.Status(r.Status), Reason: r.Reason, Total: r.Total,
		CreatedAt: r.CreatedAt.UTC(), UpdatedAt: r.UpdatedAt.UTC(),
	}
	if r.Outcome != nil {
		o.Outcome = order.Status(*r.Outcome)
	}
	if r.IdempotencyKey != nil {
		o.Key = *r.IdempotencyKey
	}
	if r.Trace != nil {
		o.Trace = *r.Trace
	}
	copy(o.BodyHash[:], r.BodyHash)
	return o
}
