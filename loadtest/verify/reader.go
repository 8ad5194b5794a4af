package verify

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"iter"
	"slices"
	"time"

	"orderstock/loadtest/history"
	"orderstock/pkg/mysqldb"
)

// database is both databases, open for reading.
type database struct{ orders, stock *reader }

func open(d Databases) (*database, error) {
	if d.OrderDSN == "" || d.StockDSN == "" {
		return nil, errors.New("need the DSN of both databases")
	}
	orders, err := openReader(d.OrderDSN)
	if err != nil {
		return nil, fmt.Errorf("order database: %w", err)
	}
	stock, err := openReader(d.StockDSN)
	if err != nil {
		_ = orders.Close()
		return nil, fmt.Errorf("stock database: %w", err)
	}
	return &database{orders, stock}, nil
}

func (d *database) close() { // read-only: no error matters
	_ = d.orders.Close()
	_ = d.stock.Close()
}

// books returns the content of the databases. Rows are read as they are used, each table from one snapshot. Stock
// levels are read last; nothing changes, since traffic has ended.
func (d *database) books(ctx context.Context) Books {
	return Books{
		Entries: func(yield func(*Entry, error) bool) {
			s, err := d.sources(ctx)
			if err != nil {
				yield(nil, err)
				return
			}
			s.entries(yield)
		},
		Products: read(ctx, d.stock, "read stock levels", `SELECT s.goods_id, s.name, s.price, s.num,
			COALESCE(SUM(b.num), 0), LEAST(s.num, COALESCE(MIN(b.num), s.num))
			FROM stock s LEFT JOIN stock_buckets b ON b.goods_id = s.goods_id
			GROUP BY s.goods_id, s.name, s.price, s.num`,
			func(r *ProductRow) []any { return []any{&r.Goods, &r.Name, &r.Price, &r.Num, &r.Buckets, &r.Least} }),
	}
}

// sources returns the tables. The stock side is begun first, so each of its operations already has its order.
func (d *database) sources(ctx context.Context) (*sources, error) {
	const orders, stock = "read order database", "read stock database"
	s := &sources{pruned: map[string]bool{}}
	for flag, err := range read(ctx, d.orders, orders, "SELECT order_id FROM pruned", mysqldb.One[string]) {
		if err != nil {
			return nil, err
		}
		s.pruned[flag] = true
	}
	ordersByFlag, err := d.orders.byFlag(ctx, "id", "orders")
	if err != nil {
		return nil, err
	}
	itemsByFlag, err := d.orders.byFlag(ctx, "order_id", "order_items")
	if err != nil {
		return nil, err
	}
	s.operations = read(ctx, d.stock, stock,
		"SELECT flag, state, reason, items, fencing_token <> REPEAT('\\0', 16) FROM operations ORDER BY flag",
		func(r *OperationRow) []any { return []any{&r.Flag, status{&r.State}, &r.Reason, &r.Items, &r.Fenced} })
	s.flows = read(ctx, d.stock, stock,
		"SELECT flag, goods_id, kind, num FROM stock_flow ORDER BY flag, goods_id, kind",
		func(r *FlowRow) []any { return []any{&r.Flag, &r.Goods, &r.Kind, &r.Num} })
	s.restocks = read(ctx, d.stock, stock,
		"SELECT flag, goods_id, name, price FROM restocks ORDER BY flag, goods_id",
		func(r *RestockRow) []any { return []any{&r.Flag, &r.Goods, &r.Name, &r.Price} })
	s.orders = read(ctx, d.orders, orders,
		"SELECT id, status, outcome, reason, idempotency_key, body_hash, total FROM orders ORDER BY "+ordersByFlag,
		func(r *OrderRow) []any {
			return []any{&r.ID, status{&r.Status}, status{&r.Outcome}, &r.Reason, &r.Key, &r.BodyHash, &r.Total}
		})
	s.items = read(ctx, d.orders, orders,
		"SELECT order_id, goods_id, num, price FROM order_items ORDER BY "+itemsByFlag+", goods_id",
		func(r *ItemRow) []any { return []any{&r.Order, &r.GoodsID, &r.Num, &r.Price} })
	return s, nil
}

// reader streams the rows of one database, which may be larger than memory.
type reader struct {
	*sql.DB
	// group is nil unless the DSN names the members of a group. The primary is read.
	group *mysqldb.Group
}

func openReader(dsn string) (*reader, error) {
	cfg, err := mysqldb.ParseDSN(dsn)
	if err != nil {
		return nil, err
	}
	// A cursor waits while the others catch up; the server must not mistake it for a dead client.
	connector, err := mysqldb.Connector(cfg, mysqldb.Options{IdleTimeout: time.Hour})
	if err != nil {
		return nil, err
	}
	group, _ := connector.(*mysqldb.Group)
	return &reader{sql.OpenDB(connector), group}, nil
}

// byFlag returns an expression that sorts orders by flag (the id in decimal), like the tables of the stock side. If all
// ids have the same number of digits, as snowflakes do, that is the column itself.
func (r *reader) byFlag(ctx context.Context, column, table string) (string, error) {
	var least, most sql.NullInt64
	query := "SELECT MIN(" + column + "), MAX(" + column + ") FROM " + table
	if err := r.QueryRowContext(ctx, query).Scan(&least, &most); err != nil {
		return "", fmt.Errorf("read order database: %w", err)
	}
	if least.Int64 > 0 && len(decimal(least.Int64)) == len(decimal(most.Int64)) {
		return column, nil
	}
	return "CAST(" + column + " AS CHAR CHARACTER SET latin1) COLLATE latin1_bin", nil
}

// read yields the rows of a query, from one snapshot of the database that is taken with the first row. columns returns
// where the columns of a row go. doing begins the text of an error.
func read[T any](ctx context.Context, from *reader, doing, query string, columns func(*T) []any) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		tx, err := from.BeginTx(ctx, &sql.TxOptions{Isolation: sql.LevelRepeatableRead, ReadOnly: true})
		if err != nil {
			var none T
			yield(none, fmt.Errorf("%s: %w", doing, err))
			return
		}
		defer func() { _ = tx.Rollback() }() // read-only
		for row, err := range mysqldb.Rows(ctx, tx, columns, query) {
			if err != nil {
				err = fmt.Errorf("%s: %w", doing, err)
			}
			if !yield(row, err) {
				return
			}
		}
	}
}

// status scans a column with the name of a status. NULL is none.
type status struct{ *history.Status }

// Scan implements sql.Scanner.
func (s status) Scan(column any) error {
	name, text := column.([]byte)
	if !text && column != nil {
		return fmt.Errorf("status of type %T", column)
	}
	*s.Status = history.ParseStatus(string(name))
	return nil
}

// Scan implements sql.Scanner.
func (k *FlowKind) Scan(column any) error {
	name, _ := column.([]byte)
	i := slices.Index(flowKinds[:], string(name))
	if i < 0 {
		return fmt.Errorf("flow of kind %q", name)
	}
	*k = FlowKind(i)
	return nil
}
