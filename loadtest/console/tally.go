package console

import (
	"context"
	"database/sql"
	"fmt"
	"sync"
	"time"

	"orderstock/pkg/mysqldb"

	"github.com/bwmarrin/snowflake"
)

// tally counts the orders by their status. Orders that ended do not change: orders with ids up to mark were
// counted once, and only newer ones are read again. An order that was written long after its id was made, or that was
// pruned, is noticed when all are counted again.
// A tally is safe for concurrent use.
type tally struct {
	mu    sync.Mutex
	ended map[string]int64 // the orders up to mark
	mark  int64

	all  time.Time // when all orders were read
	took time.Duration
}

const (
	// belowTime is how many bits of an id stand below its time.
	belowTime = 22
	// tallyLate is the age of an id whose order is taken to be in the table.
	tallyLate = 2 * time.Second
	// tallyAll is how often all orders are counted again, unless that takes more than 1/share of the time.
	tallyAll = 20 * time.Second
)

// show reads the number of orders of each status and passes it to report, in the order of the reads.
func (t *tally) show(ctx context.Context, orders *sql.DB, report func(map[string]int64)) (map[string]int64, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	counts, err := t.read(ctx, orders)
	if err == nil {
		report(counts)
	}
	return counts, err
}

// forget makes the next read count all orders.
func (t *tally) forget() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ended = nil
}

// read returns the number of orders of each status; mu is held.
func (t *tally) read(ctx context.Context, orders *sql.DB) (map[string]int64, error) {
	mark := (time.Now().Add(-tallyLate).UnixMilli() - snowflake.Epoch) << belowTime
	var open sql.NullInt64
	err := orders.QueryRowContext(ctx, "SELECT MIN(id) FROM orders WHERE status IN ('PENDING', 'CANCELLING')").Scan(&open)
	if err != nil {
		return nil, fmt.Errorf("count orders: %w", err)
	}
	if open.Valid {
		mark = min(mark, open.Int64-1)
	}
	if began := time.Now(); t.ended == nil || began.Sub(t.all) > max(tallyAll, share*t.took) {
		ended, err := countOrders(ctx, orders, 0, mark)
		if err != nil {
			return nil, err
		}
		t.ended, t.mark, t.all, t.took = ended, mark, began, time.Since(began)
	} else if mark > t.mark {
		more, err := countOrders(ctx, orders, t.mark, mark)
		if err != nil {
			return nil, err
		}
		for status, n := range more {
			t.ended[status] += n
		}
		t.mark = mark
	}
	counts, err := countOrders(ctx, orders, t.mark, 1<<63-1)
	if err != nil {
		return nil, err
	}
	for status, n := range t.ended {
		counts[status] += n
	}
	return counts, nil
}

// countOrders counts the orders with an id above after and not above last.
func countOrders(ctx context.Context, orders *sql.DB, after, last int64) (map[string]int64, error) {
	counts := map[string]int64{"PENDING": 0, "CONFIRMED": 0, "REJECTED": 0, "CANCELLING": 0, "CANCELLED": 0}
	type count struct {
		status string
		n      int64
	}
	for c, err := range mysqldb.Rows(ctx, orders, func(c *count) []any { return []any{&c.status, &c.n} },
		"SELECT status, COUNT(*) FROM orders WHERE id > ? AND id <= ? GROUP BY status", after, last) {
		if err != nil {
			return nil, fmt.Errorf("count orders: %w", err)
		}
		counts[c.status] = c.n
	}
	return counts, nil
}
