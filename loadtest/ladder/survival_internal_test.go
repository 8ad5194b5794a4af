package ladder

import (
	"testing"
	"time"

	"orderstock/loadtest/history"
)

// A product that waits for the replica that failed counts, however soon the others are sold.
func TestFirstSuccessIsThatOfTheLastProduct(t *testing.T) {
	t.Parallel()
	h := &history.History{Started: time.Unix(1000, 0), Goods: []history.Goods{{ID: 1}, {ID: 2}}}
	call := func(product int64, sent, done time.Duration, status history.Status) {
		h.Calls = append(h.Calls, history.Call{Op: int32(h.Orders()), Sent: sent, Done: done, Status: status})
		h.AddOrder([]history.Item{{GoodsID: product, Num: 1}})
	}
	struck := h.Started.Add(10 * time.Second)
	call(2, 9*time.Second, 10100*time.Millisecond, history.Confirmed) // sent before
	call(1, 10*time.Second, 10200*time.Millisecond, history.Confirmed)
	call(2, 10*time.Second, 10300*time.Millisecond, history.Pending)
	call(2, 10*time.Second, 10300*time.Millisecond, history.NoStatus)
	if after := firstSuccess(h, struck); after != -1 {
		t.Errorf("%v s with a product that was never sold again; want -1", after)
	}
	call(2, 11*time.Second, 15*time.Second, history.Confirmed)
	call(2, 12*time.Second, 13*time.Second, history.Confirmed) // the first to be answered
	if after := firstSuccess(h, struck); after != 3 {
		t.Errorf("sold again after %v s, want 3", after)
	}
}
