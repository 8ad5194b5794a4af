package trial

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"orderstock/loadtest/system"
	"orderstock/pkg/mysqldb"
)

// repeatHeld keeps sending the orders held by the frozen first order service to the second, until stop is called.
func repeatHeld(ctx context.Context, l *system.System) (stop func(), err error) {
	held, err := heldOrders(ctx, l)
	if err != nil {
		return func() {}, err
	}
	var repeats []func(context.Context)
	for key, body := range held {
		repeats = append(repeats, func(ctx context.Context) {
			_, _ = l.Orders[1].PostOrder(ctx, key, body) // the databases show its outcome
		})
	}
	return repeatedly(ctx, 20*time.Millisecond, repeats...), nil
}

// heldOrders returns the body of each order that is inserted and not committed, by its key.
func heldOrders(ctx context.Context, l *system.System) (map[string]string, error) {
	const query = "SELECT idempotency_key, GROUP_CONCAT(CONCAT('{\"goods_id\":\"', goods_id, '\",\"num\":', num, '}'))" +
		" FROM orders JOIN order_items ON order_id = id WHERE idempotency_key IS NOT NULL GROUP BY idempotency_key"
	read := func(isolation sql.IsolationLevel) (map[string]string, error) {
		tx, err := l.OrderDB.BeginTx(ctx, &sql.TxOptions{Isolation: isolation})
		if err != nil {
			return nil, fmt.Errorf("read held orders: %w", err)
		}
		defer func() { _ = tx.Rollback() }() // read-only
		orders := map[string]string{}
		for o, err := range mysqldb.Rows(ctx, tx, func(o *[2]string) []any { return []any{&o[0], &o[1]} }, query) {
			if err != nil {
				return nil, fmt.Errorf("read held orders: %w", err)
			}
			orders[o[0]] = o[1]
		}
		return orders, nil
	}
	committed, err := read(sql.LevelReadCommitted)
	if err != nil {
		return nil, err
	}
	held, err := read(sql.LevelReadUncommitted)
	if err != nil {
		return nil, err
	}
	for key, items := range held {
		if held[key] = `{"items":[` + items + `]}`; committed[key] != "" {
			delete(held, key)
		}
	}
	if len(held) == 0 {
		return nil, errors.New("the frozen process holds no order")
	}
	return held, nil
}
