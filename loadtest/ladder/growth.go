package ladder

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"orderstock/loadtest/trial"
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
	bench, err := cfg.bench(ctx)
	if err != nil {
		return g, err
	}
	g.Server = bench.Server
	hot := point{path: PathOrder, goods: 1, clients: 256}
	cfg.Measure = max(cfg.Measure, growthWindow)
	one := variant{shape: shape{strategy, 1}}
	both, err := measure(ctx, cfg.spread(hot), hot, []variant{one, one}, hot.turns, func(both []*contestant) error {
		cfg.say("filling in %d orders", orders)
		if err := both[1].fill(ctx, cfg, orders); err != nil {
			return err
		}
		cfg.say("waiting until the filled rows are written to the disk")
		if err := flushed(ctx, cfg.Servers.MySQL); err != nil {
			return err
		}
		cfg.say("measuring over empty and over grown tables, in %d rounds, and verifying", hot.rounds())
		return nil
	})
	if err != nil {
		return g, err
	}
	g.Empty, g.Grown = both[0].row(hot), both[1].row(hot)
	if g.Empty.DonePerS <= 0 {
		return g, errors.New("nothing was sold over empty tables")
	}
	g.Ratio = compare(fmt.Sprintf("%s: %d orders and %d flow rows / empty tables", hot, g.Orders, g.Flows), g.Grown,
		g.Empty, 0.9)
	return g, nil
}

// Judge judges as Result.Judge does.
func (g Growth) Judge(targets bool) error {
	return errors.Join(g.Ratio.judge(targets), passed(g.Empty.Verdict), passed(g.Grown.Verdict))
}

// flushed waits until the database's dirty pages stop falling, for at most two minutes: a server that has just received
// millions of rows is still writing them, no matter which tables are measured.
func flushed(ctx context.Context, m *servers.MySQL) error {
	const pause, patience = 3 * time.Second, 2 * time.Minute
	return whileFalling(ctx, int(patience/pause), pause, func() (pages int64, err error) {
		var name string
		err = m.QueryRow(ctx, "SHOW GLOBAL STATUS LIKE 'Innodb_buffer_pool_pages_dirty'", &name, &pages)
		return pages, err
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
		if err := trial.Sleep(ctx, pause); err != nil {
			return err
		}
	}
	return nil
}

// fill writes settled orders with ids from 1 up, far below any snowflake, over products 1 to 3.
func (c *contestant) fill(ctx context.Context, cfg Config, orders int) error {
	a := c.stack.Accounts()
	names := strings.NewReplacer("ORDER.", "`"+a.OrderDB+"`.", "STOCK.", "`"+a.StockDB+"`.")
	exec := func(statements ...string) error {
		for i, s := range statements {
			statements[i] = names.Replace(s)
		}
		return cfg.Servers.MySQL.Exec(ctx, statements...)
	}
	products := fmt.Sprintf("(SELECT n AS product FROM ORDER.numbers WHERE n BETWEEN 1 AND %d) products", fillItems)
	err := exec(
		"CREATE TABLE ORDER.numbers (n BIGINT PRIMARY KEY)",
		fmt.Sprintf(`INSERT INTO ORDER.numbers
			WITH digit AS (SELECT 0 d UNION ALL SELECT 1 UNION ALL SELECT 2 UNION ALL SELECT 3 UNION ALL SELECT 4
				UNION ALL SELECT 5 UNION ALL SELECT 6 UNION ALL SELECT 7 UNION ALL SELECT 8 UNION ALL SELECT 9)
			SELECT a.d + 10*b.d + 100*c.d + 1000*e.d + 10000*f.d FROM digit a, digit b, digit c, digit e, digit f
			WHERE a.d + 10*b.d + 100*c.d + 1000*e.d + 10000*f.d < %d`, fillChunk),
		fmt.Sprintf("INSERT INTO STOCK.stock (goods_id, name, price, num, updated_at) "+
			"SELECT product, '', 100, %d, NOW(6) FROM %s", plenty-orders, products),
		fmt.Sprintf("INSERT INTO STOCK.stock_flow (flag, goods_id, kind, num, created_at) "+
			"SELECT 'ladder-restock', product, 'restock', %d, NOW(6) FROM %s", plenty, products),
	)
	for first := 1; first <= orders && err == nil; first += fillChunk {
		ids := fmt.Sprintf("(SELECT n + %d AS id FROM ORDER.numbers WHERE n + %d <= %d) ids", first, first, orders)
		err = exec(
			"INSERT INTO ORDER.orders (id, status, outcome, body_hash, total, created_at, updated_at) "+
				"SELECT id, 'CONFIRMED', 'CONFIRMED', UNHEX(SHA2(id, 256)), 300, NOW(6), NOW(6) FROM "+ids,
			"INSERT INTO ORDER.order_items (order_id, goods_id, num, price) "+
				"SELECT id, product, 1, 100 FROM "+ids+" CROSS JOIN "+products,
			"INSERT INTO STOCK.operations (flag, state, items, created_at) "+
				"SELECT CONVERT(id, CHAR CHARACTER SET ascii), 'DONE', '1:1,2:1,3:1', NOW(6) FROM "+ids,
			"INSERT INTO STOCK.stock_flow (flag, goods_id, kind, num, created_at) "+
				"SELECT CONVERT(id, CHAR CHARACTER SET ascii), product, 'deduct', -1, NOW(6) FROM "+ids+" CROSS JOIN "+products,
		)
		if first/fillChunk%10 == 0 {
			cfg.say("%d of %d orders", first-1+fillChunk, orders)
		}
	}
	return errors.Join(err, exec("DROP TABLE ORDER.numbers"))
}
