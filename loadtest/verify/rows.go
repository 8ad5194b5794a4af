package verify

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"

	"orderstock/loadtest/history"
)

func scanOperations(ctx context.Context, tx *sql.Tx) (*cursor[OperationRow], error) {
	var flag, state, reason, items sql.RawBytes
	var fenced any
	return scan(ctx, tx,
		"SELECT flag, state, reason, items, fencing_token <> REPEAT('\\0', 16) FROM operations ORDER BY flag",
		[]any{&flag, &state, &reason, &items, &fenced},
		func(r *OperationRow) error {
			r.Flag, r.State = flag, parseStatus(state)
			r.Reason, r.Items = reason, items
			n, err := number(fenced)
			r.Fenced = n != 0
			return err
		})
}

// parseStatus is history.ParseStatus without a copy of the text.
func parseStatus(word []byte) history.Status {
	for s := history.NoStatus; s < history.Unheard; s++ {
		if string(word) == s.String() {
			return s
		}
	}
	return history.Unheard
}

func scanFlows(ctx context.Context, tx *sql.Tx) (*cursor[FlowRow], error) {
	var flag, kind sql.RawBytes
	var goods, num any
	return scan(ctx, tx, "SELECT flag, goods_id, kind, num FROM stock_flow ORDER BY flag, goods_id, kind",
		[]any{&flag, &goods, &kind, &num},
		func(r *FlowRow) (err error) {
			k := slices.IndexFunc(flowKinds[:], func(name string) bool { return name == string(kind) })
			if k < 0 {
				return fmt.Errorf("flow of kind %q", kind)
			}
			var err2 error
			r.Flag, r.Kind = flag, FlowKind(k)
			r.Goods, err = number(goods)
			r.Num, err2 = number(num)
			return errors.Join(err, err2)
		})
}

func scanRestocks(ctx context.Context, tx *sql.Tx) (*cursor[RestockRow], error) {
	var flag, name sql.RawBytes
	var goods, price any
	return scan(ctx, tx, "SELECT flag, goods_id, name, price FROM restocks ORDER BY flag, goods_id",
		[]any{&flag, &goods, &name, &price},
		func(r *RestockRow) (err error) {
			r.Flag, r.Name, r.Price = flag, name, nil
			if r.Goods, err = number(goods); err == nil && price != nil {
				var p int64
				p, err = number(price)
				r.Price = &p
			}
			return err
		})
}

// scanPruned reads the ids of deleted orders whose operation and flow rows may still be in the stock database.
func scanPruned(ctx context.Context, orders *reader) (map[string]bool, error) {
	rows, err := orders.db.QueryContext(ctx, "SELECT order_id FROM pruned")
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }() // read-only
	pruned := map[string]bool{}
	for rows.Next() {
		var flag string
		if err := rows.Scan(&flag); err != nil {
			return nil, err
		}
		pruned[flag] = true
	}
	return pruned, rows.Err()
}

// byFlag returns an expression that sorts orders by flag (the id in decimal), like the tables of the stock side. If all
// ids have the same number of digits, as snowflakes do, that is the column itself.
func byFlag(ctx context.Context, tx *sql.Tx, column, table string) (string, error) {
	var least, most sql.NullInt64
	query := "SELECT MIN(" + column + "), MAX(" + column + ") FROM " + table
	if err := tx.QueryRowContext(ctx, query).Scan(&least, &most); err != nil {
		return "", err
	}
	if least.Int64 > 0 && len(strconv.FormatInt(least.Int64, 10)) == len(strconv.FormatInt(most.Int64, 10)) {
		return column, nil
	}
	return "CAST(" + column + " AS CHAR CHARACTER SET latin1) COLLATE latin1_bin", nil
}

func scanOrders(ctx context.Context, tx *sql.Tx) (*cursor[OrderRow], error) {
	sorted, err := byFlag(ctx, tx, "id", "orders")
	if err != nil {
		return nil, err
	}
	var status, outcome, reason, key, hash sql.RawBytes
	var id, total any
	return scan(ctx, tx,
		"SELECT id, status, outcome, reason, idempotency_key, body_hash, total FROM orders ORDER BY "+sorted,
		[]any{&id, &status, &outcome, &reason, &key, &hash, &total},
		func(r *OrderRow) (err error) {
			var err2 error
			r.ID, err = number(id)
			r.Total, err2 = number(total)
			r.Status, r.Outcome = parseStatus(status), parseStatus(outcome)
			r.Reason, r.Key, r.BodyHash = reason, key, hash
			return errors.Join(err, err2)
		})
}

func scanItems(ctx context.Context, tx *sql.Tx) (*cursor[ItemRow], error) {
	sorted, err := byFlag(ctx, tx, "order_id", "order_items")
	if err != nil {
		return nil, err
	}
	var order, goods, num, price any
	return scan(ctx, tx, "SELECT order_id, goods_id, num, price FROM order_items ORDER BY "+sorted+", goods_id",
		[]any{&order, &goods, &num, &price},
		func(r *ItemRow) error {
			var errs [4]error
			r.Order, errs[0] = number(order)
			r.GoodsID, errs[1] = number(goods)
			r.Num, errs[2] = number(num)
			r.Price, errs[3] = number(price)
			return errors.Join(errs[:]...)
		})
}

// products reads the levels. They are read after the flow rows; nothing changes, since traffic has ended.
func products(ctx context.Context, stock *reader) iter.Seq2[*ProductRow, error] {
	query := strings.Join(strings.Fields(`SELECT s.goods_id, s.name, s.price, s.num, COALESCE(SUM(b.num), 0),
		LEAST(s.num, COALESCE(MIN(b.num), s.num)) FROM stock s LEFT JOIN stock_buckets b ON b.goods_id = s.goods_id
		GROUP BY s.goods_id, s.name, s.price, s.num`), " ")
	return func(yield func(*ProductRow, error) bool) {
		fail := func(err error) { yield(nil, fmt.Errorf("read stock levels: %w", err)) }
		rows, err := stock.db.QueryContext(ctx, query)
		if err != nil {
			fail(err)
			return
		}
		defer func() { _ = rows.Close() }() // read-only
		for rows.Next() {
			var p ProductRow
			if err := rows.Scan(&p.Goods, &p.Name, &p.Price, &p.Num, &p.Buckets, &p.Least); err != nil {
				fail(err)
				return
			}
			if !yield(&p, nil) {
				return
			}
		}
		if err := rows.Err(); err != nil {
			fail(err)
		}
	}
}
