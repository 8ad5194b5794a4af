package ladder

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"orderstock/loadtest"
	"orderstock/pkg/stack"
)

// Growth compares orders a second over empty and over grown tables.
type Growth struct {
	Server string `json:"server"`
	// Orders, Flows are the rows that were there before the second measurement.
	Orders int64 `json:"orders"`
	Flows  int64 `json:"flows"`
	// EmptyPerS and GrownPerS are sales a second.
	EmptyPerS float64 `json:"empty_per_s"`
	GrownPerS float64 `json:"grown_per_s"`
	// Ratio is GrownPerS / EmptyPerS.
	Ratio   float64 `json:"ratio"`
	Verdict string  `json:"verdict"`
}

// growthWindow is the least time for which each of the two is measured.
const growthWindow = 10 * time.Second

// fillItems is how many goods each filled order has; each makes a flow row.
const fillItems = 3

// fillChunk is how many orders one statement fills in.
const fillChunk = 20_000

// MeasureGrowth measures whole orders on one hot goods with the strategy over
// empty tables, fills in settled orders of three items each until there are
// that many, and measures again. The rows that it fills in are as the services
// would have written them, so the verdict at the end covers them too.
func MeasureGrowth(ctx context.Context, cfg Config, strategy string, orders int) (_ Growth, err error) {
	var g Growth
	if g.Server, err = serverVersion(ctx, cfg.Servers.MySQL); err != nil {
		return g, err
	}
	st, err := up(ctx, cfg, 1, shape{strategy, 1}, PathOrder)
	if err != nil {
		return g, err
	}
	defer func() { err = errors.Join(err, down(ctx, cfg, st)) }()

	cfg.Progress("measuring over empty tables")
	before, err := fireOrders(ctx, cfg, st)
	if err != nil {
		return g, err
	}
	cfg.Progress(fmt.Sprintf("filling in %d orders", orders))
	if err := fill(ctx, cfg, st, orders); err != nil {
		return g, err
	}
	cfg.Progress("measuring over grown tables")
	after, err := fireOrders(ctx, cfg, st)
	if err != nil {
		return g, err
	}
	cfg.Progress("verifying")
	verdict, err := loadtest.Verify(ctx, loadtest.VerifyConfig{
		OrderDSN: st.LoadtestEnv()["VERIFY_ORDER_DSN"], StockDSN: st.LoadtestEnv()["VERIFY_STOCK_DSN"],
		History: after.History, Settle: time.Minute,
	})
	if err != nil {
		return g, err
	}
	g.EmptyPerS, g.GrownPerS = before.DonePerS, after.DonePerS
	g.Orders, g.Flows = int64(orders), int64(orders)*fillItems
	if g.EmptyPerS > 0 {
		g.Ratio = g.GrownPerS / g.EmptyPerS
	}
	g.Verdict = string(verdict.Outcome)
	return g, nil
}

func fireOrders(ctx context.Context, cfg Config, st *stack.Stack) (*loadtest.Report, error) {
	return loadtest.Fire(ctx, loadtest.FireConfig{
		OrderURLs:   split(st.LoadtestEnv()["ORDER_URLS"]),
		StockURLs:   split(st.LoadtestEnv()["STOCK_URLS"]),
		StockToken:  st.Token(),
		Concurrency: 256,
		Warmup:      cfg.Warmup,
		Duration:    cfg.Warmup + max(cfg.Measure, growthWindow),
		Timeout:     30 * time.Second,
		Mix:         loadtest.Mix{Goods: 1, Stock: plenty, ItemsMax: 1, NumMax: 1},
	})
}

// fill writes settled orders with ids from 1 up, far below any snowflake, over goods 1 to 3.
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
		if err := exec("INSERT INTO "+stock+".stock (goods_id, name, price, num, updated_at) VALUES (?, '', 100, ?, NOW(6))", id, plenty-orders); err != nil {
			return err
		}
		if err := exec("INSERT INTO "+stock+".stock_flow (flag, goods_id, kind, num, created_at) VALUES ('ladder-restock', ?, 'restock', ?, NOW(6))", id, plenty); err != nil {
			return err
		}
	}
	for first := 1; first <= orders; first += fillChunk {
		ids := fmt.Sprintf("SELECT n + %d AS id FROM %s.ladder_numbers WHERE n + %d <= %d", first, order, first, orders)
		statements := []string{
			"INSERT INTO " + order + ".orders (id, status, outcome, body_hash, total, created_at, updated_at) SELECT id, 'CONFIRMED', 'CONFIRMED', UNHEX(SHA2(id, 256)), 300, NOW(6), NOW(6) FROM (" + ids + ") ids",
			"INSERT INTO " + stock + ".operations (flag, state, items, created_at) SELECT CONVERT(id, CHAR CHARACTER SET ascii), 'DONE', '1:1,2:1,3:1', NOW(6) FROM (" + ids + ") ids",
		}
		for goods := 1; goods <= fillItems; goods++ {
			statements = append(statements,
				fmt.Sprintf("INSERT INTO %s.order_items (order_id, goods_id, num, price) SELECT id, %d, 1, 100 FROM (%s) ids", order, goods, ids),
				fmt.Sprintf("INSERT INTO %s.stock_flow (flag, goods_id, kind, num, created_at) SELECT CONVERT(id, CHAR CHARACTER SET ascii), %d, 'deduct', -1, NOW(6) FROM (%s) ids", stock, goods, ids))
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
