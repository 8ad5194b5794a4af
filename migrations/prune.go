package migrations

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"orderstock/pkg/mysqldb"
)

// pruneBatch bounds the orders of one transaction, and the rows of one query for them.
const pruneBatch = 200

// Prune deletes the orders that have ended and did not change for keep, with their items, operations and flow rows, and
// returns the number of orders deleted. For each product one row of kind pruned holds the sum of the deleted rows, so
// that a level stays the sum of its rows. Restocks stay, so that their repeats are always recognised. An order's key
// and flag are deleted with it, so keep must be longer than clients repeat or cancel an order. It must be at least a
// day.
//
// Prune may run while the services do, and be killed and run again. Of several concurrent calls one works; the others
// wait for it, and return ErrBusy after a minute.
func Prune(ctx context.Context, cfg Config, keep time.Duration) (orders int, err error) {
	if keep < 24*time.Hour {
		return 0, fmt.Errorf("prune: keep %s: want at least a day", keep)
	}
	var p pruner
	if p.orders, err = open(cfg.AdminDSN, &cfg.Accounts.Migrator, cfg.Accounts.OrderDB); err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, p.orders.Close()) }()
	if p.stock, err = open(cfg.AdminDSN, &cfg.Accounts.Migrator, cfg.Accounts.StockDB); err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, p.stock.Close()) }()
	// An administrator's clock may be wrong by days.
	if err := p.orders.QueryRowContext(ctx, "SELECT UTC_TIMESTAMP(6)").Scan(&p.before); err != nil {
		return 0, fmt.Errorf("prune: read the database's clock: %w", err)
	}
	p.before = p.before.Add(-keep)
	if err := locked(ctx, p.orders, "prune", p.run); err != nil {
		return p.count, fmt.Errorf("prune: %w", err)
	}
	return p.count, nil
}

// pruner deletes orders from the order database first, so that nobody can cancel them any more. The table pruned lists
// them until their rows are deleted from the stock database as well.
type pruner struct {
	orders, stock *sql.DB
	before        time.Time
	count         int
}

func (p *pruner) run(ctx context.Context) error {
	if err := p.finish(ctx); err != nil { // finish an earlier run
		return err
	}
	for after := int64(0); ; {
		ids, last, err := p.look(ctx, after)
		if err != nil || last == after {
			return err
		}
		after = last
		if len(ids) == 0 {
			continue
		}
		if err := transact(ctx, p.orders, func(tx *sql.Tx) error { return p.take(ctx, tx, ids) }); err != nil {
			return err
		}
		if err := p.finish(ctx); err != nil {
			return err
		}
	}
}

// old is the condition that an order must meet to be deleted.
const old = "status IN ('CONFIRMED', 'REJECTED', 'CANCELLED') AND created_at < ? AND updated_at < ?"

// look reads the next orders by id, and returns the ids of the orders that may be deleted and the last id read. If no
// orders are left, or only young ones, last is after: ids rise with time.
func (p *pruner) look(ctx context.Context, after int64) (ids []int64, last int64, err error) {
	type order struct {
		id         int64
		young, may bool
	}
	last = after
	young := true
	for o, err := range mysqldb.Rows(ctx, p.orders, func(o *order) []any { return []any{&o.id, &o.young, &o.may} },
		"SELECT id, created_at >= ?, "+old+" FROM orders WHERE id > ? ORDER BY id LIMIT "+strconv.Itoa(pruneBatch),
		p.before, p.before, p.before, after) {
		if err != nil {
			return nil, 0, fmt.Errorf("look for old orders: %w", err)
		}
		if last, young = o.id, young && o.young; o.may {
			ids = append(ids, o.id)
		}
	}
	if young {
		last = after
	}
	return ids, last, nil
}

// take deletes the orders that may still be deleted, and lists them in pruned.
func (p *pruner) take(ctx context.Context, tx *sql.Tx, ids []int64) error {
	held, err := mysqldb.All(ctx, tx, mysqldb.One[int64], "SELECT id FROM orders WHERE id IN ("+marks(ids)+") AND "+old+
		" ORDER BY id FOR UPDATE", append(args(ids), p.before, p.before)...)
	if err != nil || len(held) == 0 {
		return err
	}
	for _, statement := range []string{
		"INSERT INTO pruned (order_id) VALUES (" + strings.ReplaceAll(marks(held), ",", "),(") + ")",
		// The same lock order as the inserts'.
		"DELETE FROM orders WHERE id IN (" + marks(held) + ") ORDER BY idempotency_key",
		"DELETE FROM order_items WHERE order_id IN (" + marks(held) + ")",
	} {
		if _, err := tx.ExecContext(ctx, statement, args(held)...); err != nil {
			return err
		}
	}
	return nil
}

// finish deletes the rows of the orders in pruned from the stock database, and then
// the list itself.
func (p *pruner) finish(ctx context.Context) error {
	for {
		ids, err := mysqldb.All(ctx, p.orders, mysqldb.One[int64],
			"SELECT order_id FROM pruned ORDER BY order_id LIMIT "+strconv.Itoa(pruneBatch))
		if err != nil || len(ids) == 0 {
			return err
		}
		if err := transact(ctx, p.stock, func(tx *sql.Tx) error { return fold(ctx, tx, ids) }); err != nil {
			return err
		}
		//nolint:gosec // question marks
		_, err = p.orders.ExecContext(ctx, "DELETE FROM pruned WHERE order_id IN ("+marks(ids)+")", args(ids)...)
		if err != nil {
			return err
		}
		p.count += len(ids)
	}
}

// fold adds the flow rows of the orders to the pruned rows of their products, and deletes them. It locks rows in the
// order of package stockdb: operations, then flows.
func fold(ctx context.Context, tx *sql.Tx, ids []int64) error {
	flags := make([]string, len(ids))
	for i, id := range ids {
		flags[i] = strconv.FormatInt(id, 10)
	}
	slices.Sort(flags)
	in := "flag IN (" + marks(flags) + ")"
	lock := "SELECT flag FROM operations WHERE " + in + " ORDER BY flag FOR UPDATE"
	if _, err := mysqldb.All(ctx, tx, mysqldb.One[string], lock, args(flags)...); err != nil {
		return err
	}
	for _, statement := range []string{
		`INSERT INTO stock_flow (flag, goods_id, kind, num, created_at)
			SELECT '', goods_id, 'pruned', gone.num, UTC_TIMESTAMP(6) FROM
				(SELECT goods_id, SUM(num) AS num FROM stock_flow WHERE ` + in + ` AND kind <> 'restock' GROUP BY goods_id) gone
			ON DUPLICATE KEY UPDATE num = stock_flow.num + gone.num`,
		"DELETE FROM stock_flow WHERE " + in + " AND kind <> 'restock'",
		"DELETE FROM operations WHERE " + in,
	} {
		if _, err := tx.ExecContext(ctx, statement, args(flags)...); err != nil {
			return err
		}
	}
	return nil
}

// transact runs fn in a transaction at the services' isolation level.
func transact(ctx context.Context, db *sql.DB, fn func(tx *sql.Tx) error) error {
	tx, err := db.BeginTx(ctx, &sql.TxOptions{Isolation: sql.LevelReadCommitted})
	if err != nil {
		return err
	}
	if err := fn(tx); err != nil {
		return errors.Join(err, tx.Rollback())
	}
	return tx.Commit()
}

// marks returns a placeholder for each value: "?,?".
func marks[T any](values []T) string { return strings.Repeat("?,", len(values)-1) + "?" }

func args[T any](values []T) []any {
	all := make([]any, len(values))
	for i, v := range values {
		all[i] = v
	}
	return all
}
