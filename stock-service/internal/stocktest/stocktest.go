// Package stocktest gives each test of the stock service a separate ledger in a real database, checks the ledger's
// invariants, and holds the test suite of the strategies.
package stocktest

import (
	"database/sql"
	"fmt"
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	"gorm.io/gorm"

	"orderstock/migrations"
	"orderstock/pkg/mysqldb"
	"orderstock/pkg/operation"
	"orderstock/pkg/redisdb"
	"orderstock/pkg/servers/serverstest"
	"orderstock/stock-service/stock"
	"orderstock/stock-service/stockdb"
)

// Quiet is a logger that discards everything.
var Quiet = slog.New(slog.DiscardHandler)

// Place is the ledger and the flags of one test.
type Place struct {
	Ledger *stockdb.DB
	Flags  *redisdb.Flags
	// DB is the ledger's database, and DSN its address.
	DB  *gorm.DB
	DSN string

	t     testing.TB
	goods atomic.Int64
	flags atomic.Int64
}

// New returns a new place. At the test's end the ledger is checked, and the place is closed. A row is waited for long
// enough that many callers can take turns on a slow machine, and less long than for an answer of the database.
func New(t testing.TB) *Place {
	t.Helper()
	return NewWaiting(t, 8*time.Second)
}

// NewWaiting is New with another limit on how long a statement waits for a row.
func NewWaiting(t testing.TB, lockWait time.Duration) *Place {
	t.Helper()
	p := &Place{t: t, DSN: serverstest.Database(t)}
	var err error
	p.DB, err = mysqldb.Open(p.DSN, mysqldb.Options{MaxConns: 32, LockWait: lockWait})
	must(t, err)
	pool, err := p.DB.DB()
	must(t, err)
	must(t, migrations.Up(t.Context(), pool, migrations.Stock))
	p.Ledger = stockdb.New(p.DB)
	p.Flags = redisdb.OpenFlags(redisdb.Server{
		Addrs: []string{serverstest.Redis(t).Addr()}, DB: serverstest.RedisDB(t),
	}, Quiet)
	t.Cleanup(func() {
		p.CheckLedger(t)
		p.Ledger.Close()
		if err := p.Flags.Close(); err != nil {
			t.Error(err)
		}
		if err := mysqldb.Close(p.DB); err != nil {
			t.Error(err)
		}
	})
	return p
}

// Service returns the service that deducts with d.
func (p *Place) Service(d stock.Deducter) *stock.Service {
	return stock.NewService(p.Flags, p.Ledger, d)
}

// Goods creates a product with num pieces and returns its id. Ids rise.
func (p *Place) Goods(t testing.TB, num int64) int64 {
	t.Helper()
	id := 1000 + p.goods.Add(1)
	price := int64(250)
	_, err := p.Ledger.Restock(t.Context(), operation.Restock{Flag: p.Flag(), GoodsID: id, Num: num, Price: &price})
	must(t, err)
	return id
}

// Flag returns an unused flag.
func (p *Place) Flag() string { return fmt.Sprintf("t%d", p.flags.Add(1)) }

// Level returns the level of the product.
func (p *Place) Level(t testing.TB, id int64) int64 {
	t.Helper()
	goods, err := p.Ledger.Goods(t.Context(), id)
	if err != nil || len(goods) != 1 {
		t.Fatalf("goods %d: %v, %v", id, goods, err)
	}
	return goods[0].Num
}

// WantLevel checks the level of the product.
func (p *Place) WantLevel(t testing.TB, id, want int64) {
	t.Helper()
	if left := p.Level(t, id); left != want {
		t.Errorf("goods %d: %d left; want %d", id, left, want)
	}
}

// WantUnused checks that no operation is recorded under the flag.
func (p *Place) WantUnused(t testing.TB, flag string) {
	t.Helper()
	if recorded, err := p.Ledger.Find(t.Context(), flag); err != nil || len(recorded) > 0 {
		t.Errorf("recorded under %s: %v, %v; want nothing", flag, recorded, err)
	}
}

// invariants are statements that return no row while the ledger is right.
var invariants = map[string]string{
	"level is the sum of its flows, and not below zero": `
		SELECT s.goods_id FROM stock s
		LEFT JOIN (SELECT goods_id, SUM(num) AS num FROM stock_flow GROUP BY goods_id) f ON f.goods_id = s.goods_id
		WHERE s.num < 0 OR s.num <> COALESCE(f.num, 0)`,
	"flows have goods": `
		SELECT f.goods_id FROM stock_flow f LEFT JOIN stock s ON s.goods_id = f.goods_id WHERE s.goods_id IS NULL`,
	"deductions have an operation that is done or restored": `
		SELECT f.flag FROM stock_flow f LEFT JOIN operations o ON o.flag = f.flag
		WHERE f.kind IN ('deduct', 'restore') AND (o.flag IS NULL OR o.state NOT IN ('DONE', 'RESTORED'))`,
	"restores belong to restored operations": `
		SELECT f.flag FROM stock_flow f JOIN operations o ON o.flag = f.flag
		WHERE f.kind = 'restore' AND o.state <> 'RESTORED'`,
	"an operation's flows are its items": `
		SELECT o.flag FROM operations o LEFT JOIN (
			SELECT flag, kind, GROUP_CONCAT(CONCAT(goods_id, ':', ABS(num)) ORDER BY goods_id SEPARATOR ',') AS items
			FROM stock_flow WHERE kind IN ('deduct', 'restore') GROUP BY flag, kind) f ON f.flag = o.flag
		WHERE (o.state IN ('DONE', 'RESTORED') AND (f.items IS NULL OR f.items <> o.items))
		   OR (o.state IN ('REJECTED', 'CANCELLED') AND f.items IS NOT NULL)`,
	"restored operations have their restores": `
		SELECT o.flag FROM operations o LEFT JOIN stock_flow f ON f.flag = o.flag AND f.kind = 'restore'
		WHERE o.state = 'RESTORED' AND f.flag IS NULL`,
}

// CheckLedger reports every invariant of the ledger that does not hold.
func (p *Place) CheckLedger(t testing.TB) {
	t.Helper()
	for name, bad := range p.Violations(t) {
		t.Errorf("ledger: %s: violated by %v", name, bad)
	}
}

// Violations returns the invariants that do not hold, with the offending rows.
func (p *Place) Violations(t testing.TB) map[string][]string {
	t.Helper()
	pool, err := sql.Open("mysql", p.DSN)
	must(t, err)
	defer func() { _ = pool.Close() }()
	found := map[string][]string{}
	for name, query := range invariants {
		rows, err := pool.Query(query)
		if err != nil {
			t.Errorf("check %s: %v", name, err)
			continue
		}
		for rows.Next() {
			var id string
			if err := rows.Scan(&id); err != nil {
				t.Error(err)
			}
			found[name] = append(found[name], id)
		}
		if err := rows.Err(); err != nil {
			t.Error(err)
		}
		_ = rows.Close()
	}
	return found
}

// Patience is the lock timeout for tests where many callers wait for one lock.
const Patience = 30 * time.Second

var must = serverstest.Must
