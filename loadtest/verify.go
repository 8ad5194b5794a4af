package loadtest

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// DefaultSettle is how long Verify waits for unfinished orders.
const DefaultSettle = 30 * time.Second

// VerifyConfig says what to judge. The zero value of a field means its default.
type VerifyConfig struct {
	// OrderDSN and StockDSN are those of a user who may read the databases, in
	// the driver's form: verifier:secret@tcp(127.0.0.1:3306)/order_db
	OrderDSN, StockDSN string
	// History is the run's; where nil it is read from HistoryPath.
	History     *History
	HistoryPath string
	// Settle bounds the wait for orders that are still on their way. Default DefaultSettle.
	Settle time.Duration
	// Samples is how many violations of each invariant are told in words. Default 5.
	Samples int
}

// Verify reads both databases and the history of a run, and judges. It waits
// for unfinished orders first, within Settle; what is still unfinished then is
// a violation. Traffic must have ended: a moving database is not judged right.
//
// The invariants of the databases are checked over everything in them, those
// of the client over the run. A database or a history that cannot be read makes
// the outcome unknown, unless a violation was found in the rest. The error is
// that of an unusable configuration, or of ctx.
func Verify(ctx context.Context, cfg VerifyConfig) (*Verdict, error) {
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
		if h, err = OpenHistory(cfg.HistoryPath); err != nil {
			v.Reasons = append(v.Reasons, err.Error())
			h = &History{Path: PathOrder}
		}
	}
	v.measured(newReport(h))

	found := newFindings(cfg.Samples)
	waited, err := settle(ctx, orders, h, cfg.Settle)
	v.Settled = waited
	if err == nil {
		err = judge(ctx, orders, stock, h, found, v)
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
func judge(ctx context.Context, orders, stock *reader, h *History, found *findings, v *Verdict) error {
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
func settle(ctx context.Context, orders *reader, h *History, limit time.Duration) (time.Duration, error) {
	start := time.Now()
	deadline := start.Add(limit)
	quiet := h.lastWork()
	for {
		n, err := orders.count(ctx, "SELECT COUNT(*) FROM orders WHERE status IN ('PENDING','CANCELLING')")
		if err != nil {
			return time.Since(start), fmt.Errorf("order database: count unfinished orders: %w", err)
		}
		now := time.Now()
		if n == 0 && !now.Before(quiet) || !now.Before(deadline) {
			return now.Sub(start), nil
		}
		if !sleepUntil(ctx, now.Add(100*time.Millisecond)) {
			return time.Since(start), ctx.Err()
		}
	}
}

// lastWork returns a time after which no call of the run is at work any more: a
// call without an answer may have been for its whole timeout.
func (h *History) lastWork() time.Time {
	var last time.Time
	for i := range h.Calls {
		if c := &h.Calls[i]; c.Failure == TimedOut || c.Failure == Broken {
			if end := h.Started.Add(c.Sent + h.Timeout); end.After(last) {
				last = end
			}
		}
	}
	return last
}
