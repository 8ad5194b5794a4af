package deduct_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"orderstock/pkg/operation"
	"orderstock/pkg/servers/serverstest"
	"orderstock/pkg/zklock"
	"orderstock/stock-service/deduct"
	"orderstock/stock-service/deduct/compared"
	"orderstock/stock-service/internal/stocktest"
	"orderstock/stock-service/stock"
)

// The faults of the published case study that belong to the stock service, each
// by its letter: what goes wrong there goes right here.

// probe is a ledger that calls group before each group's transaction, and committed after each transaction that
// deducts, if they are not nil.
type probe struct {
	compared.Ledger
	group     func(ctx context.Context, size int)
	committed func()
}

func (p probe) Deduct(ctx context.Context, r stock.Request, fence stock.Fence) (operation.Operation, error) {
	defer p.after()
	return p.Ledger.Deduct(ctx, r, fence)
}

func (p probe) DeductGroup(ctx context.Context, requests []stock.Request, fence stock.Fence) ([]stock.Result, error) {
	if p.group != nil {
		p.group(ctx, len(requests))
	}
	defer p.after()
	return p.Ledger.DeductGroup(ctx, requests, fence)
}

func (p probe) after() {
	if p.committed != nil {
		p.committed()
	}
}

// lockPaths returns the strategies' lock nodes of a product, below the root, by strategy.
func lockPaths(goods int64) map[string]string {
	return map[string]string{
		"sequential": "/stock/" + operation.FormatGoodsID(goods),
		"grouped":    deduct.PartitionPath("", operation.Partition(goods, operation.Partitions)),
		"case-study": "/reduceStock",
	}
}

