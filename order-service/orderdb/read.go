package orderdb

import (
	"context"
	"time"

	"gorm.io/gorm"

	"orderstock/order-service/order"
	"orderstock/pkg/batch"
	"orderstock/pkg/coordination"
	"orderstock/pkg/mysqldb"
	"orderstock/pkg/operation"
)

// orderRow is a row of orders.
type orderRow struct {
	ID             int64
	Status         order.Status
	Outcome        order.Status
	Reason         string
	IdempotencyKey string
	BodyHash       string
	Total          int64
	CreatedAt      time.Time
	UpdatedAt      time.Time
	Trace          string
}

// TableName implements schema.Tabler of gorm.
func (orderRow) TableName() string { return "orders" }

// domain returns the order of the row, without its items.
func (r orderRow) domain() order.Order {
	return order.Order{
		ID: r.ID, Status: r.Status, Outcome: r.Outcome, Reason: r.Reason, Key: r.IdempotencyKey, BodyHash: r.BodyHash,
		Total: r.Total, CreatedAt: r.CreatedAt, UpdatedAt: r.UpdatedAt, Trace: r.Trace,
	}
}

// lookUps lets concurrent calls share a statement. Each gets the orders of all.
type lookUps[K comparable] = batch.Queue[K, map[K]order.Order]

// lookUp returns the order of the key, or ErrNotFound, or ErrOverloaded or ErrUnavailable.
func lookUp[K comparable](ctx context.Context, all *lookUps[K], key K) (order.Order, error) {
	found, err := all.Do(ctx, key)
	if err != nil {
		return order.Order{}, unavailable("read order", err)
	}
	o, ok := found[key]
	if !ok {
		return order.Order{}, order.ErrNotFound
	}
	return o, nil
}

// FindByKey implements order.Store. Concurrent calls share one statement.
func (d *DB) FindByKey(ctx context.Context, key string) (order.Order, error) {
	return lookUp(ctx, d.byKey, key)
}

// Status implements order.Store. Concurrent calls share one statement.
func (d *DB) Status(ctx context.Context, id int64) (order.Order, error) {
	return lookUp(ctx, d.byID, id)
}

// ordersByKey returns the orders that have these keys.
func (d *DB) ordersByKey(ctx context.Context, keys []string) (map[string]order.Order, error) {
	byKey := make(map[string]order.Order, len(keys))
	for keys := range mysqldb.Lists(keys) {
		found, err := d.load(ctx, d.db.Where("idempotency_key IN ?", keys))
		if err != nil {
			return nil, err
		}
		for _, o := range found {
			byKey[o.Key] = o
		}
	}
	return byKey, nil
}

// ordersByID returns the orders with these ids, without their items.
func (d *DB) ordersByID(ctx context.Context, ids []int64) (map[int64]order.Order, error) {
	var rows []orderRow
	err := again(ctx, func() error { return d.db.WithContext(ctx).Where("id IN ?", ids).Find(&rows).Error })
	if err != nil {
		return nil, err
	}
	byID := make(map[int64]order.Order, len(rows))
	for _, row := range rows {
		byID[row.ID] = row.domain()
	}
	return byID, nil
}

// Get implements order.Store.
func (d *DB) Get(ctx context.Context, id int64) (order.Order, error) {
	found, err := d.load(ctx, d.db.Where("id = ?", id))
	if err != nil {
		return order.Order{}, unavailable("read order", err)
	}
	if len(found) == 0 {
		return order.Order{}, order.ErrNotFound
	}
	return found[0], nil
}

// Page implements order.Store.
func (d *DB) Page(ctx context.Context, r order.Range) (page []order.Order, more bool, err error) {
	query := d.db.Where("id > ?", r.After)
	if !r.Before.IsZero() {
		query = query.Where("id < ?", coordination.FirstID(r.Before))
	}
	if r.Status != "" {
		query = query.Where("status = ?", string(r.Status))
	}
	found, more, err := d.loadPart(ctx, query.Limit(r.Limit+1), order.MaxPageItems) // one more row shows the end
	if err != nil {
		return nil, false, unavailable("read page of orders", err)
	}
	if len(found) > r.Limit {
		return found[:r.Limit], true, nil
	}
	return found, more, nil
}

// Now implements order.Store.
func (d *DB) Now(ctx context.Context) (now time.Time, err error) {
	err = again(ctx, func() error { return d.db.WithContext(ctx).Raw("SELECT UTC_TIMESTAMP(6)").Scan(&now).Error })
	if err != nil {
		return time.Time{}, unavailable("read the clock", err)
	}
	return now.UTC(), nil
}

// Stuck implements order.Store.
func (d *DB) Stuck(
	ctx context.Context, status order.Status, after int64, changed time.Time, limit int,
) ([]order.Order, error) {
	found, err := d.load(ctx, d.db.
		Where("status = ? AND id > ? AND updated_at < ?", string(status), after, changed).Limit(limit))
	if err != nil {
		return nil, unavailable("read unsettled orders", err)
	}
	return found, nil
}

// Backlog implements order.Store.
func (d *DB) Backlog(ctx context.Context, status order.Status, changed time.Time) (count int64, oldest time.Time,
	err error,
) {
	var row struct {
		Count  int64
		Oldest *time.Time
	}
	err = again(ctx, func() error {
		return d.db.WithContext(ctx).Model(orderRow{}).Select("COUNT(*) AS count, MIN(updated_at) AS oldest").
			Where("status = ? AND updated_at < ?", string(status), changed).Scan(&row).Error
	})
	if err != nil {
		return 0, time.Time{}, unavailable("count unsettled orders", err)
	}
	if row.Oldest != nil {
		oldest = row.Oldest.UTC()
	}
	return row.Count, oldest, nil
}

// load returns the orders of the query with their items, by ascending id.
func (d *DB) load(ctx context.Context, query *gorm.DB) ([]order.Order, error) {
	orders, _, err := d.loadPart(ctx, query, 0)
	return orders, err
}

// loadPart is load for the first orders of the query that have at most maxItems items together, 0 for no bound. It
// reports whether it left some out.
func (d *DB) loadPart(ctx context.Context, query *gorm.DB, maxItems int) (part []order.Order, more bool, err error) {
	var rows []orderRow
	if err := again(ctx, func() error { return query.WithContext(ctx).Order("id").Find(&rows).Error }); err != nil {
		return nil, false, err
	}
	orders, ids, place := make([]order.Order, len(rows)), make([]int64, len(rows)), make(map[int64]int, len(rows))
	for i, row := range rows {
		orders[i], ids[i], place[row.ID] = row.domain(), row.ID, i
	}
	type itemRow struct {
		OrderID int64
		operation.Item
		Price int64
	}
	var items []itemRow
	for ids := range mysqldb.Lists(ids) {
		if maxItems > 0 && len(items) > maxItems {
			break
		}
		var found []itemRow
		err := again(ctx, func() error {
			query := d.db.WithContext(ctx).Table("order_items").Where("order_id IN ?", ids).Order("order_id, goods_id")
			if maxItems > 0 {
				query = query.Limit(maxItems + 1)
			}
			return query.Find(&found).Error
		})
		if err != nil {
			return nil, false, err
		}
		items = append(items, found...)
	}
	if maxItems > 0 && len(items) > maxItems { // the last order read may lack items
		orders, more = orders[:place[items[maxItems].OrderID]], true
	}
	for _, item := range items {
		if i := place[item.OrderID]; i < len(orders) {
			orders[i].Items = append(orders[i].Items, item.Item)
			orders[i].Prices = append(orders[i].Prices, item.Price)
		}
	}
	return orders, more, nil
}
