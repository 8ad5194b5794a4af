package faults

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"orderstock/loadtest/history"
	"orderstock/loadtest/lab"
	"orderstock/loadtest/linear"
	"orderstock/loadtest/verify"
)

// linearWithin bounds the search for a linearization of one run.
const linearWithin = 6 * time.Second

// levels reads the stock of a run's products many times per second, in one statement, which is one consistent snapshot.
type levels struct {
	cancel context.CancelFunc
	done   chan struct{}
	reads  []linear.Call
}

// watchLevels reads the levels of all products that are created from now on.
func watchLevels(ctx context.Context, l *lab.Lab) (*levels, error) {
	var newest int64
	if err := l.StockDB.QueryRowContext(ctx, "SELECT COALESCE(MAX(goods_id), 0) FROM stock").Scan(&newest); err != nil {
		return nil, fmt.Errorf("read newest product: %w", err)
	}
	ctx, cancel := context.WithCancel(ctx)
	w := &levels{cancel: cancel, done: make(chan struct{})}
	go func() {
		defer close(w.done)
		for ctx.Err() == nil {
			if read, err := readLevels(ctx, l, newest); err == nil { // an error: MySQL is down as well
				w.reads = append(w.reads, read)
			}
			select {
			case <-ctx.Done():
			case <-time.After(20 * time.Millisecond):
			}
		}
	}()
	return w, nil
}

func (w *levels) stop() []linear.Call {
	w.cancel()
	<-w.done
	return w.reads
}

func readLevels(ctx context.Context, l *lab.Lab, above int64) (linear.Call, error) {
	read := linear.Call{Kind: linear.Read, Begin: time.Now().UnixNano()}
	rows, err := l.StockDB.QueryContext(ctx, `SELECT s.goods_id, s.num + COALESCE(SUM(b.num), 0) FROM stock s
		LEFT JOIN stock_buckets b ON b.goods_id = s.goods_id
		WHERE s.goods_id > ? GROUP BY s.goods_id, s.num ORDER BY s.goods_id`, above)
	if err != nil {
		return read, fmt.Errorf("read levels: %w", err)
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var it linear.Item
		if err := rows.Scan(&it.GoodsID, &it.Num); err != nil {
			return read, fmt.Errorf("read levels: %w", err)
		}
		read.Items = append(read.Items, it)
	}
	read.End = time.Now().UnixNano()
	return read, rows.Err()
}

// linearize searches for a linearization of the run: the outcomes of its orders in the database, within the times of
// the clients' calls, and the levels read during the run. A search that times out proves nothing; the run is still
// judged by its invariants.
func (r *Run) linearize(ctx context.Context, l *lab.Lab, reads []linear.Call) error {
	calls, err := r.calls(ctx, l)
	if err != nil {
		return err
	}
	// Levels read before all products were created are no state of the run.
	start := r.history.Started.UnixNano()
	for _, read := range reads {
		if len(read.Items) == len(r.history.Goods) && read.Begin > start {
			calls = append(calls, read)
		}
	}
	last, err := readLevels(ctx, l, r.history.Goods[0].ID-1)
	if err != nil {
		return err
	}
	last.Items = last.Items[:min(len(last.Items), len(r.history.Goods))] // products created later are not the run's
	result, err := linear.Check(append(calls, last), linearWithin)
	if err != nil {
		return err
	}
	if r.Linear = string(result); result == linear.Violation {
		r.Violations++
		r.Broken = append(r.Broken, Linearizable)
		r.fail(verify.Violation, "the run's deductions, restores and levels are not linearizable")
	}
	return nil
}

// calls converts the run's orders into a history of the stock.
func (r *Run) calls(ctx context.Context, l *lab.Lab) ([]linear.Call, error) {
	h := r.history
	settled := time.Now().UnixNano() // every outcome is known by now
	start := h.Started.UnixNano()
	var calls []linear.Call
	for _, g := range h.Goods {
		calls = append(calls, linear.Call{
			Kind: linear.Restock, Items: []linear.Item{{GoodsID: g.ID, Num: g.Stock}},
			End: start,
		})
	}
	ends, err := outcomes(ctx, l, h)
	if err != nil {
		return nil, err
	}
	times := callTimes(h)
	for n, end := range ends {
		if end.state == "CANCELLED" {
			continue // nothing was deducted or refused
		}
		t := times[n]
		deduct := linear.Call{
			Kind: linear.Deduct, Flag: end.flag, Rejected: end.state == "REJECTED", Undone: end.state == "RESTORED",
			Begin: start + int64(t.placed), End: settled, Hint: end.deducted, Items: h.Items(n),
		}
		if t.told > 0 {
			deduct.End = start + int64(t.told)
		}
		calls = append(calls, deduct)
		if deduct.Undone {
			restore := linear.Call{
				Kind: linear.Restore, Flag: end.flag, Items: deduct.Items, Begin: deduct.Begin,
				End: settled, Hint: end.restored,
			}
			if t.cancelled > 0 {
				restore.Begin = start + int64(t.cancelled)
			}
			if t.cancelTold > 0 {
				restore.End = start + int64(t.cancelTold)
			}
			calls = append(calls, restore)
		}
	}
	return calls, nil
}

