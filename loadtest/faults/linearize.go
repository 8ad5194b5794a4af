package faults

import (
	"context"
	"fmt"
	"time"

	"orderstock/loadtest/history"
	"orderstock/loadtest/linear"
	"orderstock/loadtest/system"
	"orderstock/loadtest/trial"
	"orderstock/migrations"
	"orderstock/pkg/mysqldb"
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
func watchLevels(ctx context.Context, l *system.System) (*levels, error) {
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
			_ = trial.Sleep(ctx, 20*time.Millisecond)
		}
	}()
	return w, nil
}

func (w *levels) stop() []linear.Call {
	w.cancel()
	<-w.done
	return w.reads
}

func readLevels(ctx context.Context, l *system.System, above int64) (linear.Call, error) {
	read := linear.Call{Kind: linear.Read, Begin: time.Now().UnixNano()}
	var err error
	read.Items, err = mysqldb.All(ctx, l.StockDB, func(it *linear.Item) []any { return []any{&it.GoodsID, &it.Num} },
		`SELECT s.goods_id, s.num + COALESCE(SUM(b.num), 0) FROM stock s
		LEFT JOIN stock_buckets b ON b.goods_id = s.goods_id
		WHERE s.goods_id > ? GROUP BY s.goods_id, s.num ORDER BY s.goods_id`, above)
	if err != nil {
		return read, fmt.Errorf("read levels: %w", err)
	}
	read.End = time.Now().UnixNano()
	return read, nil
}

// linearize searches for a linearization of the run: the outcomes of its orders in the database, within the times of
// the clients' calls, and the levels read during the run. A search that times out proves nothing; the run is still
// judged by its invariants.
func (r *Run) linearize(ctx context.Context, l *system.System, reads []linear.Call) error {
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
		r.violate(Linearizable, 1, "the run's deductions, restores and levels are not linearizable")
	}
	return nil
}

// calls converts the run's orders into a history of the stock.
func (r *Run) calls(ctx context.Context, l *system.System) ([]linear.Call, error) {
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
	key, flag, state   string
	deducted, restored int64
}

// outcomes returns the outcomes of the run's orders, by number. Orders without an operation are omitted.
func outcomes(ctx context.Context, l *system.System, h *history.History) (map[int]outcome, error) {
	names := migrations.DefaultAccounts()
	nanos := func(column string) string {
		return "COALESCE(1000 * TIMESTAMPDIFF(MICROSECOND, '1970-01-01', " + column + "), 0)"
	}
	ends := map[int]outcome{}
	for o, err := range mysqldb.Rows(ctx, l.StockDB, func(o *outcome) []any {
		return []any{&o.key, &o.flag, &o.state, &o.deducted, &o.restored}
	}, "SELECT idempotency_key, p.flag, p.state, "+nanos("p.created_at")+", "+nanos("MAX(f.created_at)")+
		" FROM "+names.OrderDB+".orders o JOIN operations p ON p.flag = CONVERT(o.id, CHAR CHARACTER SET ascii)"+
		" LEFT JOIN stock_flow f ON f.flag = p.flag AND f.kind = 'restore' WHERE idempotency_key LIKE ?"+
		" GROUP BY idempotency_key, p.flag, p.state, p.created_at", h.Run+"-%") {
		if err != nil {
			return nil, fmt.Errorf("read outcomes: %w", err)
		}
		n := h.OrderOf([]byte(o.key))
		if n < 0 {
			return nil, fmt.Errorf("read outcomes: key %q of no order", o.key)
		}
		ends[n] = o
	}
	return ends, nil
}
