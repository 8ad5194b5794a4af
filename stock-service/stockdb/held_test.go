package stockdb_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
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

// counted counts the changes of one product that reach the ledger, each of which may wait for its row, and so keep a
// connection, for a second.
type counted struct {
	stock.Ledger
	changes atomic.Int64
}

func (c *counted) Cancel(ctx context.Context, flag string) (operation.Operation, error) {
	c.changes.Add(1)
	return c.Ledger.Cancel(ctx, flag)
}

func (c *counted) Restock(ctx context.Context, r operation.Restock) (operation.Goods, error) {
	c.changes.Add(1)
	return c.Ledger.Restock(ctx, r)
}

// Nobody but the stock service knows whether a flag's cancellation needs a held row, and how many callers want one: it
// refuses them without a connection, but for the looks. A flag without a deduction is cancelled at once.
func TestAHeldProductKeepsNoConnections(t *testing.T) {
	t.Parallel()
	p := stocktest.NewWaiting(t, time.Second)
	ledger := &counted{Ledger: p.Ledger}
	service := stock.NewService(p.Flags, ledger, p.Open(t, "conditional-update"))
	goods := p.Goods(t, 100)
	var flags []string
	for range 30 {
		flags = append(flags, p.Flag())
		_, err := service.Deduct(t.Context(), flags[len(flags)-1], []operation.Item{{GoodsID: goods, Num: 1}})
		if err != nil {
			t.Fatal(err)
		}
	}
	release := hold(t, p.DB, "SELECT num FROM stock WHERE goods_id = ? FOR UPDATE", goods)
	refused := func(err error) {
		t.Helper()
		if !errors.Is(err, operation.Locked{GoodsID: goods}) {
			t.Errorf("%v; want the product held", err)
		}
	}
	_, err := service.Cancel(t.Context(), flags[0])
	refused(err)
	ledger.changes.Store(0)
	var callers sync.WaitGroup
	for _, flag := range flags {
		callers.Go(func() {
			_, err := service.Cancel(t.Context(), flag)
			refused(err)
			_, err = service.Restock(t.Context(), operation.Restock{Flag: "r" + flag, GoodsID: goods, Num: 1})
			refused(err)
		})
	}
	callers.Wait()
	if n := ledger.changes.Load(); n > 30 {
		t.Errorf("%d of 60 changes of a held product took a connection", n)
	}
	if op, err := service.Cancel(t.Context(), p.Flag()); err != nil || op.State != operation.Cancelled {
		t.Errorf("a flag without a deduction: %+v, %v; want it cancelled", op, err)
	}
	release()
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(time.Millisecond) {
		op, err := service.Cancel(t.Context(), flags[0])
		if err == nil && op.State == operation.Restored {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("once it is free: %+v, %v; want it restored", op, err)
		}
	}
}
