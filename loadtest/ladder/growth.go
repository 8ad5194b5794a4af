package ladder

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"time"

	"orderstock/loadtest/stack"
	"orderstock/pkg/servers"
)

// Growth compares orders a second over empty and over grown tables.
type Growth struct {
	Server string `json:"server"`
	// Orders, Flows are the rows that the grown tables hold beforehand.
	Orders int64 `json:"orders"`
	Flows  int64 `json:"flows"`
	// Empty and Grown are the two as rows of the ladder.
	Empty Row `json:"empty"`
	Grown Row `json:"grown"`
	// Ratio is the sales a second over the grown tables by those over the empty ones.
	Ratio Ratio `json:"ratio"`
}

// growthWindow is the least time for which each of the two is measured, over all rounds.
const growthWindow = 10 * time.Second

// fillItems is how many products each filled order has; each makes a flow row.
const fillItems = 3

// fillChunk is how many orders one statement inserts.
const fillChunk = 20_000

// MeasureGrowth measures whole orders on one hot product with the strategy over empty tables and over tables that hold
// that many settled orders of three items each, in turns on one database server. It fills in the same rows as the
// services would, so that the verdict covers them too.
func MeasureGrowth(ctx context.Context, cfg Config, strategy string, orders int) (_ Growth, err error) {
	g := Growth{Orders: int64(orders), Flows: int64(orders) * fillItems}
	if g.Server, err = serverVersion(ctx, cfg.Servers.MySQL); err != nil {
		return g, err
	}
	hot := point{path: PathOrder, goods: 1, clients: 256}
	cfg.Measure = max(cfg.Measure, growthWindow)
	cfg.Plan = Plan{Strategies: []string{strategy, strategy}, Replicas: []int{1}} // the empty and the grown
	rows, err := measurePoint(ctx, cfg, 0, hot, func(both []*contestant) error {
		cfg.Progress(fmt.Sprintf("filling in %d orders", orders))
		if err := fill(ctx, cfg, both[1].stack, orders); err != nil {
			return err
		}
		cfg.Progress("waiting until the filled rows are written to the disk")
		if err := flushed(ctx, cfg.Servers.MySQL); err != nil {
			return err
		}
		cfg.Progress(fmt.Sprintf("measuring over empty and over grown tables, in %d rounds, and verifying", hot.rounds()))
		return nil
	})
	if err != nil {
		return g, err
	}
	g.Empty, g.Grown = rows[0], rows[1]
	if g.Empty.DonePerS <= 0 {
		return g, errors.New("nothing was sold over empty tables")
	}
	g.Ratio = compare(fmt.Sprintf("%s: %d orders and %d flow rows / empty tables", hot, g.Orders, g.Flows), g.Grown,
		g.Empty, 0.9)
	return g, nil
}

// flushed waits until the database's dirty pages stop falling, for at most two minutes: a server that has just received
// millions of rows is still writing them, no matter which tables are measured.
func flushed(ctx context.Context, m *servers.MySQL) (err error) {
	db, err := sql.Open("mysql", m.AdminDSN())
	if err != nil {
		return fmt.Errorf("read the dirty pages: %w", err)
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	const pause, patience = 3 * time.Second, 2 * time.Minute
	return whileFalling(ctx, int(patience/pause), pause, func() (pages int64, err error) {
		var name string
		if err := db.QueryRowContext(ctx, "SHOW GLOBAL STATUS LIKE 'Innodb_buffer_pool_pages_dirty'").Scan(&name,
			&pages); err != nil {
			return 0, fmt.Errorf("read the dirty pages: %w", err)
		}
		return pages, nil
	})
}

// fewPages is the number of dirty pages that a server at rest has.
const fewPages = 100

// whileFalling calls read, with a pause between two calls, until the pages are at most fewPages or no fewer
// than before, or it has called read so many times.
func whileFalling(ctx context.Context, times int, pause time.Duration, read func() (pages int64, err error)) error {
	before := int64(math.MaxInt64)
	for range times {
		now, err := read()
		if err != nil || now <= fewPages || now >= before {
			return err
		}
		before = now
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(pause):
		}
	}
	return nil
}

