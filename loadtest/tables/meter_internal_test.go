package tables

import (
	"runtime"
	"testing"
	"time"

	"orderstock/loadtest/fire"
	"orderstock/loadtest/history"
)

// TestMeterCountsPiecesOnce: an order's pieces are acknowledged by its first answer that confirms it, and taken back by
// the first that cancels it.
func TestMeterCountsPiecesOnce(t *testing.T) {
	t.Parallel()
	m := NewMeter()
	items := []history.Item{{GoodsID: 11, Num: 2}, {GoodsID: 12, Num: 1}}
	for i, step := range []struct {
		op     int32
		status history.Status
		want   int64 // pieces of product 11
	}{
		{70, history.Confirmed, 2},
		{70, history.Confirmed, 2}, // repeated
		{0, history.Done, 4},
		{1, history.Rejected, 4},
		{2, history.Cancelled, 4}, // was never confirmed
		{70, history.Cancelled, 2},
		{70, history.Restored, 2},
		{0, history.Restored, 0},
	} {
		m.End(&fire.Event{Call: history.Call{Op: step.op, Status: step.status}, Items: items})
		if sold := m.Sale().Acknowledged; sold[11] != step.want || sold[12] != step.want/2 {
			t.Errorf("after answer %d: %v, want %d of product 11", i, sold, step.want)
		}
	}
}

// TestSaleEndsByCount: a sale goes on until all pieces are sold, at any speed, and not for ever.
func TestSaleEndsByCount(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		lasted time.Duration
		sold   int64
		want   bool
	}{
		{time.Second, 300, false}, // a fast machine shows more
		{longSale + time.Second, 299, false},
		{longSale + time.Second, 300, true},
		{longestSale + time.Second, 0, true},
	} {
		m := NewMeter()
		m.Started(&history.History{
			Path: history.PathOrder, Started: time.Now().Add(-test.lasted), Goods: []history.Goods{{ID: 11, Stock: 300}},
		})
		m.End(&fire.Event{
			Call: history.Call{Status: history.Confirmed}, Items: []history.Item{{GoodsID: 11, Num: test.sold}},
		})
		if got := m.Enough(longestSale); got != test.want {
			t.Errorf("after %s, %d of 300 are sold: enough %t, want %t", test.lasted, test.sold, got, test.want)
		}
	}
}

// TestMeterIsSmall: it keeps less than 16 bytes for a confirmed order once its interval is over.
func TestMeterIsSmall(t *testing.T) {
	const orders = 200_000
	used := func() int64 {
		var stats runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&stats)
		return int64(stats.HeapAlloc)
	}
	m, before := NewMeter(), used()
	items := []history.Item{{GoodsID: 11, Num: 2}, {GoodsID: 12, Num: 1}}
	for op := range int32(orders) {
		m.End(&fire.Event{Call: history.Call{Op: op, Status: history.Confirmed, Code: 201}, Items: items})
		if op%1000 == 0 {
			m.Take(0, Interval)
		}
	}
	if each := float64(used()-before) / orders; each > 16 {
		t.Errorf("it keeps %.0f bytes for each order", each)
	}
	runtime.KeepAlive(m)
}
