package mutants

import (
	"context"
	"fmt"
	"net/http"
	"slices"

	"orderstock/loadtest/history"
	"orderstock/loadtest/lab"
	"orderstock/loadtest/verify"
)

// input is a change to the databases or the history, after a run that passed.
type input struct {
	name string
	// order and stock are statements on the two databases, with %d for the id of an order that a client saw confirmed.
	order, stock []string
	// flip changes the clients' history; nil if the databases are changed.
	flip     func(h *history.History, op int32)
	expected string
}

var inputs = []input{
	{
		name: "a flow row deleted", stock: []string{"DELETE FROM stock_flow WHERE flag = '%d' LIMIT 1"},
		expected: verify.OperationComplete,
	},
	{
		name: "a flow row added",
		stock: []string{"INSERT INTO stock_flow SELECT 'stray', goods_id, kind, num, created_at FROM stock_flow " +
			"WHERE flag = '%d' LIMIT 1"},
		expected: verify.OrderMatchesOperation,
	},
	{
		name: "a flow row changed", stock: []string{"UPDATE stock_flow SET num = num - 1 WHERE flag = '%d' LIMIT 1"},
		expected: verify.OperationComplete,
	},
	{
		name: "a stock level off by one",
		stock: []string{"UPDATE stock SET num = num + 1 " +
			"WHERE goods_id = (SELECT MIN(goods_id) FROM stock_flow WHERE flag = '%d')"},
		expected: verify.StockBalances,
	},
	{
		name: "an operation deleted", stock: []string{"DELETE FROM operations WHERE flag = '%d'"},
		expected: verify.OperationComplete,
	},
	{
		name: "an operation flipped", stock: []string{"UPDATE operations SET state = 'REJECTED' WHERE flag = '%d'"},
		expected: verify.OrderMatchesOperation,
	},
	{
		name:     "an order flipped",
		order:    []string{"UPDATE orders SET status = 'REJECTED', outcome = 'REJECTED' WHERE id = %d"},
		expected: verify.OrderMatchesOperation,
	},
	{
		name:  "an order left pending",
		order: []string{"UPDATE orders SET status = 'PENDING', outcome = NULL WHERE id = %d"}, expected: verify.Settled,
	},
	{
		name: "an acknowledged order deleted", order: []string{"DELETE FROM orders WHERE id = %d"},
		expected: verify.AnswersTrue,
	},
	{
		name: "an order's item changed", order: []string{"UPDATE order_items SET num = num + 1 WHERE order_id = %d LIMIT 1"},
		expected: verify.OrderMatchesOperation,
	},
	{name: "an answer flipped", flip: func(h *history.History, op int32) {
		for i := range h.Calls {
			if h.Calls[i].Op == op && h.Calls[i].Status == history.Confirmed {
				h.Calls[i].Status, h.Calls[i].Code = history.Rejected, http.StatusConflict
			}
		}
	}, expected: verify.AnswersTrue},
}

// change applies the input's change to an order, and returns a function that undoes it.
func (in input) change(ctx context.Context, l *lab.Lab, h *history.History,
	order history.Call,
) (undo func(context.Context) error, err error) {
	if in.flip != nil {
		calls := slices.Clone(h.Calls)
		in.flip(h, order.Op)
		return func(context.Context) error { h.Calls = calls; return nil }, nil
	}
	tables := backup{}
	for _, db := range []struct {
		statements []string
		exec       execer
		tables     []string
	}{{in.order, l.OrderDB, []string{"orders", "order_items"}}, {
		in.stock, l.StockDB,
		[]string{"stock", "operations", "stock_flow"},
	}} {
		if len(db.statements) == 0 {
			continue
		}
		if err := tables.take(ctx, db.exec, db.tables); err != nil {
			return nil, err
		}
		for _, statement := range db.statements {
			result, err := db.exec.ExecContext(ctx, fmt.Sprintf(statement, order.Order))
			if err != nil {
				return nil, fmt.Errorf("%s: %w", in.name, err)
			}
			if n, err := result.RowsAffected(); err != nil {
				return nil, fmt.Errorf("%s: %w", in.name, err)
			} else if n != 1 {
				return nil, fmt.Errorf("%s: %d rows changed, want 1", in.name, n)
			}
		}
	}
	return tables.putBack, nil
}
