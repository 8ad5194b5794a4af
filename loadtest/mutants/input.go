package mutants

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/http"

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

// change applies the input's change to an order that a client saw confirmed.
func (in input) change(ctx context.Context, l *lab.Lab, h *history.History, order history.Call) error {
	if in.flip != nil {
		in.flip(h, order.Op)
	}
	for _, db := range []struct {
		*sql.DB
		statements []string
	}{{l.OrderDB, in.order}, {l.StockDB, in.stock}} {
		for _, statement := range db.statements {
			result, err := db.ExecContext(ctx, fmt.Sprintf(statement, order.Order))
			if err != nil {
				return err
			}
			if n, err := result.RowsAffected(); err != nil || n != 1 {
				return errors.Join(err, fmt.Errorf("%d rows changed, want 1", n))
			}
		}
	}
	return nil
}

// copied are the tables that inputs change.
func copied(l *lab.Lab) map[string]*sql.DB {
	return map[string]*sql.DB{
		"orders": l.OrderDB, "order_items": l.OrderDB,
		"stock": l.StockDB, "operations": l.StockDB, "stock_flow": l.StockDB,
	}
}

// copyTables copies the tables, in the same database.
func copyTables(ctx context.Context, l *lab.Lab) error {
	return inTables(ctx, l, "CREATE TABLE copy_of_%[1]s AS SELECT * FROM %[1]s")
}

// restoreTables restores the tables from their copies.
func restoreTables(ctx context.Context, l *lab.Lab) error {
	return inTables(ctx, l, "DELETE FROM %[1]s", "INSERT INTO %[1]s SELECT * FROM copy_of_%[1]s")
}

func inTables(ctx context.Context, l *lab.Lab, statements ...string) error {
	for table, db := range copied(l) {
		for _, statement := range statements {
			if _, err := db.ExecContext(ctx, fmt.Sprintf(statement, table)); err != nil {
				return fmt.Errorf("copy %s: %w", table, err)
			}
		}
	}
	return nil
}
