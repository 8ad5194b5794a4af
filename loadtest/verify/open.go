package verify

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
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
		orders.close()
		return nil, fmt.Errorf("stock database: %w", err)
	}
	return &database{orders, stock}, nil
}

func (d *database) close() {
	d.orders.close()
	d.stock.close()
}

// books returns the content of the databases. Rows are read as they are used, each table from one snapshot.
func (d *database) books(ctx context.Context) Books {
	return Books{
		Products: products(ctx, d.stock),
		Entries: func(yield func(*Entry, error) bool) {
			s, done, err := d.begin(ctx)
			defer done()
			if err != nil {
				yield(nil, err)
				return
			}
			s.entries()(yield)
		},
	}
}

// begin opens a cursor on each table. The stock side is read first, so each of its operations already has its order.
func (d *database) begin(ctx context.Context) (s *sources, done func(), err error) {
	s = &sources{}
	var txs []*sql.Tx
	done = func() {
		for _, tx := range txs {
			_ = tx.Rollback() // read-only
		}
	}
	if s.pruned, err = scanPruned(ctx, d.orders); err != nil {
		return nil, done, fmt.Errorf("read order database: %w", err)
	}
	for _, table := range []struct {
		name string
		from *reader
		open func(*sql.Tx) error
	}{
		{"stock", d.stock, func(tx *sql.Tx) (err error) { s.operations, err = scanOperations(ctx, tx); return err }},
		{"stock", d.stock, func(tx *sql.Tx) (err error) { s.flows, err = scanFlows(ctx, tx); return err }},
		{"stock", d.stock, func(tx *sql.Tx) (err error) { s.restocks, err = scanRestocks(ctx, tx); return err }},
		{"order", d.orders, func(tx *sql.Tx) (err error) { s.orders, err = scanOrders(ctx, tx); return err }},
		{"order", d.orders, func(tx *sql.Tx) (err error) { s.items, err = scanItems(ctx, tx); return err }},
	} {
		tx, err := table.from.snapshot(ctx)
		if err == nil {
			txs = append(txs, tx)
			err = table.open(tx)
		}
		if err != nil {
			return nil, done, fmt.Errorf("read %s database: %w", table.name, err)
		}
	}
	return s, done, nil
}

// Read reads both databases into memory.
func Read(ctx context.Context, d Databases) (*Tables, error) {
	db, err := open(d)
	if err != nil {
		return nil, fmt.Errorf("verify: %w", err)
	}
	defer db.close()
	t, err := collect(db.books(ctx))
	if err != nil {
		return nil, fmt.Errorf("verify: %w", err)
	}
	return t, nil
}
