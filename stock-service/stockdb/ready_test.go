package stockdb_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"gorm.io/gorm"

	"orderstock/pkg/mysqldb"
	"orderstock/pkg/operation"
	"orderstock/stock-service/internal/stocktest"
	"orderstock/stock-service/stock"
	"orderstock/stock-service/stockdb"
)

// TestTheLedgersTables: the columns that readiness looks at are all columns of the schema.
func TestTheLedgersTables(t *testing.T) {
	t.Parallel()
	p := stocktest.New(t)
	var want, got []string
	if err := p.DB.Raw(`SELECT CONCAT(table_name, '.', column_name) FROM information_schema.columns
		WHERE table_schema = DATABASE() AND table_name <> 'goose_db_version'`).Scan(&want).Error; err != nil {
		t.Fatal(err)
	}
	for _, table := range stockdb.Tables {
		for column := range strings.SplitSeq(table.Columns, ", ") {
			got = append(got, table.Name+"."+column)
		}
	}
	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("columns %v, want %v", got, want)
	}
}

// TestOneCauseHasOneCode: a server that takes no writes to a table makes readiness fail, and is ErrUnavailable for
// every kind of write. A product that is merely held is ErrLocked, and readiness does not fail.
func TestOneCauseHasOneCode(t *testing.T) {
	t.Parallel()
	p := stocktest.NewWaiting(t, time.Second)
	goods := p.Goods(t, 100)
	done := stock.Request{Flag: p.Flag(), Items: []operation.Item{{GoodsID: goods, Num: 1}}}
	if _, err := p.Ledger.Deduct(t.Context(), done, nil); err != nil {
		t.Fatal(err)
	}
	writes := map[string]func() error{
		"restock": func() error {
			_, err := p.Ledger.Restock(t.Context(), operation.Restock{Flag: p.Flag(), GoodsID: goods, Num: 1})
			return err
		},
		"deduct": func() error {
			_, err := p.Ledger.Deduct(t.Context(), stock.Request{Flag: p.Flag(), Items: done.Items}, nil)
			return err
		},
		"group": func() error {
			group := []stock.Request{{Flag: p.Flag(), Items: done.Items}, {Flag: p.Flag(), Items: done.Items}}
			outcomes, err := p.Ledger.DeductGroup(t.Context(), group, nil)
			if err == nil {
				err = outcomes[0].Err
			}
			return err
		},
		"cancel": func() error {
			_, err := p.Ledger.Cancel(t.Context(), done.Flag)
			return err
		},
	}
	operator, err := mysqldb.Open(p.DSN, mysqldb.Options{IdleTimeout: time.Hour, LockWait: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = mysqldb.Close(operator) }() // nothing is pending
	check := mysqldb.ReadyCheck(p.DB, stockdb.Tables...)
	for name, c := range map[string]struct {
		strike, heal string
		want         operation.Code
	}{
		"no flows":      {"RENAME TABLE stock_flow TO away", "RENAME TABLE away TO stock_flow", operation.ErrUnavailable},
		"no operations": {"RENAME TABLE operations TO away", "RENAME TABLE away TO operations", operation.ErrUnavailable},
		"no stock":      {"RENAME TABLE stock TO away", "RENAME TABLE away TO stock", operation.ErrUnavailable},
		"a column gone": {
			"ALTER TABLE stock RENAME COLUMN num TO away", "ALTER TABLE stock RENAME COLUMN away TO num",
			operation.ErrUnavailable,
		},
		"tables locked": {
			"LOCK TABLES stock READ, stock_flow READ, operations READ, restocks READ", "UNLOCK TABLES", operation.ErrUnavailable,
		},
		"product held": {
			fmt.Sprintf("UPDATE stock SET num = num WHERE goods_id = %d", goods), "ROLLBACK", operation.ErrLocked,
		},
	} {
		err := operator.Connection(func(conn *gorm.DB) error {
			if c.want == operation.ErrLocked {
				if err := conn.Exec("BEGIN").Error; err != nil {
					return err
				}
			}
			if err := conn.Exec(c.strike).Error; err != nil {
				return err
			}
			for write, try := range writes {
				if err := try(); operation.CodeOf(err) != c.want {
					t.Errorf("%s, %s: %v; want %v", name, write, err, c.want)
				}
			}
			if err := check(t.Context()); (err == nil) != (c.want == operation.ErrLocked) {
				t.Errorf("%s: ready: %v", name, err)
			}
			return conn.Exec(c.heal).Error
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := check(t.Context()); err != nil {
			t.Errorf("%s, healed: %v", name, err)
		}
	}
}