// fill writes settled orders with ids from 1 up, far below any snowflake, over products 1 to 3.
func fill(ctx context.Context, cfg Config, st *stack.Stack, orders int) (err error) {
	db, err := sql.Open("mysql", cfg.Servers.MySQL.AdminDSN())
	if err != nil {
		return fmt.Errorf("fill the tables: %w", err)
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	order, stock := "`"+st.Accounts().OrderDB+"`", "`"+st.Accounts().StockDB+"`"
	exec := func(statement string, args ...any) error {
		if _, err := db.ExecContext(ctx, statement, args...); err != nil {
			return fmt.Errorf("fill the tables: %w", err)
		}
		return nil
	}
	if err := exec("CREATE TABLE IF NOT EXISTS " + order + ".ladder_numbers (n BIGINT PRIMARY KEY)"); err != nil {
		return err
	}
	if err := exec("INSERT INTO "+order+`.ladder_numbers
		WITH digit AS (SELECT 0 d UNION ALL SELECT 1 UNION ALL SELECT 2 UNION ALL SELECT 3 UNION ALL SELECT 4
			UNION ALL SELECT 5 UNION ALL SELECT 6 UNION ALL SELECT 7 UNION ALL SELECT 8 UNION ALL SELECT 9)
		SELECT a.d + 10*b.d + 100*c.d + 1000*e.d + 10000*f.d FROM digit a, digit b, digit c, digit e, digit f
		WHERE a.d + 10*b.d + 100*c.d + 1000*e.d + 10000*f.d < ?`, fillChunk); err != nil {
		return err
	}
	for id := 1; id <= fillItems; id++ {
		if err := exec("INSERT INTO "+stock+".stock (goods_id, name, price, num, updated_at) "+
			"VALUES (?, '', 100, ?, NOW(6))", id, plenty-orders); err != nil {
			return err
		}
		if err := exec("INSERT INTO "+stock+".stock_flow (flag, goods_id, kind, num, created_at) "+
			"VALUES ('ladder-restock', ?, 'restock', ?, NOW(6))", id, plenty); err != nil {
			return err
		}
	}
	for first := 1; first <= orders; first += fillChunk {
		ids := fmt.Sprintf("SELECT n + %d AS id FROM %s.ladder_numbers WHERE n + %d <= %d", first, order, first, orders)
		statements := []string{
			"INSERT INTO " + order + ".orders (id, status, outcome, body_hash, total, created_at, updated_at) " +
				"SELECT id, 'CONFIRMED', 'CONFIRMED', UNHEX(SHA2(id, 256)), 300, NOW(6), NOW(6) FROM (" + ids + ") ids",
			"INSERT INTO " + stock + ".operations (flag, state, items, created_at) " +
				"SELECT CONVERT(id, CHAR CHARACTER SET ascii), 'DONE', '1:1,2:1,3:1', NOW(6) FROM (" + ids + ") ids",
		}
		for goods := 1; goods <= fillItems; goods++ {
			statements = append(statements,
				fmt.Sprintf("INSERT INTO %s.order_items (order_id, goods_id, num, price) SELECT id, %d, 1, 100 FROM (%s) ids",
					order, goods, ids),
				fmt.Sprintf("INSERT INTO %s.stock_flow (flag, goods_id, kind, num, created_at) "+
					"SELECT CONVERT(id, CHAR CHARACTER SET ascii), %d, 'deduct', -1, NOW(6) FROM (%s) ids",
					stock, goods, ids))
		}
		for _, s := range statements {
			if err := exec(s); err != nil {
				return err
			}
		}
		if first/fillChunk%10 == 0 {
			cfg.Progress(fmt.Sprintf("%d of %d orders", first-1+fillChunk, orders))
		}
	}
	return exec("DROP TABLE " + order + ".ladder_numbers")
}
