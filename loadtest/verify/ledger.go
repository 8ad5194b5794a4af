package verify

import (
	"context"
	"fmt"

	"orderstock/loadtest/history"
)

// check compares the sums with the stock levels and with what the clients were
// told.
func (l *ledger) check(ctx context.Context, stock *reader, h *history.History, t *told, found *findings,
	v *Verdict,
) error {
	if err := l.checkLevels(ctx, stock, found); err != nil {
		return fmt.Errorf("read stock levels: %w", err)
	}
	if err := checkRestocks(ctx, stock, h, found); err != nil {
		return fmt.Errorf("read restocks: %w", err)
	}
	for goods, sum := range l.sums {
		if over := sum.deducted - sum.restored - sum.restocked; over > 0 {
			v.Oversold += over
			found.add(NotOversold, "product %d: %d restocked, %d deducted, %d restored", goods, sum.restocked, sum.deducted,
				sum.restored)
		}
	}
	l.checkSold(h, t, found, v)
	l.checkAcknowledged(h, t, found, v)
	return nil
}

// checkLevels compares each stock level, with the pieces in its buckets, with
// the sum of its flow rows. The levels are read after the rows; nothing moves,
// as traffic has ended.
func (l *ledger) checkLevels(ctx context.Context, stock *reader, found *findings) (err error) {
	rows, err := stock.db.QueryContext(ctx, `SELECT s.goods_id, s.num + COALESCE(SUM(b.num), 0),
		LEAST(s.num, COALESCE(MIN(b.num), s.num)) FROM stock s LEFT JOIN stock_buckets b ON b.goods_id = s.goods_id
		GROUP BY s.goods_id, s.num`)
	if err != nil {
		return err
	}
	defer func() {
		if e := rows.Close(); err == nil {
			err = e
		}
	}()
	seen := make(map[int64]bool, len(l.sums))
	for rows.Next() {
		var goods, num, least, flows int64
		if err := rows.Scan(&goods, &num, &least); err != nil {
			return err
		}
		seen[goods] = true
		if sum := l.sums[goods]; sum != nil {
			flows = sum.all
		}
		if least < 0 {
			found.add(StockNotNegative, "product %d: %d pieces", goods, least)
		}
		if num != flows {
			found.add(StockEqualsFlows, "product %d: %d pieces, flow rows come to %d", goods, num, flows)
		}
	}
	for goods, sum := range l.sums {
		if !seen[goods] {
			found.add(StockEqualsFlows, "product %d: no stock level, flow rows come to %d", goods, sum.all)
		}
	}
	return rows.Err()
}

// checkRestocks looks for the restock rows that the run was promised.
func checkRestocks(ctx context.Context, stock *reader, h *history.History, found *findings) error {
	byFlag, err := stock.db.PrepareContext(ctx,
		"SELECT COALESCE(SUM(num), 0) FROM stock_flow WHERE flag = ? AND goods_id = ? AND kind = 'restock'")
	if err != nil {
		return err
	}
	defer func() { _ = byFlag.Close() }() // only read
	for i, g := range h.Goods {
		var num int64
		if err := byFlag.QueryRowContext(ctx, h.RestockFlag(i), g.ID).Scan(&num); err != nil {
			return err
		}
		if num != g.Stock {
			found.add(GoodsRestocked, "product %d: restocked with %d, want %d", g.ID, num, g.Stock)
		}
	}
	return nil
}

// checkKeys looks for idempotency keys with more than one order.
func checkKeys(ctx context.Context, orders *reader, found *findings) (err error) {
	rows, err := orders.db.QueryContext(ctx, `SELECT idempotency_key, COUNT(*), MIN(id), MAX(id) FROM orders
		WHERE idempotency_key IS NOT NULL GROUP BY idempotency_key HAVING COUNT(*) > 1`)
	if err != nil {
		return fmt.Errorf("read keys: %w", err)
	}
	defer func() {
		if e := rows.Close(); err == nil {
			err = e
		}
	}()
	for rows.Next() {
		var (
			key              string
			n, first, newest int64
		)
		if err := rows.Scan(&key, &n, &first, &newest); err != nil {
			return fmt.Errorf("read keys: %w", err)
		}
		found.add(OneOrderPerKey, "key %s: %d orders, from %d to %d", key, n, first, newest)
	}
	return rows.Err()
}

// checkSold adds up what clients were told is theirs, without looking at deduct
// rows. It cannot be more than was restocked.
func (l *ledger) checkSold(h *history.History, t *told, found *findings, v *Verdict) {
	sold := make(map[int64]int64, len(h.Goods))
	for n := range t.ops {
		op := &t.ops[n]
		if !op.ends.has(history.Confirmed) && !op.ends.has(history.Done) || op.cancel {
			continue
		}
		for _, it := range h.Items(n) {
			sold[it.GoodsID] += it.Num
		}
	}
	var oversold int64
	for _, g := range h.Goods {
		restocked := g.Stock
		if sum := l.sums[g.ID]; sum != nil {
			restocked = max(restocked, sum.restocked)
		}
		if over := sold[g.ID] - restocked; over > 0 {
			oversold += over
			found.add(AcknowledgedNotOversold, "product %d: %d restocked, %d acknowledged to clients",
				g.ID, restocked, sold[g.ID])
		}
	}
	v.Oversold = max(v.Oversold, oversold)
}

// checkAcknowledged compares what clients were told of each order with what
// the database holds, and counts the orders of the run.
func (l *ledger) checkAcknowledged(h *history.History, t *told, found *findings, v *Verdict) {
	for n := range t.ops {
		op, stored := &t.ops[n], l.ops[n]
		there := stored.status != history.NoStatus
		if there {
			v.count(stored.status)
		}
		switch {
		case op.order == 0 && op.ends == 0:
			continue
		case !there:
			found.add(AcknowledgedOrderKept, "%s: told %s, order %d is not in the database under that key", h.Key(n), op.ends,
				op.order)
			continue
		case op.order != 0 && op.order != stored.order:
			found.add(AcknowledgedOrderKept, "%s: told order %d, the database has %d", h.Key(n), op.order, stored.order)
		}
		for _, end := range []history.Status{
			history.Confirmed, history.Rejected, history.Cancelled, history.Done,
			history.Restored,
		} {
			if op.ends.has(end) && !keeps(end, stored.status, op.cancel) {
				found.add(AcknowledgedEndKept, "%s (order %d): told %s, the database has %s", h.Key(n), stored.order, end,
					stored.status)
			}
		}
	}
}

// keeps reports whether an order or operation may be in the state now at the end
// of the run, if a client was told the state end. cancel says that a client asked
// to cancel it.
func keeps(end, now history.Status, cancel bool) bool {
	switch end {
	case history.Confirmed:
		return now == history.Confirmed || cancel && (now == history.Cancelled || now == history.Cancelling)
	case history.Done:
		return now == history.Done || cancel && now == history.Restored
	default:
		return now == end
	}
}

func (v *Verdict) count(status history.Status) {
	v.Orders++
	switch status {
	case history.Confirmed, history.Done:
		v.Confirmed++
	case history.Rejected:
		v.Rejected++
	case history.Cancelled, history.Restored:
		v.Cancelled++
	default:
		v.Pending++
	}
}
