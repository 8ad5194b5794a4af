package orderdb

import (
	"slices"

	"orderstock/order-service/order"
	"orderstock/pkg/mysqldb"
)

// The server sets updated_at. An order's age counts from it, and the clocks of two replicas may differ.

// insertOrders returns one insert for all orders. The server silently skips an order whose key is in use: only the
// count of affected rows shows it.
func insertOrders(orders []order.Order) mysqldb.Statement {
	s := make(mysqldb.Statement, 0, 128+256*len(orders))
	s.Text("INSERT IGNORE INTO orders (id, status, idempotency_key, body_hash, total, created_at, updated_at")
	traced := slices.ContainsFunc(orders, func(o order.Order) bool { return o.Trace != "" })
	if traced {
		s.Text(", trace")
	}
	s.Text(") VALUES ")
	for i := range orders {
		o := &orders[i]
		if i > 0 {
			s.Text(",")
		}
		s.Text("(")
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
		s.Text(")")
	}
	return s
}

func insertItems(orders []order.Order, skip map[int]bool) mysqldb.Statement {
	s := make(mysqldb.Statement, 0, 128+128*len(orders))
	s.Text("INSERT INTO order_items (order_id, goods_id, num, price) VALUES ")
	first := true
	for i := range orders {
		if skip[i] {
			continue
		}
		for _, item := range orders[i].Items {
			if !first {
				s.Text(",")
			}
			first = false
			s.Text("(")
			s.Int(orders[i].ID)
			s.Text(",")
			s.Int(item.GoodsID)
			s.Text(",")
			s.Int(item.Num)
			s.Text(",")
			s.Int(item.Price)
			s.Text(")")
		}
	}
	return s
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
