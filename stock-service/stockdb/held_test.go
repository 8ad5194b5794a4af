package stockdb_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"gorm.io/gorm"

	"orderstock/pkg/operation"
	"orderstock/stock-service/internal/stocktest"
	"orderstock/stock-service/stock"
)

// hold runs a statement in a transaction of another connection and leaves the
// transaction open, like a process that froze between the statement and the commit.
func hold(t *testing.T, db *gorm.DB, statement string, args ...any) (release func()) {
	t.Helper()
	tx := db.Begin()
	for _, err := range []error{
		tx.Error, tx.Exec("SET SESSION wait_timeout = 600").Error,
		tx.Exec(statement, args...).Error,
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	release = sync.OnceFunc(func() {
		if err := tx.Rollback().Error; err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(release)
	return release
}

// A frozen process holds a row of one request, in any of the tables. The other requests of its groups are executed, and
// only the first group waits.
func TestAHeldRowHoldsNoGroupUp(t *testing.T) {
	for name, c := range map[string]struct {
		statement string
		arg       func(flag string, goods int64) any
	}{
		"flag": {
			"INSERT INTO operations (flag, state, items, created_at) VALUES (?, 'DONE', '1:1', NOW(6))",
			func(flag string, _ int64) any { return flag },
		},
		"goods": {
			"SELECT num FROM stock WHERE goods_id = ? FOR UPDATE",
			func(_ string, goods int64) any { return goods },
		},
	} {
		for _, size := range []int{1, 8} {
			t.Run(fmt.Sprint(name, " in groups of ", size), func(t *testing.T) {
				t.Parallel()
				p := stocktest.NewWaiting(t, time.Second)
				held := stock.Request{Flag: "held", Items: []operation.Item{{GoodsID: p.Goods(t, 100), Num: 1}}}
				free := p.Goods(t, 1000)
				release := hold(t, p.DB, c.statement, c.arg(held.Flag, held.Items[0].GoodsID))
				began := time.Now()
				const groups = 30
				for range groups {
					requests := []stock.Request{held}
					for len(requests) < size {
						requests = append(requests, stock.Request{Flag: p.Flag(), Items: []operation.Item{{GoodsID: free, Num: 1}}})
					}
					outcomes, err := p.Ledger.DeductGroup(t.Context(), requests, nil)
					if err != nil {
						t.Fatal(err)
					}
					for i, o := range outcomes {
						if i == 0 && !errors.Is(o.Err, operation.ErrLocked) {
							t.Errorf("held rows: %+v; want them set aside", o)
						}
						if i > 0 && (o.Err != nil || o.Operation.State != operation.Done) {
							t.Errorf("another: %+v", o)
						}
					}
				}
				if took := time.Since(began); took > 25*time.Second {
					t.Errorf("%d groups took %s: more than one has waited", groups, took)
				}
				release()
				outcomes, err := p.Ledger.DeductGroup(t.Context(), []stock.Request{held}, nil)
				if err != nil || outcomes[0].Err != nil || outcomes[0].Operation.State != operation.Done {
					t.Errorf("once it is free: %+v, %v", outcomes, err)
				}
			})
		}
	}
}
