package orderdb

import (
	"slices"

	"gorm.io/gorm"

	"orderstock/order-service/order"
	"orderstock/pkg/mysqldb"
)

// The server sets updated_at. An order's age counts from it, and the clocks of two replicas may differ.

// insertOrders inserts all orders. The server leaves out an order whose key is in use, without an error: only the count
// of affected rows shows it.
func insertOrders(tx *gorm.DB, orders []order.Order) (wrote int64, err error) {
	head := "INSERT IGNORE INTO orders (id, status, idempotency_key, body_hash, total, created_at, updated_at"
	traced := slices.ContainsFunc(orders, func(o order.Order) bool { return o.Trace != "" })
	if traced {
		head += ", trace"
	}
	insert := mysqldb.NewInsert(tx, head+") VALUES ")
	for i := range orders {
		o := &orders[i]
		err := insert.Row(func(s *mysqldb.Statement) {
			s.Int(o.ID)
			s.Text(",'PENDING',")
			if o.Key == "" {
				s.Text("NULL")
			} else {
				s.Bytes([]byte(o.Key))
			}
			s.Text(",")
			s.Bytes(o.BodyHash[:])
			s.Text(",")
			s.Int(o.Total)
			s.Text(",")
			s.Time(o.CreatedAt)
			s.Text(",UTC_TIMESTAMP(6)")
			switch {
			case o.Trace != "":
				s.Text(",")
				s.Bytes([]byte(o.Trace))
			case traced:
				s.Text(",NULL")
			}
		})
		if err != nil {
			return 0, err
		}
	}
	return insert.Exec()
}

func insertItems(tx *gorm.DB, orders []order.Order, skip map[int]bool) error {
	insert := mysqldb.NewInsert(tx, "INSERT INTO order_items (order_id, goods_id, num, price) VALUES ")
	for i := range orders {
		if skip[i] {
			continue
		}
		for _, item := range orders[i].Items {
			err := insert.Row(func(s *mysqldb.Statement) { s.Ints([]int64{orders[i].ID, item.GoodsID, item.Num, item.Price}) })
			if err != nil {
				return err
			}
		}
	}
	_, err := insert.Exec()
	return err
}

// lockOrders returns the statement that locks the rows of the orders by ascending id.
func lockOrders(ids []int64) mysqldb.Statement {
	s := make(mysqldb.Statement, 0, 128+20*len(ids))
	s.Text("SELECT id FROM orders FORCE INDEX (PRIMARY) WHERE id IN (")
	s.Ints(ids)
	s.Text(") ORDER BY id FOR UPDATE")
	return s
}

// moveOrders returns the guarded update of all orders that make the same step. The hint keeps a server with outdated
// statistics from walking, and locking, the whole index of one status.
func moveOrders(step step, ids []int64) mysqldb.Statement {
	s := make(mysqldb.Statement, 0, 256+20*len(ids))
	s.Text("UPDATE orders FORCE INDEX (PRIMARY) SET status = '")
	s.Text(string(step.to))
	s.Text("', reason = ")
	s.UTF8(step.reason)
	if step.to.End() { // the first outcome is kept forever
		s.Text(", outcome = COALESCE(outcome, '")
		s.Text(string(step.to))
		s.Text("')")
	}
	s.Text(", updated_at = UTC_TIMESTAMP(6) WHERE id IN (")
	s.Ints(ids)
	s.Text(") AND status = '")
	s.Text(string(step.from))
	s.Text("'")
	return s
}