func session(t *testing.T) *zklock.Session {
	t.Helper()
	s, err := zklock.Connect(t.Context(), []string{serverstest.ZooKeeper(t).Addr()})
	must(t, err)
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// hold acquires the lock at path as another process would.
func hold(t *testing.T, path string) *zklock.Lock {
	t.Helper()
	lock, err := zklock.NewMutex(session(t), path).Acquire(t.Context())
	must(t, err)
	return lock
}

// TestFaultALockOutlivesCommit: the case study releases the lock before the
// commit, so that the next holder reads the old stock. Here the lock is held
// still when the commit has returned.
func TestFaultALockOutlivesCommit(t *testing.T) {
	other := session(t)
	for name := range lockPaths(0) {
		t.Run(name, func(t *testing.T) {
			p := stocktest.New(t)
			goods, root := p.Goods(t, 5), serverstest.ZooKeeperRoot(t)
			mutex := zklock.NewMutex(other, root+lockPaths(goods)[name])
			looked := 0
			s := p.Open(t, name, func(c *compared.Config) {
				c.Root = root
				c.Ledger = probe{Ledger: p.Ledger, committed: func() {
					looked++
					if lock, err := mutex.TryAcquire(t.Context()); !errors.Is(err, zklock.ErrNotAcquired) {
						t.Errorf("the lock is free when the commit has just returned: %v, %v", lock, err)
					}
				}}
			})
			op, err := s.Deduct(t.Context(), one(p, goods))
			if err != nil || op.State != operation.Done || looked != 1 {
				t.Fatalf("deduct: %+v, %v; looked %d times", op, err, looked)
			}
			ctx, cancel := context.WithTimeout(t.Context(), stocktest.Patience)
			defer cancel()
			next, err := mutex.Acquire(ctx) // the next holder: free, and it reads the new stock
			if err != nil || p.Level(t, goods) != 4 {
				t.Fatalf("next holder: %v, sees %d", err, p.Level(t, goods))
			}
			if err := next.Release(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestFaultBErrorRollsBack: the case study catches the error inside the
// transaction, so that the goods before it stay deducted.
func TestFaultBErrorRollsBack(t *testing.T) {
	for _, name := range []string{"sequential", "grouped", "case-study", "conditional-update"} {
		t.Run(name, func(t *testing.T) {
			p := stocktest.New(t)
			s := p.Service(p.Open(t, name))
			a, b, c := p.Goods(t, 10), p.Goods(t, 10), p.Goods(t, 1)
			op, err := s.Deduct(t.Context(), p.Flag(), []operation.Item{
				{GoodsID: a, Num: 1},
				{GoodsID: b, Num: 1},
				{GoodsID: c, Num: 2},
			})
			if err != nil || op.State != operation.Rejected {
				t.Errorf("third of three too few: %+v, %v; want rejected", op, err)
			}
			// A flow row that is in the way fails the last statement of the transaction.
			flag := p.Flag()
			must(t, p.DB.Exec("INSERT INTO stock_flow (flag, goods_id, kind, num, created_at) "+
				"VALUES (?, ?, 'deduct', 0, NOW(6))", flag, b).Error)
			if op, err = s.Deduct(t.Context(), flag, []operation.Item{{GoodsID: a, Num: 1}, {GoodsID: b, Num: 1}}); err == nil {
				t.Errorf("deducted though its flow could not be written: %+v", op)
			}
			p.WantUnused(t, flag)
			p.WantLevel(t, a, 10)
			p.WantLevel(t, b, 10)
			must(t, p.DB.Exec("UPDATE stock_flow SET kind = 'restock' WHERE flag = ?", flag).Error) // of 0 pieces: harmless
		})
	}
}

// TestFaultCFlagTakenThenDied: the case study deletes the flag, dies before the commit, and answers every retry
// "repeat".
func TestFaultCFlagTakenThenDied(t *testing.T) {
	p := stocktest.New(t)
	s := p.Service(p.Open(t, "grouped"))
	goods, flag := p.Goods(t, 10), p.Flag()
	eventually(t, "the first attempt takes the flag", func() bool {
		return p.Flags.Set(t.Context(), flag) && p.Flags.Take(t.Context(), flag)
	})
	op, err := s.Deduct(t.Context(), flag, []operation.Item{{GoodsID: goods, Num: 3}})
	if err != nil || op.State != operation.Done || op.Repeat || p.Level(t, goods) != 7 {
		t.Errorf("retry: %+v, %v, %d left; want it done now, 7 left", op, err, p.Level(t, goods))
	}
}

// TestFaultDRepeatIsAnswered: the case study answers a repeat with nothing. Here every repeat gets the first attempt's
// outcome, from Redis or MySQL.
func TestFaultDRepeatIsAnswered(t *testing.T) {
	p := stocktest.New(t)
	s := p.Service(p.Open(t, "grouped"))
	goods := p.Goods(t, 10)
	for _, num := range []int64{4, 40} {
		flag, items := p.Flag(), []operation.Item{{GoodsID: goods, Num: num}}
		first, err := s.Deduct(t.Context(), flag, items)
		must(t, err)
		for name, prepare := range map[string]func(){
			"the flow table":                 func() {},
			"the unique key, the flag's set": func() { p.Flags.Set(t.Context(), flag) },
		} {
			prepare()
			again, err := s.Deduct(t.Context(), flag, items)
			same := again.State == first.State && again.Reason == first.Reason && again.Token == first.Token
			if err != nil || !same || !again.Repeat {
				t.Errorf("%s: %+v, %v; want %+v as a repeat", name, again, err, first)
			}
		}
	}
	p.WantLevel(t, goods, 6)
}

// TestFaultGOneSessionForAllLocks: the case study opens a ZooKeeper session
// for each lock. Here a process has one; the strategy that shows the fault has many.
func TestFaultGOneSessionForAllLocks(t *testing.T) {
	for name, want := range map[string]func(sessions int64) bool{
		"sequential": func(n int64) bool { return n == 1 },
		"grouped":    func(n int64) bool { return n == 1 },
		"case-study": func(n int64) bool { return n == 12 },
	} {
		t.Run(name, func(t *testing.T) {
			p := stocktest.New(t)
			goods := p.Goods(t, 100)
			proxy := serverstest.NewProxy(t, serverstest.ZooKeeper(t).Addr(), nil)
			s := p.Open(t, name, func(c *compared.Config) { c.ZooKeeper = []string{proxy.Addr} })
			stocktest.Workers(4, func(int) {
				for range 3 {
					if _, err := s.Deduct(t.Context(), one(p, goods)); err != nil {
						t.Error(err)
					}
				}
			})
			if n := proxy.Accepted.Load(); !want(n) {
				t.Errorf("%d ZooKeeper sessions for 12 deductions", n)
			}
		})
	}
}

// TestFaultHGoodsDoNotWaitForEachOther: the case study has one lock for all
// goods, named after the method.
func TestFaultHGoodsDoNotWaitForEachOther(t *testing.T) {
	p := stocktest.New(t)
	root, busy, idle := serverstest.ZooKeeperRoot(t), p.Goods(t, 5), p.Goods(t, 5)
	lock := hold(t, root+lockPaths(busy)["sequential"])
	defer func() { must(t, lock.Release(t.Context())) }()
	open := func(wait time.Duration) deduct.Strategy {
		return p.Open(t, "sequential", func(c *compared.Config) { c.Root, c.LockTimeout = root, wait })
	}
	if _, err := open(stocktest.Patience).Deduct(t.Context(), one(p, idle)); err != nil {
		t.Errorf("other goods: %v; want them to go on", err)
	}
	flag, hurried := p.Flag(), open(300*time.Millisecond)
	want := operation.Locked{GoodsID: busy}
	eventually(t, "goods under another's lock are refused for that", func() bool { // not for ZooKeeper's silence so far
		_, err := hurried.Deduct(t.Context(), stock.Request{
			Flag:  flag,
			Items: []operation.Item{{GoodsID: busy, Num: 1}, {GoodsID: idle, Num: 1}},
		})
		if !errors.Is(err, want) && !errors.Is(err, operation.ErrUnavailable) {
			t.Fatalf("goods under another's lock: %v; want %v", err, want)
		}
		return errors.Is(err, want)
	})
	p.WantUnused(t, flag)
	p.WantLevel(t, busy, 5)
	p.WantLevel(t, idle, 4)
}

var must = serverstest.Must
