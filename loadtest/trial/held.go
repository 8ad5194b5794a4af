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
	held := map[string]string{}
	for _, isolation := range []sql.IsolationLevel{sql.LevelReadUncommitted, sql.LevelReadCommitted} {
		tx, err := l.OrderDB.BeginTx(ctx, &sql.TxOptions{Isolation: isolation})
		if err != nil {
			return nil, fmt.Errorf("read held orders: %w", err)
		}
		orders, err := mysqldb.All(ctx, tx, func(o *[2]string) []any { return []any{&o[0], &o[1]} }, query)
		if err = errors.Join(err, tx.Rollback()); err != nil {
			return nil, fmt.Errorf("read held orders: %w", err)
		}
		for _, o := range orders {
			if held[o[0]] = `{"items":[` + o[1] + `]}`; isolation == sql.LevelReadCommitted {
				delete(held, o[0])
			}
		}
	}
	if len(held) == 0 {
		return nil, errors.New("the frozen process holds no order")
	}
	return held, nil
}
