package deduct_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	"gorm.io/gorm"

	"orderstock/pkg/mysqldb"
	"orderstock/pkg/operation"
	"orderstock/pkg/redisdb"
	"orderstock/pkg/servers/serverstest"
	"orderstock/stock-service/deduct"
	"orderstock/stock-service/deduct/compared"
	"orderstock/stock-service/internal/stocktest"
	"orderstock/stock-service/stock"
	"orderstock/stock-service/stockdb"
)

var eventually = serverstest.Eventually

// TestPoisonedOperationFailsAlone puts a flag that the database refuses into a
// group of others.
func TestPoisonedOperationFailsAlone(t *testing.T) {
	const company = 20
	p := stocktest.New(t)
	root := serverstest.ZooKeeperRoot(t)
	var sizes []int
	s := p.Open(t, "grouped", func(c *compared.Config) {
		c.Root = root
		c.Ledger = probe{Ledger: p.Ledger, group: func(_ context.Context, n int) {
			if n > 1 {
				sizes = append(sizes, n)
			}
		}}
	})
	goods := p.Goods(t, company/2)
	lock := hold(t, root+lockPaths(goods)["grouped"])
	var wg sync.WaitGroup
	var done, rejected atomic.Int64
	for range company {
		wg.Go(func() {
			op, err := s.Deduct(t.Context(), one(p, goods))
			switch {
			case err != nil:
				t.Errorf("in company with a poisoned operation: %v", err)
			case op.State == operation.Done:
				done.Add(1)
			default:
				rejected.Add(1)
			}
		})
	}
	wg.Go(func() {
		poison := stock.Request{Flag: strings.Repeat("x", 65), Items: []operation.Item{{GoodsID: goods, Num: 1}}}
		if op, err := s.Deduct(t.Context(), poison); err == nil || errors.Is(err, operation.ErrUnknownOutcome) {
			t.Errorf("the poisoned one: %+v, %v; want it to fail for certain", op, err)
		}
	})
	eventually(t, "all to wait together", func() bool { return deduct.Waiting(s) == company+1 })
	must(t, lock.Release(t.Context()))
	wg.Wait()
	if done.Load() != company/2 || rejected.Load() != company/2 {
		t.Errorf("%d done, %d rejected; want half each", done.Load(), rejected.Load())
	}
	if len(sizes) != 1 || sizes[0] != company+1 {
		t.Errorf("groups of %v; want one of %d", sizes, company+1)
	}
}

// Some flags of a group already have an outcome that neither Redis nor the table showed before. The group still runs as
// a whole.
func TestGroupWithRepeatsInIt(t *testing.T) {
	p := stocktest.New(t)
	goods := p.Goods(t, 100)
	item := []operation.Item{{GoodsID: goods, Num: 1}}
	var requests []stock.Request
	for range 30 {
		requests = append(requests, stock.Request{Flag: p.Flag(), Items: item})
	}
	first, err := p.Ledger.DeductGroup(t.Context(), requests[:10], heldBy(1))
	must(t, err)
	_, err = p.Ledger.Cancel(t.Context(), requests[29].Flag)
	must(t, err)
	again, err := p.Ledger.DeductGroup(t.Context(), requests, heldBy(2))
	must(t, err)
	for i, o := range again {
		switch {
		case i < 10 && (o.Err != nil || !o.Operation.Repeat || o.Operation.Token != first[i].Operation.Token):
			t.Errorf("repeat %d: %+v", i, o)
		case i == 29 && (o.Err != nil || o.Operation.State != operation.Cancelled):
			t.Errorf("the cancelled one: %+v", o)
		case i >= 10 && i < 29 && (o.Err != nil || o.Operation.Repeat || o.Operation.State != operation.Done):
			t.Errorf("new one %d: %+v", i, o)
		}
	}
	p.WantLevel(t, goods, 100-29)
	p.CheckLedger(t)
}

// heldBy returns the fence of one lock for all products, under its n-th token.
func heldBy(n byte) stock.Fence {
	return func(int64) operation.Token { return operation.Token{15: n} }
}

