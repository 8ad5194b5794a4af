// Package verify judges a run. It reads both databases and the history of the run's calls. It asks no service, because
// a service that is wrong may also be wrong about its own work.
//
// The verdict closes the books in both directions: every row under the run's keys or of its products has one request
// that explains it, and every answer agrees with the rows. Judge is a pure function of books and history.
//
//	verdict, err := verify.Run(ctx, verify.Config{Databases: databases, History: h})
package verify

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"orderstock/loadtest/history"
)

// DefaultSettle is how long Run waits for unfinished orders.
const DefaultSettle = 30 * time.Second

// Databases are the DSNs of a user with read access to both databases, in the driver's form:
// verifier:secret@tcp(127.0.0.1:3306)/order_db
type Databases struct {
	OrderDSN, StockDSN string
	// ZooKeeperAddrs are the servers of the lock, host:port. If all of them say which transaction was their last, the
	// fencing tokens are compared with it.
	ZooKeeperAddrs []string
	// Since is Books.Since, as LastTransaction returned it.
	Since int64
}

// Config configures Run. The zero value of a field means its default.
type Config struct {
	Databases
	// History is the history of the run. If it is nil, it is read from HistoryPath.
	History     *history.History
	HistoryPath string
	// Settle bounds the wait for unfinished orders. Default DefaultSettle.
	Settle time.Duration
	// Settled, if not nil, is called when that wait is over, with its duration.
	Settled func(waited time.Duration)
	// LookAgain, if above 0, is how long after a pass the books are read and judged again: an order that has changed since
	// is a violation. Judged, if not nil, is called with the first verdict before.
	LookAgain time.Duration
	Judged    func(*Verdict)
	// Keep, if not nil, gets the books that the verdict is made of.
	Keep *Tables
	Terms
}

// Run judges a run. It first waits for unfinished orders, for at most Settle; an order that is still unfinished then is
// a violation. The run must have ended. Others may go on, with other products.
//
// If a database or the history cannot be read, the outcome is Unknown, unless the rest contains a violation. An error
// means that the configuration is unusable, or that ctx ended.
func Run(ctx context.Context, cfg Config) (*Verdict, error) {
	if err := cfg.Validate(); err != nil {
		return nil, fmt.Errorf("verify: %w", err)
	}
	if cfg.Settle == 0 {
		cfg.Settle = DefaultSettle
	}
	db, err := open(cfg.Databases)
	if err != nil {
		return nil, fmt.Errorf("verify: %w", err)
	}
	defer db.close()
	h, unread := cfg.History, error(nil)
	if h == nil {
		if h, unread = history.Open(cfg.HistoryPath); unread != nil {
			h = &history.History{Path: history.PathOrder}
		}
	}
	waited, err := settle(ctx, db.orders, h, cfg)
	if cfg.Settled != nil {
		cfg.Settled(waited)
	}
	v := db.judge(ctx, h, cfg, err)
	if cfg.LookAgain > 0 && v.Outcome == Pass {
		if cfg.Judged != nil {
			cfg.Judged(v)
		}
		select {
		case <-time.After(cfg.LookAgain):
			v = db.judge(ctx, h, cfg, nil)
		case <-ctx.Done():
		}
	}
	v.measured(h.Measure())
	if ctx.Err() != nil {
		return nil, fmt.Errorf("verify: %w", ctx.Err())
	}
	if unread != nil {
		v.CannotTell(unread.Error())
	}
	if db.stock.group != nil {
		v.ReadFrom = db.stock.group.Primary()
	}
	return v, nil
}

// judge judges the present books; failed, if not nil, is why they cannot be read.
func (d *database) judge(ctx context.Context, h *history.History, cfg Config, failed error) *Verdict {
	books, done, err := d.books(ctx)
	if failed = cmp.Or(failed, err); failed != nil {
		books.Entries = func(yield func(*Entry, error) bool) { yield(nil, failed) }
	}
	if err == nil {
		defer done()
	}
	if cfg.Keep != nil {
		books = cfg.Keep.record(books)
	}
	return Judge(books, h, cfg.Terms)
}

// Validate returns an error for numbers that Run refuses.
func (c Config) Validate() error {
	switch {
	case c.Settle < 0:
		return fmt.Errorf("settle %s: want 0 or more", c.Settle)
	case c.LookAgain < 0:
		return fmt.Errorf("look-again %s: want 0 or more", c.LookAgain)
	case c.Samples < 0:
		return fmt.Errorf("samples %d: want 0 or more", c.Samples)
	}
	return nil
}

// CannotTell adds a reason why the outcome is unknown, unless it is a violation.
func (v *Verdict) CannotTell(reason string) {
	v.Reasons = append([]string{reason}, v.Reasons...)
	v.conclude()
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

// settle waits until no order of the run, and no declared one, is unfinished and no call of the run can still be in
// progress, for at most cfg.Settle.
func settle(ctx context.Context, orders *reader, h *history.History, cfg Config) (time.Duration, error) {
	start := time.Now()
	deadline := start.Add(cfg.Settle)
	quiet := lastWork(h)
	for {
		n, err := unfinished(ctx, orders, h, cfg.Declared)
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

// unfinished counts the unfinished orders of the run, and the declared ones.
func unfinished(ctx context.Context, orders *reader, h *history.History, declared []string) (n int, err error) {
	query, args := "idempotency_key LIKE ?", []any{h.Run + "%"}
	if len(declared) > 0 {
		query += " OR idempotency_key IN (?" + strings.Repeat(",?", len(declared)-1) + ")"
		for _, key := range declared {
			args = append(args, key)
		}
	}
	err = orders.QueryRowContext(ctx,
		"SELECT COUNT(*) FROM orders WHERE status IN ('PENDING','CANCELLING') AND ("+query+")", args...).Scan(&n)
	return n, err
}

// lastWork returns the time after which no call of the run can be in progress: a call without an answer may take its
// whole timeout.
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
