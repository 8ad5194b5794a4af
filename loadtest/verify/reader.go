package verify

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"orderstock/loadtest/history"
	"orderstock/pkg/mysqldb"
)

// database is both databases, open for reading, and what is known of ZooKeeper.
type database struct {
	orders, stock *reader
	Databases
}

func open(d Databases) (*database, error) {
	if d.OrderDSN == "" || d.StockDSN == "" {
		return nil, errors.New("need the DSN of both databases")
	}
	orders, err := openReader("order", d.OrderDSN)
	if err != nil {
		return nil, fmt.Errorf("order database: %w", err)
	}
	stock, err := openReader("stock", d.StockDSN)
	if err != nil {
		_ = orders.Close()
		return nil, fmt.Errorf("stock database: %w", err)
	}
	return &database{orders, stock, d}, nil
}

func (d *database) close() { // read-only: no error matters
	_ = d.orders.Close()
	_ = d.stock.Close()
}

// books returns the content of the databases, each from one snapshot, so that others may go on writing. The stock
// database's snapshot is the older one: each of its operations already has its order. Rows are read as they are used.
// The caller must call done after it has used the books.
func (d *database) books(ctx context.Context) (books Books, done func(), err error) {
	stock, err := d.stock.snapshot(ctx)
	if err != nil {
		return Books{}, nil, err
	}
	orders, err := d.orders.snapshot(ctx)
	if err != nil {
		stock.end(ctx)
		return Books{}, nil, err
	}
	books = Books{At: time.Now(), Since: d.Since, Until: LastTransaction(ctx, d.ZooKeeperAddrs)}
	done = func() {
		stock.end(ctx)
		orders.end(ctx)
	}
	s, err := tables(ctx, orders, stock)
	if err != nil {
		done()
		return Books{}, nil, err
	}
	books.Entries, books.Products = s.entries, pages(ctx, stock, page[ProductRow]{
		"SELECT goods_id, name, price, num, fencing_token FROM stock", "goods_id", "",
		func(r *ProductRow) []any { return []any{&r.Goods, &r.Name, &r.Price, &r.Num, &r.Token} },
		func(r *ProductRow) any { return r.Goods },
	})
	return books, done, nil
}

// createdMicros is the date of a row, in microseconds since 1970.
const createdMicros = "TIMESTAMPDIFF(MICROSECOND, '1970-01-01', created_at)"

// tables returns the other tables of the snapshots.
func tables(ctx context.Context, orders, stock *snapshot) (*sources, error) {
	s := &sources{pruned: map[string]bool{}}
	for flag, err := range mysqldb.Rows(ctx, orders, mysqldb.One[string], "SELECT order_id FROM pruned") {
		if err != nil {
			return nil, orders.of.explain(err)
		}
		s.pruned[flag] = true
	}
	ordersByFlag, ofOrder, err := orders.byFlag(ctx, "id", "orders")
	if err != nil {
		return nil, err
	}
	itemsByFlag, ofItems, err := orders.byFlag(ctx, "order_id", "order_items")
	if err != nil {
		return nil, err
	}
	s.operations = pages(ctx, stock, page[OperationRow]{
		"SELECT flag, state, reason, items, fencing_token FROM operations", "flag", "",
		func(r *OperationRow) []any { return []any{&r.Flag, status{&r.State}, &r.Reason, &r.Items, &r.Token} },
		func(r *OperationRow) any { return string(r.Flag) },
	})
	s.flows = pages(ctx, stock, page[FlowRow]{
		"SELECT flag, goods_id, kind, num, " + createdMicros + " FROM stock_flow", "flag", ", goods_id, kind",
		func(r *FlowRow) []any { return []any{&r.Flag, &r.Goods, &r.Kind, &r.Num, &r.Created} },
		func(r *FlowRow) any { return string(r.Flag) },
	})
	s.restocks = pages(ctx, stock, page[RestockRow]{
		"SELECT flag, goods_id, name, price FROM restocks", "flag", ", goods_id",
		func(r *RestockRow) []any { return []any{&r.Flag, &r.Goods, &r.Name, &r.Price} },
		func(r *RestockRow) any { return string(r.Flag) },
	})
	s.orders = pages(ctx, orders, page[OrderRow]{
		"SELECT id, status, outcome, reason, idempotency_key, body_hash, total, " + createdMicros + " FROM orders",
		ordersByFlag, "",
		func(r *OrderRow) []any {
			return []any{&r.ID, status{&r.Status}, status{&r.Outcome}, &r.Reason, &r.Key, &r.BodyHash, &r.Total, &r.Created}
		},
		func(r *OrderRow) any { return ofOrder(r.ID) },
	})
	s.items = pages(ctx, orders, page[ItemRow]{
		"SELECT order_id, goods_id, num, price FROM order_items", itemsByFlag, ", goods_id",
		func(r *ItemRow) []any { return []any{&r.Order, &r.GoodsID, &r.Num, &r.Price} },
		func(r *ItemRow) any { return ofItems(r.Order) },
	})
	return s, nil
}

// reader reads one database, which may be larger than memory.
type reader struct {
	*sql.DB
	name string
	// group is nil unless the DSN names the members of a group. The primary is read.
	group *mysqldb.Cluster
}

// explain says in an error which database cannot be read.
func (r *reader) explain(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("read %s database: %w", r.name, err)
}

func openReader(name, dsn string) (*reader, error) {
	cfg, err := mysqldb.ParseDSN(dsn)
	if err != nil {
		return nil, err
	}
	cfg.Timeout = cmp.Or(cfg.Timeout, 5*time.Second)
	// The snapshot of one database waits while the other is read; the server must not mistake it for a dead client.
	connector, err := mysqldb.Connector(cfg, mysqldb.Options{IdleTimeout: time.Hour})
	if err != nil {
		return nil, err
	}
	group, _ := connector.(*mysqldb.Cluster)
	return &reader{sql.OpenDB(connector), name, group}, nil
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