// A process that is never out of work lets others have the lock between its groups.
func TestGroupsOfTwoProcessesTakeTurns(t *testing.T) {
	p := stocktest.New(t)
	root := serverstest.ZooKeeperRoot(t)
	sameRoot := func(c *compared.Config) { c.Root = root }
	busy, other := p.Open(t, "grouped", sameRoot), p.Open(t, "grouped", sameRoot)
	goods := p.Goods(t, 1_000_000)
	one := func(s deduct.Strategy) error {
		op, err := s.Deduct(t.Context(), one(p, goods))
		if err == nil && op.State != operation.Done {
			err = fmt.Errorf("state %s", op.State)
		}
		return err
	}
	var stop atomic.Bool
	var rush sync.WaitGroup
	for range 32 {
		rush.Go(func() {
			for !stop.Load() {
				if err := one(busy); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	for range 20 {
		if err := one(other); err != nil { // within the lock's time limit
			t.Error(err)
		}
	}
	stop.Store(true)
	rush.Wait()
	p.CheckLedger(t)
}

// TestLostCommitReplyIsResolved cuts the connection after the server has
// committed and before it says so.
func TestLostCommitReplyIsResolved(t *testing.T) {
	for _, name := range []string{"sequential", "grouped", "conditional-update"} {
		t.Run(name, func(t *testing.T) {
			p := stocktest.New(t)
			goods := p.Goods(t, 100)
			var cuts atomic.Int64
			ledger := ledgerThrough(t, p, func(sent []byte) bool {
				return bytes.Contains(sent, []byte("\x03COMMIT")) && cuts.Add(1) <= 2
			})
			s := p.Open(t, name, func(c *compared.Config) { c.Ledger = ledger })
			stocktest.Workers(10, func(int) {
				op, err := s.Deduct(t.Context(), stock.Request{Flag: p.Flag(), Items: []operation.Item{{GoodsID: goods, Num: 2}}})
				if err != nil || op.State != operation.Done {
					t.Errorf("%+v, %v; want it done", op, err)
				}
			})
			if cuts.Load() < 1 || p.Level(t, goods) != 80 {
				t.Errorf("%d commits cut, %d left; want 1 or more, 80", cuts.Load(), p.Level(t, goods))
			}
		})
	}
}

// TestUnknownOutcomeIsSaid takes the database away with the commit's reply.
func TestUnknownOutcomeIsSaid(t *testing.T) {
	for _, name := range []string{"sequential", "grouped"} {
		t.Run(name, func(t *testing.T) {
			p := stocktest.New(t)
			goods := p.Goods(t, 100)
			var gone atomic.Bool
			ledger := ledgerThrough(t, p, func(sent []byte) bool {
				if bytes.Contains(sent, []byte("\x03COMMIT")) {
					gone.Store(true)
				}
				return gone.Load()
			})
			s := p.Open(t, name, func(c *compared.Config) { c.Ledger = ledger })
			request := stock.Request{Flag: p.Flag(), Items: []operation.Item{{GoodsID: goods, Num: 2}}}
			op, err := s.Deduct(t.Context(), request)
			if !errors.Is(err, operation.ErrUnknownOutcome) {
				t.Fatalf("%+v, %v; want it unknown", op, err)
			}
			again, err := p.Open(t, name).Deduct(t.Context(), request)
			if err != nil || again.State != operation.Done || !again.Repeat || p.Level(t, goods) != 98 {
				t.Errorf("repeat: %+v, %v, %d left; want the first attempt's outcome, 98", again, err, p.Level(t, goods))
			}
		})
	}
}

// vanishing is a ledger whose first group is executed and not answered. A lone deduction is held up before that, and
// gets the outcome and the error of again after it.
type vanishing struct {
	compared.Ledger
	gone          *atomic.Bool
	entered, hold chan struct{}
	again         func() ([]stock.Result, error)
}

func (v vanishing) DeductGroup(ctx context.Context, requests []stock.Request, fence stock.Fence) ([]stock.Result,
	error,
) {
	if len(requests) == 1 {
		if v.gone.Load() {
			return v.again()
		}
		close(v.entered)
		<-v.hold
		return v.Ledger.DeductGroup(ctx, requests, fence)
	}
	v.gone.Store(true)
	if _, err := v.Ledger.DeductGroup(ctx, requests, fence); err != nil {
		return nil, err
	}
	return nil, operation.ErrUnknownOutcome
}

// TestUnknownOutcomeOfAGroupIsSaid: if the database does not report the outcome of an operation of the group, that does
// not mean that nothing was done.
func TestUnknownOutcomeOfAGroupIsSaid(t *testing.T) {
	for name, again := range map[string]func() ([]stock.Result, error){
		"the database is away": func() ([]stock.Result, error) { return nil, operation.ErrUnavailable },
		"the row is held": func() ([]stock.Result, error) {
			return []stock.Result{{Err: operation.Locked{GoodsID: 1}}}, nil
		},
		"the token is stale": func() ([]stock.Result, error) { return nil, operation.ErrStaleToken },
		"the operation's token is": func() ([]stock.Result, error) {
			return []stock.Result{{Err: operation.ErrStaleToken}}, nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := stocktest.New(t)
			goods := p.Goods(t, 100)
			v := vanishing{p.Ledger, new(atomic.Bool), make(chan struct{}), make(chan struct{}), again}
			s := p.Open(t, "grouped", func(c *compared.Config) { c.Ledger = v })
			request := func() stock.Request {
				return stock.Request{Flag: p.Flag(), Items: []operation.Item{{GoodsID: goods, Num: 2}}}
			}
			var alone sync.WaitGroup
			alone.Go(func() {
				if _, err := s.Deduct(t.Context(), request()); err != nil {
					t.Error(err)
				}
			})
			<-v.entered
			const together = 5
			var group sync.WaitGroup
			for range together {
				group.Go(func() {
					if op, err := s.Deduct(t.Context(), request()); !errors.Is(err, operation.ErrUnknownOutcome) {
						t.Errorf("%+v, %v; want it unknown: it was done", op, err)
					}
				})
			}
			eventually(t, "the others to wait together", func() bool { return deduct.Waiting(s) == together })
			close(v.hold)
			group.Wait()
			alone.Wait()
			p.WantLevel(t, goods, 88)
		})
	}
}

// ledgerThrough returns another ledger on the place's database, behind a proxy.
func ledgerThrough(t *testing.T, p *stocktest.Place, cut func(sent []byte) bool) *stockdb.DB {
	t.Helper()
	cfg, err := mysql.ParseDSN(p.DSN)
	must(t, err)
	cfg.Addr = serverstest.NewProxy(t, cfg.Addr, cut).Addr
	return ledgerAt(t, cfg.FormatDSN(), mysqldb.Options{LockWait: 8 * time.Second})
}

func ledgerAt(t *testing.T, dsn string, opts mysqldb.Options) *stockdb.DB {
	t.Helper()
	db, err := mysqldb.Open(dsn, opts)
	must(t, err)
	ledger := stockdb.New(db)
	t.Cleanup(func() {
		ledger.Close()
		_ = mysqldb.Close(db)
	})
	return ledger
}

// TestStaleTokenIsRefused lets a holder write after a later one has.
func TestStaleTokenIsRefused(t *testing.T) {
	for name := range lockPaths(0) {
		t.Run(name, func(t *testing.T) {
			p := stocktest.New(t)
			s := p.Open(t, name, func(c *compared.Config) { c.Partitions = 1 })
			goods, other, flag := p.Goods(t, 5), p.Goods(t, 5), p.Flag()
			must(t, p.DB.Exec("UPDATE stock SET fencing_token = ? WHERE goods_id = ?", bytes.Repeat([]byte{0x7f}, 16),
				goods).Error)
			op, err := s.Deduct(t.Context(), stock.Request{
				Flag:  flag,
				Items: []operation.Item{{GoodsID: goods, Num: 1}, {GoodsID: other, Num: 1}},
			})
			if !errors.Is(err, operation.ErrStaleToken) {
				t.Errorf("%+v, %v; want the token refused", op, err)
			}
			p.WantUnused(t, flag)
			p.WantLevel(t, goods, 5)
			p.WantLevel(t, other, 5)
		})
	}
}

// TestLostLockEndsTheTransaction deletes the lock's node while the transaction
// under it waits for a row.
func TestLostLockEndsTheTransaction(t *testing.T) {
	for name := range lockPaths(0) {
		t.Run(name, func(t *testing.T) {
			p := stocktest.New(t)
			root, goods, flag := serverstest.ZooKeeperRoot(t), p.Goods(t, 5), p.Flag()
			patient := ledgerAt(t, p.DSN, mysqldb.Options{LockWait: 30 * time.Second, IdleTimeout: time.Minute})
			s := p.Open(t, name, func(c *compared.Config) { c.Root, c.Ledger = root, patient })
			row := p.DB.Begin()
			must(t, row.Exec("SET SESSION wait_timeout = 600").Error)
			must(t, row.Exec("UPDATE stock SET num = num WHERE goods_id = ?", goods).Error)
			must(t, row.Raw("SELECT num FROM stock WHERE goods_id = ? FOR UPDATE", goods).Scan(new(int64)).Error)
			answer := make(chan error, 1)
			go func() {
				_, err := s.Deduct(context.WithoutCancel(t.Context()),
					stock.Request{Flag: flag, Items: []operation.Item{{GoodsID: goods, Num: 1}}})
				answer <- err
			}()
			eventually(t, "the transaction to wait for the row", func() bool {
				select {
				case err := <-answer:
					t.Fatalf("answered while the row was held: %v", err)
				default:
				}
				return waitsForRow(p.DB)
			})
			conn, path := session(t).Conn(), root+lockPaths(goods)[name]
			children, _, err := conn.Children(path)
			must(t, err)
			for _, child := range children {
				must(t, conn.Delete(path+"/"+child, -1))
			}
			if err := <-answer; !errors.Is(err, operation.ErrUnavailable) || mysqldb.IsLockWait(err) {
				t.Errorf("lock lost: %v; want the transaction ended by that, not by the wait for the row", err)
			}
			must(t, row.Rollback().Error)
			p.WantUnused(t, flag)
			p.WantLevel(t, goods, 5)
		})
	}
}

// TestReleaseIsNotALoss checks why the contexts of the transactions ended.
func TestReleaseIsNotALoss(t *testing.T) {
	p := stocktest.New(t)
	goods := p.Goods(t, 1_000_000)
	var contexts []context.Context // one group at a time
	s := p.Open(t, "grouped", func(c *compared.Config) {
		c.Ledger = probe{Ledger: p.Ledger, group: func(ctx context.Context, _ int) { contexts = append(contexts, ctx) }}
	})
	stocktest.Workers(32, func(int) {
		for range 100 {
			if _, err := s.Deduct(t.Context(), one(p, goods)); err != nil {
				t.Error(err)
			}
		}
	})
	must(t, s.Close())
	for _, ctx := range contexts {
		if cause := context.Cause(ctx); cause != context.Canceled { //nolint:errorlint // Cause returns it as it is
			t.Fatalf("a committed transaction was reported as: %v", cause)
		}
	}
}

// waitsForRow reports whether a transaction of the ledger waits for a row. The
// server brings its table up to date only when nobody has read it for a tenth of a second.
func waitsForRow(db *gorm.DB) bool {
	time.Sleep(150 * time.Millisecond)
	var n int
	err := db.Raw(`SELECT COUNT(*) FROM information_schema.innodb_trx t
		JOIN information_schema.processlist p ON p.id = t.trx_mysql_thread_id
		WHERE p.db = DATABASE() AND t.trx_state = 'LOCK WAIT'`).Scan(&n).Error
	return err == nil && n > 0
}

// TestZooKeeperAway: deductions are refused in time, and nothing changes.
func TestZooKeeperAway(t *testing.T) {
	for _, name := range []string{"sequential", "case-study", "zk-lock"} {
		t.Run(name, func(t *testing.T) {
			p := stocktest.New(t)
			s := p.Open(t, name, func(c *compared.Config) {
				c.ZooKeeper, c.LockTimeout = []string{"127.0.0.1:1"}, 300*time.Millisecond
			})
			goods, flag, start := p.Goods(t, 5), p.Flag(), time.Now()
			_, err := s.Deduct(t.Context(), stock.Request{Flag: flag, Items: []operation.Item{{GoodsID: goods, Num: 1}}})
			if took := time.Since(start); !errors.Is(err, operation.ErrUnavailable) || took > 5*time.Second {
				t.Errorf("%v after %v; want unavailable in time", err, took)
			}
			p.WantUnused(t, flag)
			p.WantLevel(t, goods, 5)
			ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
			defer cancel()
			if err := s.Ready(ctx); err == nil {
				t.Error("ready without ZooKeeper")
			}
		})
	}
}

// TestRedisAway: slower at first, never wrong, never stuck.
func TestRedisAway(t *testing.T) {
	p := stocktest.New(t)
	p.Flags = redisdb.OpenFlags(redisdb.Server{Addrs: []string{"127.0.0.1:1"}}, stocktest.Quiet)
	s := p.Service(p.Open(t, "grouped"))
	goods, start := p.Goods(t, 100), time.Now()
	stocktest.Workers(10, func(int) {
		for range 5 {
			flag := p.Flag()
			for range 2 {
				op, err := s.Deduct(t.Context(), flag, []operation.Item{{GoodsID: goods, Num: 1}})
				if err != nil || op.State != operation.Done {
					t.Errorf("%+v, %v; want it done", op, err)
				}
			}
		}
	})
	p.WantLevel(t, goods, 50)
	if took := time.Since(start); took > 10*time.Second {
		t.Errorf("took %v", took)
	}
}

// TestGroupOfManyGoods takes more goods than one update holds.
func TestGroupOfManyGoods(t *testing.T) {
	p := stocktest.New(t)
	s := p.Open(t, "grouped")
	ids := make([]int64, 300)
	for i := range ids {
		ids[i] = p.Goods(t, 3)
	}
	stocktest.Workers(6, func(i int) {
		items := make([]operation.Item, operation.MaxItems)
		for k := range items {
			items[k] = operation.Item{GoodsID: ids[(i%3)*operation.MaxItems+k], Num: 1}
		}
		if op, err := s.Deduct(t.Context(), stock.Request{Flag: p.Flag(), Items: items}); err != nil ||
			op.State != operation.Done {
			t.Errorf("%s, %v; want it done", op.State, err)
		}
	})
	for _, id := range ids {
		p.WantLevel(t, id, 1)
	}
}
