package faults

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"orderstock/loadtest/trial"
)

// pace compares how many orders finish per second during a fault and before it.
type pace struct {
	orders         *sql.DB
	before, during float64

	since time.Time
	ended int // by then
}

// measure measures the rate before the fault, for two seconds.
func (p *pace) measure(ctx context.Context) error {
	if err := p.begin(ctx); err != nil {
		return err
	}
	if err := trial.Sleep(ctx, 2*time.Second); err != nil {
		return err
	}
	err := p.end(ctx)
	p.before = p.during
	return err
}

// begin and end are called when the fault begins and ends.
func (p *pace) begin(ctx context.Context) (err error) {
	p.since = time.Now()
	p.ended, err = p.count(ctx)
	return err
}

func (p *pace) end(ctx context.Context) error {
	ended, err := p.count(ctx)
	p.during = float64(ended-p.ended) / time.Since(p.since).Seconds()
	return err
}

func (p *pace) count(ctx context.Context) (n int, err error) {
	if err := p.orders.QueryRowContext(ctx,
		"SELECT COUNT(*) FROM orders WHERE outcome IS NOT NULL").Scan(&n); err != nil {
		return 0, fmt.Errorf("count orders that ended: %w", err)
	}
	return n, nil
}

// unmet returns an error if the rate during the fault was less than a share of the one before. less formats both.
func (p *pace) unmet(share float64, less string) error {
	if p.before == 0 {
		return errors.New("no order ended before the fault")
	}
	if p.during < share*p.before {
		return fmt.Errorf(less, p.during, p.before)
	}
	return nil
}
