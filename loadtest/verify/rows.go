package verify

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"

	"orderstock/loadtest/history"
)

// The rows of the four tables as the verifier reads them. Byte slices are
// valid until the cursor's next step.

type operationRow struct {
	flag  string
	state history.Status
	items []history.Item
	// garbled: the items are not in the form of the schema.
	garbled bool
}

type flowRow struct {
	flag  string
	kind  int // one of the kinds below
	goods int64
	num   int64
}

// The kinds of a flow row.
const (
	restockRow = iota
	deductRow
	restoreRow
	prunedRow
)

type orderRow struct {
	flag    string
	id      int64
	status  history.Status
	outcome history.Status
	key     string
	hasKey  bool
	total   int64
}

type itemRow struct {
	order int64
	history.Item
	price int64
}

func scanOperations(ctx context.Context, tx *sql.Tx) (*cursor[operationRow], error) {
	var flag, state, items sql.RawBytes
	return scan(ctx, tx, "SELECT flag, state, items FROM operations ORDER BY flag",
		[]any{&flag, &state, &items},
		func(r *operationRow) error {
			r.flag, r.state = string(flag), history.ParseStatus(string(state))
			r.items, r.garbled = r.items[:0], false
			for rest := []byte(items); len(rest) > 0; {
				var one []byte
				one, rest, _ = bytes.Cut(rest, []byte{','})
				goods, num, _ := bytes.Cut(one, []byte{':'})
				g, err1 := strconv.ParseInt(string(goods), 10, 64)
				n, err2 := strconv.ParseInt(string(num), 10, 64)
				if err1 != nil || err2 != nil {
					r.garbled = true
				}
				r.items = append(r.items, history.Item{GoodsID: g, Num: n})
			}
			history.SortItems(r.items)
			return nil
		})
}

func scanFlows(ctx context.Context, tx *sql.Tx) (*cursor[flowRow], error) {
	var flag, kind sql.RawBytes
	var goods, num any
	return scan(ctx, tx, "SELECT flag, goods_id, kind, num FROM stock_flow ORDER BY flag, goods_id, kind",
		[]any{&flag, &goods, &kind, &num},
		func(r *flowRow) (err error) {
			if r.flag != string(flag) {
				r.flag = string(flag)
			}
			switch string(kind) {
			case "restock":
				r.kind = restockRow
			case "deduct":
				r.kind = deductRow
			case "restore":
				r.kind = restoreRow
			case "pruned":
				r.kind = prunedRow
			default:
				return fmt.Errorf("flow of kind %q", kind)
			}
			var err2 error
			r.goods, err = number(goods)
			r.num, err2 = number(num)
			return errors.Join(err, err2)
		})
}

// scanPruned reads the ids of deleted orders whose operation and flow rows the
// stock database may still hold.
func scanPruned(ctx context.Context, orders *reader) (map[string]bool, error) {
	rows, err := orders.db.QueryContext(ctx, "SELECT order_id FROM pruned")
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }() // only read
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

// byFlag returns an expression that sorts orders by their flag, the id in decimal,
// as the stock side's tables are sorted. If all ids have the same number of digits,
// as snowflakes do, that is the column itself.
func byFlag(ctx context.Context, tx *sql.Tx, column string) (string, error) {
	var least, most sql.NullInt64
	if err := tx.QueryRowContext(ctx, "SELECT MIN(id), MAX(id) FROM orders").Scan(&least, &most); err != nil {
		return "", err
	}
	if least.Int64 > 0 && len(strconv.FormatInt(least.Int64, 10)) == len(strconv.FormatInt(most.Int64, 10)) {
		return column, nil
	}
	return "CAST(" + column + " AS CHAR CHARACTER SET latin1) COLLATE latin1_bin", nil
}

func scanOrders(ctx context.Context, tx *sql.Tx) (*cursor[orderRow], error) {
	sorted, err := byFlag(ctx, tx, "id")
	if err != nil {
		return nil, err
	}
	var status, outcome, key sql.RawBytes
	var id, total any
	return scan(ctx, tx, "SELECT id, status, outcome, idempotency_key, total FROM orders ORDER BY "+sorted,
		[]any{&id, &status, &outcome, &key, &total},
		func(r *orderRow) (err error) {
			var err2 error
			r.id, err = number(id)
			r.total, err2 = number(total)
			r.flag = strconv.FormatInt(r.id, 10)
			r.status, r.outcome = history.ParseStatus(string(status)), history.ParseStatus(string(outcome))
			r.key, r.hasKey = string(key), key != nil
			return errors.Join(err, err2)
		})
}

func scanItems(ctx context.Context, tx *sql.Tx) (*cursor[itemRow], error) {
	sorted, err := byFlag(ctx, tx, "order_id")
	if err != nil {
		return nil, err
	}
	var order, goods, num, price any
	return scan(ctx, tx, "SELECT order_id, goods_id, num, price FROM order_items ORDER BY "+sorted+", goods_id",
		[]any{&order, &goods, &num, &price},
		func(r *itemRow) error {
			var errs [4]error
			r.order, errs[0] = number(order)
			r.GoodsID, errs[1] = number(goods)
			r.Num, errs[2] = number(num)
			r.price, errs[3] = number(price)
			return errors.Join(errs[:]...)
		})
}
