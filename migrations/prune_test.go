package migrations_test

import (
	"database/sql"
	"database/sql/driver"
	"math"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"orderstock/migrations"
	"orderstock/pkg/servers/serverstest"
)

// Old orders 1 to 6, two of each end and one that is still on its way, and young ones.
const (
	seedOrders = `DELETE FROM pruned; DELETE FROM order_items; DELETE FROM orders;
INSERT INTO orders (id, status, outcome, idempotency_key, body_hash, total, created_at, updated_at) VALUES
(1, 'CONFIRMED', 'CONFIRMED', 'b', REPEAT('0', 32), 1, '2026-01-01', '2026-01-01'),
(2, 'CANCELLED', 'CONFIRMED', 'a', REPEAT('0', 32), 1, '2026-01-01', '2026-01-01'),
(3, 'REJECTED', 'REJECTED', NULL, REPEAT('0', 32), 1, '2026-01-01', '2026-01-01'),
(4, 'CONFIRMED', 'CONFIRMED', 'd', REPEAT('0', 32), 1, '2026-01-01', '2026-01-01'),
(5, 'CANCELLING', 'CONFIRMED', 'e', REPEAT('0', 32), 1, '2026-01-01', '2026-01-01'),
(6, 'CANCELLED', 'CONFIRMED', 'f', REPEAT('0', 32), 1, '2026-01-01', '2026-03-01'),
(70, 'CONFIRMED', 'CONFIRMED', 'g', REPEAT('0', 32), 1, '2026-03-01', '2026-03-01');
INSERT INTO order_items (order_id, goods_id, num, price) SELECT id, 1, 1, 1 FROM orders;
INSERT INTO order_items (order_id, goods_id, num, price) VALUES (4, 2, 3, 1)`
	seedStock = `DELETE FROM stock; DELETE FROM operations; DELETE FROM stock_flow;
INSERT INTO operations (flag, state, items, created_at) VALUES ('1', 'DONE', '1:1', '2026-01-01'), ('2', 'RESTORED',
	'1:1', '2026-01-01'),
('3', 'REJECTED', '1:1', '2026-01-01'), ('4', 'DONE', '1:1,2:3', '2026-01-01'), ('5', 'DONE', '1:1', '2026-01-01'),
('6', 'RESTORED', '1:1', '2026-01-01'), ('70', 'DONE', '1:1', '2026-03-01');
INSERT INTO stock_flow (flag, goods_id, kind, num, created_at) VALUES ('1', 1, 'restock', 100, '2026-01-01'), ('r', 2,
	'restock', 100, '2026-01-01'),
('1', 1, 'deduct', -1, '2026-01-01'), ('2', 1, 'deduct', -1, '2026-01-01'), ('2', 1, 'restore', 1, '2026-01-01'),
('4', 1, 'deduct', -1, '2026-01-01'), ('4', 2, 'deduct', -3, '2026-01-01'), ('5', 1, 'deduct', -1, '2026-01-01'),
('6', 1, 'deduct', -1, '2026-01-01'), ('6', 1, 'restore', 1, '2026-03-01'), ('70', 1, 'deduct', -1, '2026-03-01'),
('', 1, 'pruned', -7, '2025-01-01');
INSERT INTO stock (goods_id, num, updated_at) SELECT goods_id, SUM(num), '2026-03-01' FROM stock_flow GROUP BY goods_id`
)

