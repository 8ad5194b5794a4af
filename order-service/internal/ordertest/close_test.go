package ordertest_test

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"time"

	"orderstock/order-service/order"
)

func TestClosingFinishesAbandonedOrders(t *testing.T) {
	t.Parallel()
	w, r := serve(t, order.Config{PendingLimit: time.Minute}, 10)
	w.restock(2, 1000) // for orders that come before the end
	w.wire.breakAll(deductions(hold))
	a := r.place("key", 1, 4)
	a.want(t, http.StatusAccepted)
	closed := make(chan error, 1)
	go func() { closed <- r.Close(t.Context()) }()
	eventually(t, "no further orders are taken", func() bool {
		return r.place("", 2, 1).order.Code == "unavailable"
	})
	select {
	case err := <-closed:
		t.Fatalf("closed (%v) while an order is under way", err)
	default:
	}
	w.wire.heal()
	must(t, <-closed)
	r.wantOrder(a.id(t), order.Confirmed, order.Confirmed)
	w.wantLevel(1, 6)
}

func TestClosingIsBounded(t *testing.T) {
	t.Parallel()
	w, r := serve(t, order.Config{PendingLimit: time.Minute}, 10)
	w.wire.breakAll(deductions(hold))
	a := r.place("key", 1, 4)
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if err := r.Close(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("closing an order that does not end: %v", err)
	}
	r.wantOrder(a.id(t), order.Pending, "") // the reconciler's
}
