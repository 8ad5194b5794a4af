package tables

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"orderstock/loadtest/history"
	"orderstock/loadtest/system"
	"orderstock/loadtest/trial"
	"orderstock/loadtest/verify"
)

// falsification is a change to the databases or the history, after a run that passed.
type falsification struct {
	// order and stock are statements that change one row of a database; %d is the id of an order that a client saw
	// confirmed.
	order, stock string
	// flip changes the clients' history; nil if a database is changed.
	flip func(h *history.History, op int32)
}

// inputs are the changes to the input of the checker.
var inputs = []trial.Experiment{
	inStock("a flow row deleted", "DELETE FROM stock_flow WHERE flag = '%d' LIMIT 1", verify.OperationComplete),
	inStock("a flow row added", "INSERT INTO stock_flow SELECT 'stray', goods_id, kind, num, created_at FROM stock_flow "+
		"WHERE flag = '%d' LIMIT 1", verify.OrderMatchesOperation),
	inStock("a flow row changed", "UPDATE stock_flow SET num = num - 1 WHERE flag = '%d' LIMIT 1",
		verify.OperationComplete),
	inStock("a stock level off by one", "UPDATE stock SET num = num + 1 "+
		"WHERE goods_id = (SELECT MIN(goods_id) FROM stock_flow WHERE flag = '%d')", verify.StockBalances),
	inStock("an operation deleted", "DELETE FROM operations WHERE flag = '%d'", verify.OperationComplete),
	inStock("an operation flipped", "UPDATE operations SET state = 'REJECTED' WHERE flag = '%d'",
		verify.OrderMatchesOperation),
	inOrders("an order flipped", "UPDATE orders SET status = 'REJECTED', outcome = 'REJECTED' WHERE id = %d",
		verify.OrderMatchesOperation),
	inOrders("an order left pending", "UPDATE orders SET status = 'PENDING', outcome = NULL WHERE id = %d",
		verify.Settled),
	inOrders("an acknowledged order deleted", "DELETE FROM orders WHERE id = %d", verify.AnswersTrue),
	inOrders("an order's item changed", "UPDATE order_items SET num = num + 1 WHERE order_id = %d LIMIT 1",
		verify.OrderMatchesOperation),
	changed("an answer flipped", falsification{flip: rejected}, verify.AnswersTrue),
}

func inStock(name, statement, expected string) trial.Experiment {
	return changed(name, falsification{stock: statement}, expected)
}

func inOrders(name, statement, expected string) trial.Experiment {
	return changed(name, falsification{order: statement}, expected)
}

// changed returns the mutant whose input is changed after a good run. One seed is enough: nothing meets by chance.
func changed(name string, f falsification, expected string) trial.Experiment {
	e := calm(trial.Experiment{
		Name: name, Expect: caught(expected),
		Checks: []trial.Check{trial.When(trial.Sent, name, func(ctx context.Context, r *trial.Run) error {
			return f.apply(ctx, r.System, r.History)
		})},
	})
	e.Tries = 1
	return e
}

// rejected changes every answer that confirmed the order.
func rejected(h *history.History, op int32) {
	for i := range h.Calls {
		if h.Calls[i].Op == op && h.Calls[i].Status == history.Confirmed {
			h.Calls[i].Status, h.Calls[i].Code = history.Rejected, http.StatusConflict
		}
	}
}

// apply makes the change to an order that a client saw confirmed, in a run that must have passed. It kills the
// services before, since a live reconciler would repair some of the changes.
func (f falsification) apply(ctx context.Context, l *system.System, h *history.History) error {
	if v, err := l.Judge(ctx, verify.Config{History: h}); err != nil {
		return fmt.Errorf("run before the change: %w", err)
	} else if v.Outcome != verify.Pass {
		return fmt.Errorf("run before the change: %s, broken %v, %v", v.Outcome, v.Violated(), v.Reasons)
	}
	i := slices.IndexFunc(h.Calls, func(c history.Call) bool {
		return c.Kind == history.Place && c.Status == history.Confirmed
	})
	if i < 0 {
		return errors.New("run before the change: no order was confirmed")
	}
	for _, r := range l.Replicas() {
		if err := r.Kill(); err != nil {
			return err
		}
	}
	if f.flip != nil {
		f.flip(h, h.Calls[i].Op)
	}
	for db, statement := range map[*sql.DB]string{l.OrderDB: f.order, l.StockDB: f.stock} {
		if statement == "" {
			continue
		}
		result, err := db.ExecContext(ctx, fmt.Sprintf(statement, h.Calls[i].Order))
		if err != nil {
			return err
		}
		if n, err := result.RowsAffected(); err != nil || n != 1 {
			return errors.Join(err, fmt.Errorf("%d rows changed, want 1", n))
		}
	}
	return nil
}
