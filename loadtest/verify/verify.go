// Package verify judges a run. It reads both databases and the history of the run's calls, and asks no
// service, because a service that is wrong may be wrong about what it did, too.
//
//	verdict, err := verify.Run(ctx, verify.Config{Databases: databases, History: h})
package verify

import (
	"context"
	"errors"
	"fmt"
	"time"

	"orderstock/loadtest/history"
)

// DefaultSettle is how long Run waits for unfinished orders.
const DefaultSettle = 30 * time.Second

// Databases are the DSNs of a user that may read both databases, in the driver's form:
// verifier:secret@tcp(127.0.0.1:3306)/order_db
type Databases struct{ OrderDSN, StockDSN string }

// Config says what to judge. The zero value of a field means its default.
type Config struct {
	Databases
	// History is the history of the run. If it is nil, it is read from HistoryPath.
	History     *history.History
	HistoryPath string
	// Settle bounds the wait for unfinished orders. Default DefaultSettle.
	Settle time.Duration
	// Settled, if not nil, is called when that wait is over, with how long it took.
	Settled func(waited time.Duration)
	// Samples is how many violations of each invariant are described. Default 5.
	Samples int
}

// Run judges a run. It waits for unfinished orders first, for at most Settle; an order that is still
// unfinished then is a violation. Traffic must have ended, or the verdict may be wrong.
//
// The invariants of the databases are checked over everything in them, those of the clients over the
// run. If a database or the history cannot be read, the outcome is unknown, unless a violation was
// found in the rest. An error means that the configuration is unusable, or that ctx ended.
func Run(ctx context.Context, cfg Config) (*Verdict, error) {
	if cfg.Settle == 0 {
		cfg.Settle = DefaultSettle
	}
	if cfg.Samples == 0 {
		cfg.Samples = 5
	}
	if cfg.OrderDSN == "" || cfg.StockDSN == "" {
		return nil, errors.New("verify: need the DSN of both databases")
	}
	orders, err := openReader(cfg.OrderDSN)
	if err != nil {
		return nil, fmt.Errorf("verify: order database: %w", err)
	}
	defer orders.close()
	stock, err := openReader(cfg.StockDSN)
	if err != nil {
		return nil, fmt.Errorf("verify: stock database: %w", err)
	}
	defer stock.close()

	v := &Verdict{}
	h := cfg.History
	if h == nil {
		if h, err = history.Open(cfg.HistoryPath); err != nil {
			v.Reasons = append(v.Reasons, err.Error())
			h = &history.History{Path: history.PathOrder}
		}
	}
	v.measured(h.Measure())

	found := newFindings(cfg.Samples)
	waited, err := settle(ctx, orders, h, cfg.Settle)
	if cfg.Settled != nil {
		cfg.Settled(waited)
	}
	if err == nil {
		err = judge(ctx, orders, stock, h, found, v)
	}
	if stock.group != nil {
		v.ReadFrom = stock.group.Primary()
	}
	if ctx.Err() != nil {
		return nil, fmt.Errorf("verify: %w", ctx.Err())
	}
	if err != nil {
		v.Reasons = append(v.Reasons, err.Error())
	}
	v.Invariants = found.list()
	v.conclude()
	return v, nil
}

// judge reads everything and fills found and v.
func judge(ctx context.Context, orders, stock *reader, h *history.History, found *findings, v *Verdict) error {
	told := sumUp(h, found)
	if told.answered == 0 {
		v.Reasons = append(v.Reasons, "no traffic: the history holds no order that was confirmed or rejected")
	}
	ledger, err := compare(ctx, orders, stock, h, told, found, v)
	if err != nil {
		return err
	}
	if err := ledger.check(ctx, stock, h, told, found, v); err != nil {
		return err
	}
	if err := checkKeys(ctx, orders, found); err != nil {
		return err
	}
	told.check(h, found)
	ledger.checkRejections(h, told, found)
	return nil
}

func (v *Verdict) conclude() {
	v.Outcome = Pass
	if len(v.Reasons) > 0 {
		v.Outcome = Unknown
	}
	if len(v.Violated()) > 0 {
		v.Outcome = Violation
	}
}

// settle waits until no order is on its way any more and no call of the run can
// still be at work, but not longer than limit.
func settle(ctx context.Context, orders *reader, h *history.History, limit time.Duration) (time.Duration, error) {
	start := time.Now()
	deadline := start.Add(limit)
	quiet := lastWork(h)
	for {
		n, err := orders.count(ctx, "SELECT COUNT(*) FROM orders WHERE status IN ('PENDING','CANCELLING')")
		if err != nil {
			return time.Since(start), fmt.Errorf("order database: count unfinished orders: %w", err)
		}
		now := time.Now()
		if n == 0 && !now.Before(quiet) || !now.Before(deadline) {
			return now.Sub(start), nil
		}
		select {
		case <-time.After(100 * time.Millisecond):
		case <-ctx.Done():
			return time.Since(start), ctx.Err()
		}
	}
}

// lastWork returns a time after which no call of the run is at work any more: a
// call without an answer may have been for its whole timeout.
func lastWork(h *history.History) time.Time {
	var last time.Time
	for i := range h.Calls {
		if c := &h.Calls[i]; c.Failure == history.TimedOut || c.Failure == history.Broken {
			if end := h.Started.Add(c.Sent + h.Timeout); end.After(last) {
				last = end
			}
		}
	}
	return last
}
