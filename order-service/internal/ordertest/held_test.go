package ordertest_test

import (
	"bytes"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"orderstock/order-service/order"
)

// holdOnce holds the row of product 1 until an order has met it, and frees it: from now on the replica believes that
// the product is held.
func (r *replica) holdOnce() {
	r.w.t.Helper()
	tx := r.w.stockDB.Begin()
	must(r.w.t, tx.Exec("SET SESSION wait_timeout = 600").Error)
	must(r.w.t, tx.Exec("SELECT num FROM stock WHERE goods_id = 1 FOR UPDATE").Error)
	r.place("", 1, 1).want(r.w.t, http.StatusAccepted, order.Pending)
	must(r.w.t, tx.Rollback().Error)
}

// A product was held once and is free. A call that is let pass to find that out ends another way: the next call finds
// it out, and nobody is refused after that.
func TestALookThatFindsNothingOutIsLeftToTheNextCall(t *testing.T) {
	t.Run("the key has an order", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		var inserts atomic.Int64
		r, _ := w.behind(enough, func(sent []byte) bool {
			if bytes.Contains(sent, []byte("INSERT IGNORE INTO orders")) {
				inserts.Add(1)
			}
			return false
		})
		w.restock(1, 100)
		r.place("key", 1, 1).want(t, http.StatusCreated)
		r.holdOnce()
		eventually(t, "a repeat is let pass", func() bool {
			before := inserts.Load()
			r.place("key", 1, 1).want(t, http.StatusCreated)
			return inserts.Load() > before
		})
		r.place("", 1, 1).want(t, http.StatusCreated)
	})
	t.Run("the insert fails", func(t *testing.T) {
		t.Parallel()
		w, r := serve(t, enough, 100)
		r.holdOnce()
		must(t, w.orderDB.Exec("RENAME TABLE orders TO gone").Error)
		eventually(t, "an order is let pass", func() bool { return r.place("", 1, 1).order.Code != "stock_locked" })
		must(t, w.orderDB.Exec("RENAME TABLE gone TO orders").Error)
		r.place("", 1, 1).want(t, http.StatusCreated)
	})
	t.Run("the cancelled order had no deduction", func(t *testing.T) {
		t.Parallel()
		w, r := serve(t, enough, 100)
		cancelOneThenPlace(t, w, r, func(order.Order) {})
	})
	t.Run("the cancelled order's deduction is returned", func(t *testing.T) {
		t.Parallel()
		w, r := serve(t, enough, 100)
		cancelOneThenPlace(t, w, r, func(o order.Order) { deducted(w, r, o) })
	})
}

// cancelOneThenPlace has the reconciler finish cancellations of a product that was held once. As soon as it has
// finished one, orders for the product are placed.
func cancelOneThenPlace(t *testing.T, w *world, r *replica, prepare func(order.Order)) {
	t.Helper()
	const n = 10
	for range n {
		o := w.insert(r, time.Minute, 1, 1)
		prepare(o)
		moved(order.Pending, order.Cancelling)(w, r, o)
	}
	r.holdOnce()
	cancelled := func() (cancelled int64) {
		must(t, w.orderDB.Table("orders").Where("status = 'CANCELLED'").Count(&cancelled).Error)
		return cancelled
	}
	reconciler := r.reconciler()
	round := func() {
		_, err := reconciler.Round(t.Context())
		must(t, err)
	}
	eventually(t, "a cancellation is let pass", func() bool { round(); return cancelled() > 0 })
	for range n {
		r.place("", 1, 1).want(t, http.StatusCreated)
		round()
	}
	if cancelled() != n {
		t.Errorf("%d of %d orders are cancelled", cancelled(), n)
	}
}
