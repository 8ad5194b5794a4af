package orderdb

import (
	"encoding/hex"
	"strconv"
	"time"

	"orderstock/order-service/order"
)

// The statements that a batch shares are written out here and not by gorm:
// they hold hundreds of rows, and placeholders would cost more than the rows.
// Nothing in them is text of a client's: numbers are numbers, and what is not
// is written in hex.

type statement []byte

func (s *statement) text(t string) { *s = append(*s, t...) }

func (s *statement) int(n int64) { *s = strconv.AppendInt(*s, n, 10) }

// bytes writes a string or binary literal.
func (s *statement) bytes(b []byte) {
	s.text("x'")
	*s = hex.AppendEncode(*s, b)
	s.text("'")
}

func (s *statement) time(t time.Time) {
	s.text("'")
	*s = t.UTC().AppendFormat(*s, "2006-01-02 15:04:05.000000")
	s.text("'")
}

func (s *statement) ids(ids []int64) {
	for i, id := range ids {
		if i > 0 {
			s.text(",")
		}
		s.int(id)
	}
}

// insertOrders is one insert for all orders. An order whose key is in use is
// left out, silently: the count of affected rows tells.
func insertOrders(orders []order.Order) string {
	s := make(statement, 0, 128+256*len(orders))
	s.text("INSERT IGNORE INTO orders (id, status, idempotency_key, body_hash, total, created_at, updated_at) VALUES ")
	for i := range orders {
		o := &orders[i]
		if i > 0 {
			s.text(",")
		}
		s.text("(")
		s.int(o.ID)
		s.text(",'PENDING',")
		if o.Key == "" {
			s.text("NULL")
		} else {
			s.bytes([]byte(o.Key))
		}
		s.text(",")
		s.bytes(o.BodyHash[:])
		s.text(",")
		s.int(o.Total)
		s.text(",")
		s.time(o.CreatedAt)
		s.text(",")
		s.time(o.UpdatedAt)
		s.text(")")
	}
	return string(s)
}

func insertItems(orders []order.Order, skip map[int]bool) string {
	s := make(statement, 0, 128+128*len(orders))
	s.text("INSERT INTO order_items (order_id, goods_id, num, price) VALUES ")
	first := true
	for i := range orders {
		if skip[i] {
			continue
		}
		for _, item := range orders[i].Items {
			if !first {
				s.text(",")
			}
			first = false
			s.text("(")
			s.int(orders[i].ID)
			s.text(",")
			s.int(item.GoodsID)
			s.text(",")
			s.int(item.Num)
			s.text(",")
			s.int(item.Price)
			s.text(")")
		}
	}
	return string(s)
}

// lockOrders takes the rows of the orders by rising id.
func lockOrders(ids []int64) string {
	s := make(statement, 0, 128+20*len(ids))
	s.text("SELECT id FROM orders FORCE INDEX (PRIMARY) WHERE id IN (")
	s.ids(ids)
	s.text(") ORDER BY id FOR UPDATE")
	return string(s)
}

// moveOrders is the guarded update of all orders that make the same step. The
// hint keeps a server whose statistics are old from walking, and locking, the
// whole index of one status.
func moveOrders(step step, ids []int64, at time.Time) string {
	s := make(statement, 0, 256+20*len(ids))
	s.text("UPDATE orders FORCE INDEX (PRIMARY) SET status = '")
	s.text(string(step.to))
	s.text("', reason = ")
	if step.reason == "" {
		s.text("''")
	} else {
		s.text("_utf8mb4 ")
		s.bytes([]byte(step.reason))
	}
	if step.to.End() { // the first end is kept for ever
		s.text(", outcome = COALESCE(outcome, '")
		s.text(string(step.to))
		s.text("')")
	}
	s.text(", updated_at = ")
	s.time(at)
	s.text(" WHERE id IN (")
	s.ids(ids)
	s.text(") AND status = '")
	s.text(string(step.from))
	s.text("'")
	return string(s)
}