// A pruning is killed after each of its statements in turn. The sums are always right, and the next pruning finishes
// the work.
func TestPruneAfterADeathAtEachStatement(t *testing.T) {
	t.Parallel()
	connector := func(which string) driver.Connector {
		cfg, err := mysql.ParseDSN(serverstest.Database(t))
		if err != nil {
			t.Fatal(err)
		}
		cfg.InterpolateParams = true // each statement is one, with its arguments or without
		c, err := mysql.NewConnector(cfg)
		if err != nil {
			t.Fatal(err)
		}
		db := sql.OpenDB(c)
		defer func() { _ = db.Close() }()
		if err := migrations.Up(t.Context(), db, which); err != nil {
			t.Fatal(err)
		}
		return c
	}
	toOrders, toStock := connector(migrations.Order), connector(migrations.Stock)
	orders, stock := sql.OpenDB(toOrders), sql.OpenDB(toStock)
	t.Cleanup(func() { _, _ = orders.Close(), stock.Close() })
	read := func(db *sql.DB, query string) string {
		var all sql.NullString
		if err := db.QueryRowContext(t.Context(), query).Scan(&all); err != nil {
			t.Fatal(err)
		}
		return all.String
	}
	const sums = "SELECT GROUP_CONCAT(CONCAT(s.goods_id, ':', s.num - " +
		"(SELECT SUM(num) FROM stock_flow f WHERE f.goods_id = s.goods_id)) ORDER BY s.goods_id) FROM stock s"
	before := time.Date(2026, 2, 1, 0, 0, 0, 0, time.UTC)
	for left := int64(0); ; left++ {
		for statement := range strings.SplitSeq(seedOrders, ";") {
			exec(t, orders, statement)
		}
		for statement := range strings.SplitSeq(seedStock, ";") {
			exec(t, stock, statement)
		}
		var statements atomic.Int64
		statements.Store(left)
		mortalOrders, mortalStock := sql.OpenDB(dying{toOrders, &statements}), sql.OpenDB(dying{toStock, &statements})
		_, first := migrations.PruneIn(t.Context(), mortalOrders, mortalStock, before)
		_, _ = mortalOrders.Close(), mortalStock.Close()
		if got := read(stock, sums); got != "1:0,2:0" {
			t.Errorf("killed after %d statements: levels less sums %s", left, got)
		}
		if _, err := migrations.PruneIn(t.Context(), orders, stock, before); err != nil {
			t.Fatalf("killed after %d statements (%v), then once more: %v", left, first, err)
		}
		for _, c := range []struct {
			db          *sql.DB
			query, want string
		}{
			{stock, sums, "1:0,2:0"},
			{orders, "SELECT GROUP_CONCAT(id ORDER BY id) FROM orders", "5,6,70"},
			{orders, "SELECT GROUP_CONCAT(DISTINCT order_id ORDER BY order_id) FROM order_items", "5,6,70"},
			{orders, "SELECT COUNT(*) FROM pruned", "0"},
			{stock, "SELECT GROUP_CONCAT(flag ORDER BY flag) FROM operations", "5,6,70"},
			{
				stock, "SELECT GROUP_CONCAT(CONCAT(flag, ' ', goods_id, ' ', kind, ' ', num) " +
					"ORDER BY flag, goods_id, kind) FROM stock_flow",
				" 1 pruned -9, 2 pruned -3,1 1 restock 100," +
					"5 1 deduct -1,6 1 deduct -1,6 1 restore 1,70 1 deduct -1,r 2 restock 100",
			},
		} {
			if got := read(c.db, c.query); got != c.want {
				t.Errorf("killed after %d statements, then once more: %s: %s, want %s", left, c.query, got, c.want)
			}
		}
		if first == nil {
			t.Logf("%d statements", left)
			return
		}
		if left > 200 {
			t.Fatalf("never gets through: %v", first)
		}
	}
}

func exec(t *testing.T, db *sql.DB, statement string) {
	t.Helper()
	if _, err := db.ExecContext(t.Context(), statement); err != nil {
		t.Fatal(err)
	}
}

func TestPruneKeepsADayAtLeast(t *testing.T) {
	t.Parallel()
	for _, keep := range []time.Duration{math.MinInt64, 0, 24*time.Hour - 1} {
		if _, err := migrations.Prune(t.Context(), migrations.Config{}, keep); err == nil ||
			!strings.Contains(err.Error(), "at least a day") {
			t.Errorf("keep %s: %v", keep, err)
		}
	}
}
