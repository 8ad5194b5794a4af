package trial

import (
	"context"
	"database/sql"
	"fmt"
	"time"
)

// pace compares how many orders finish per second during a fault and before it.
type pace struct {
	before, during float64

	since time.Time
	ended int // by then
}

// begin begins to measure.
func (p *pace) begin(ctx context.Context, orders *sql.DB) (err error) {
	p.since = time.Now()
	p.ended, err = ended(ctx, orders)
	return err
}

// rate returns the rate since begin.
func (p *pace) rate(ctx context.Context, orders *sql.DB) (float64, error) {
	n, err := ended(ctx, orders)
	return float64(n-p.ended) / time.Since(p.since).Seconds(), err
}

// ended counts the orders that have ended.
func ended(ctx context.Context, orders *sql.DB) (n int, err error) {
	if err := orders.QueryRowContext(ctx,
		"SELECT COUNT(*) FROM orders WHERE outcome IS NOT NULL").Scan(&n); err != nil {
		return 0, fmt.Errorf("count orders that ended: %w", err)
	}
	return n, nil
}
