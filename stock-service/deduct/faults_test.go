package deduct_test

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"sync/atomic"
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

// probe is a ledger that calls committed after each deduction's transaction.
type probe struct {
	compared.Ledger
	committed func()
}

func (p probe) Deduct(ctx context.Context, r stock.Request, fence stock.Fence) (stock.Operation, error) {
	op, err := p.Ledger.Deduct(ctx, r, fence)
	p.committed()
	return op, err
}

func (p probe) DeductGroup(ctx context.Context, requests []stock.Request, fence stock.Fence) ([]stock.Outcome, error) {
	outcomes, err := p.Ledger.DeductGroup(ctx, requests, fence)
	p.committed()
	return outcomes, err
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
				c.Ledger = probe{p.Ledger, func() {
					looked++
					if lock, err := mutex.TryAcquire(t.Context()); !errors.Is(err, zklock.ErrNotAcquired) {
						t.Errorf("the lock is free when the commit has just returned: %v, %v", lock, err)
					}
				}}
			})
			op, err := s.Deduct(t.Context(), stock.Request{Flag: p.Flag(), Items: []operation.Item{{GoodsID: goods, Num: 1}}})
			if err != nil || op.State != operation.Done || looked != 1 {
				t.Fatalf("deduct: %+v, %v; looked %d times", op, err, looked)
			}
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
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
			if recorded, err := p.Ledger.Find(t.Context(), flag); err != nil || len(recorded) > 0 {
				t.Errorf("recorded %v, %v; want nothing", recorded, err)
			}
			for _, goods := range []int64{a, b} {
				if left := p.Level(t, goods); left != 10 {
					t.Errorf("goods %d: %d left; want 10", goods, left)
				}
			}
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
	if !p.Flags.Set(t.Context(), flag) || !p.Flags.Take(t.Context(), flag) {
		t.Fatal("the first attempt did not get as far as to take the flag")
	}
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
	if left := p.Level(t, goods); left != 6 {
		t.Errorf("%d left; want 6", left)
	}
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
			front := forward(t, serverstest.ZooKeeper(t).Addr(), nil)
			s := p.Open(t, name, func(c *compared.Config) { c.ZooKeeper = []string{front.addr} })
			stocktest.Workers(4, func(int) {
				for range 3 {
					if _, err := s.Deduct(t.Context(), stock.Request{
						Flag: p.Flag(), Items: []operation.Item{{GoodsID: goods, Num: 1}},
					}); err != nil {
						t.Error(err)
					}
				}
			})
			if n := front.accepted.Load(); !want(n) {
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
	lock, err := zklock.NewMutex(session(t), root+lockPaths(busy)["sequential"]).Acquire(t.Context())
	must(t, err)
	defer func() { must(t, lock.Release(t.Context())) }()
	s := p.Open(t, "sequential", func(c *compared.Config) { c.Root, c.LockTimeout = root, 300*time.Millisecond })
	if _, err := s.Deduct(t.Context(), stock.Request{
		Flag: p.Flag(), Items: []operation.Item{{GoodsID: idle, Num: 1}},
	}); err != nil {
		t.Errorf("other goods: %v; want them to go on", err)
	}
	flag := p.Flag()
	_, err = s.Deduct(t.Context(), stock.Request{
		Flag:  flag,
		Items: []operation.Item{{GoodsID: busy, Num: 1}, {GoodsID: idle, Num: 1}},
	})
	if !errors.Is(err, stock.ErrUnavailable) {
		t.Errorf("goods under another's lock: %v; want unavailable", err)
	}
	if recorded, err := p.Ledger.Find(t.Context(), flag); err != nil || len(recorded) > 0 ||
		p.Level(t, busy) != 5 || p.Level(t, idle) != 4 {
		t.Errorf("recorded %v, %v, levels %d, %d; want nothing changed", recorded, err, p.Level(t, busy), p.Level(t, idle))
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// front is a TCP proxy that counts its connections.
type front struct {
	addr     string
	accepted atomic.Int64
}

// forward starts a front of the server at addr. If cut is not nil, it sees what
// clients send. If it returns true, the connection is cut as soon as the server
// replies, so that the client never gets the reply.
func forward(t *testing.T, addr string, cut func(sent []byte) bool) *front {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	f := &front{addr: listener.Addr().String()}
	var (
		running sync.WaitGroup
		mu      sync.Mutex
		cuts    []func()
	)
	running.Go(func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			f.accepted.Add(1)
			server, err := net.Dial("tcp", addr)
			if err != nil {
				_ = client.Close()
				continue
			}
			var silence atomic.Bool
			both := func() { _ = errors.Join(client.Close(), server.Close()) }
			running.Go(func() {
				defer both()
				_, _ = io.Copy(writer(func(b []byte) (int, error) {
					if cut != nil && cut(b) {
						silence.Store(true)
					}
					return server.Write(b)
				}), client)
			})
			running.Go(func() {
				defer both()
				_, _ = io.Copy(writer(func(b []byte) (int, error) {
					if silence.Load() {
						return 0, io.ErrClosedPipe
					}
					return client.Write(b)
				}), server)
			})
			mu.Lock()
			cuts = append(cuts, both)
			mu.Unlock()
		}
	})
	t.Cleanup(func() { // runs after the clean-up of everything opened later
		_ = listener.Close()
		mu.Lock()
		for _, both := range cuts {
			both()
		}
		mu.Unlock()
		running.Wait()
	})
	return f
}

type writer func([]byte) (int, error)

func (w writer) Write(b []byte) (int, error) { return w(b) }