// span holds the times of one order, by its clients' calls.
type span struct {
	placed, told, cancelled, cancelTold time.Duration // 0: never
}

func callTimes(h *history.History) []span {
	times := make([]span, h.Orders())
	earliest := func(at *time.Duration, t time.Duration) {
		if *at == 0 || t < *at {
			*at = t
		}
	}
	for _, c := range h.Calls {
		t := &times[c.Op]
		if c.Kind == history.Cancel {
			earliest(&t.cancelled, c.Sent)
		} else {
			earliest(&t.placed, c.Sent)
		}
		switch c.Status {
		case history.Confirmed, history.Rejected:
			earliest(&t.told, c.Done)
		case history.Cancelled:
			earliest(&t.told, c.Done) // a deduction, if any, was done by then
			earliest(&t.cancelTold, c.Done)
		}
	}
	return times
}

// outcome is an order's state in the stock database. deducted and restored are the times of those changes, in
// nanoseconds since 1970; 0 if there was none.
type outcome struct {
	flag, state        string
	deducted, restored int64
}

// outcomes returns the outcomes of the run's orders, by number. Orders without an operation are omitted.
func outcomes(ctx context.Context, l *lab.Lab, h *history.History) (map[int]outcome, error) {
	prefix := h.Run + "-"
	flags, err := pairs(ctx, l.OrderDB, "SELECT id, idempotency_key FROM orders WHERE idempotency_key LIKE ?", prefix+"%")
	if err != nil {
		return nil, err
	}
	if len(flags) == 0 {
		return nil, nil
	}
	ids := make([]any, 0, len(flags))
	for id := range flags {
		ids = append(ids, id)
	}
	in := " WHERE flag IN (" + strings.Join(slices.Repeat([]string{"?"}, len(ids)), ",") + ")"
	states, err := pairs(ctx, l.StockDB, "SELECT flag, state FROM operations"+in, ids...)
	if err != nil {
		return nil, err
	}
	const micros = "CAST(TIMESTAMPDIFF(MICROSECOND, '1970-01-01', created_at) AS CHAR)"
	made, err := pairs(ctx, l.StockDB, "SELECT flag, "+micros+" FROM operations"+in, ids...)
	if err != nil {
		return nil, err
	}
	restored, err := pairs(ctx, l.StockDB, "SELECT flag, "+micros+" FROM stock_flow"+in+" AND kind = 'restore'", ids...)
	if err != nil {
		return nil, err
	}
	ends := map[int]outcome{}
	for id, key := range flags {
		n, err := strconv.Atoi(strings.TrimPrefix(key, prefix))
		if err != nil {
			return nil, fmt.Errorf("read key %q: %w", key, err)
		}
		if state, ok := states[id]; ok {
			ends[n] = outcome{flag: id, state: state, deducted: nanos(made[id]), restored: nanos(restored[id])}
		}
	}
	return ends, nil
}

// nanos reads a time in microseconds, or 0 if there is none: hints only.
func nanos(micros string) int64 {
	n, err := strconv.ParseInt(micros, 10, 64)
	if err != nil {
		return 0
	}
	return n * 1000
}

// querier is a database or a transaction.
type querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

func pairs(ctx context.Context, db querier, query string, args ...any) (map[string]string, error) {
	rows, err := db.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, fmt.Errorf("read outcomes: %w", err)
	}
	defer func() { _ = rows.Close() }()
	m := map[string]string{}
	for rows.Next() {
		var k, v string
		if err := rows.Scan(&k, &v); err != nil {
			return nil, fmt.Errorf("read outcomes: %w", err)
		}
		m[k] = v
	}
	return m, rows.Err()
}
