package stocktest

import (
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"orderstock/pkg/coordination"
	"orderstock/pkg/operation"
	"orderstock/pkg/redisdb"
	"orderstock/pkg/servers/serverstest"
	"orderstock/stock-service/deduct"
	"orderstock/stock-service/deduct/compared"
	"orderstock/stock-service/stock"
)

// Open returns the strategy of that name on the place's ledger, with its configuration modified by change. It is closed
// at the test's end.
func (p *Place) Open(t testing.TB, name string, change ...func(*compared.Config)) deduct.Strategy {
	t.Helper()
	cfg := compared.Config{
		Config: deduct.Config{
			Config: coordination.Config{
				ZooKeeper: []string{serverstest.ZooKeeper(t).Addr()}, Root: serverstest.ZooKeeperRoot(t),
				SessionTimeout: 10 * time.Second, Log: Quiet,
			},
			LockTimeout: Patience, LockPatience: Patience,
		},
		Ledger: p.Ledger, Redis: redisdb.Server{Addrs: []string{serverstest.Redis(t).Addr()}},
	}
	for _, c := range change {
		c(&cfg)
	}
	s, err := compared.New(name, cfg)
	must(t, err)
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("close %s: %v", name, err)
		}
	})
	return s
}

// Suite checks the promises of every safe strategy.
func Suite(t *testing.T, name string) {
	p := New(t)
	s := &suite{p, p.Service(p.Open(t, name))}
	for _, test := range []struct {
		name string
		run  func(*testing.T)
	}{
		{"sells out exactly", s.sellsOutExactly},
		{"all or nothing", s.allOrNothing},
		{"repeats at the same time", s.repeatsAtTheSameTime},
		{"several goods both ways round", s.severalGoodsBothWaysRound},
		{"other items under a flag", s.otherItemsUnderAFlag},
		{"unknown goods leave no trace", s.unknownGoodsLeaveNoTrace},
		{"rejected stays rejected", s.rejectedStaysRejected},
		{"cancelled before", s.cancelledBefore},
		{"cancelled during the deduction", s.cancelledMeanwhile},
		{"restored once", s.restoredOnce},
	} {
		t.Run(test.name, test.run)
		p.CheckLedger(t)
	}
}

// Workers runs work n times concurrently.
func Workers(n int, work func(i int)) {
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() { work(i) })
	}
	wg.Wait()
}

type suite struct {
	*Place
	service *stock.Service
}

func (s *suite) deduct(t *testing.T, flag string, items ...operation.Item) operation.Operation {
	t.Helper()
	op, err := s.service.Deduct(t.Context(), flag, items)
	if err != nil {
		t.Errorf("deduct %v under %s: %v", items, flag, err)
	}
	return op
}

func (s *suite) sellsOutExactly(t *testing.T) {
	const pieces, crowd, each = 50, 20, 4
	goods := s.Goods(t, pieces)
	var done, rejected atomic.Int64
	Workers(crowd, func(int) {
		for range each {
			switch op := s.deduct(t, s.Flag(), operation.Item{GoodsID: goods, Num: 1}); op.State {
			case operation.Done:
				done.Add(1)
			case operation.Rejected:
				rejected.Add(1)
				if want := stock.ShortReason(goods); op.Reason != want {
					t.Errorf("reason %q; want %q", op.Reason, want)
				}
			default:
				t.Errorf("state %s", op.State)
			}
		}
	})
	if done.Load() != pieces || rejected.Load() != crowd*each-pieces {
		t.Errorf("%d done, %d rejected; want %d, %d", done.Load(), rejected.Load(), pieces, crowd*each-pieces)
	}
	s.WantLevel(t, goods, 0)
}

func (s *suite) allOrNothing(t *testing.T) {
	plenty, few := s.Goods(t, 10), s.Goods(t, 1)
	op := s.deduct(t, s.Flag(), operation.Item{GoodsID: few, Num: 2}, operation.Item{GoodsID: plenty, Num: 3})
	if op.State != operation.Rejected || op.Reason != stock.ShortReason(few) {
		t.Errorf("%s %q; want rejected for goods %d", op.State, op.Reason, few)
	}
	if s.Level(t, plenty) != 10 || s.Level(t, few) != 1 {
		t.Errorf("levels %d, %d; want 10, 1 as before", s.Level(t, plenty), s.Level(t, few))
	}
	op = s.deduct(t, s.Flag(), operation.Item{GoodsID: few, Num: 1}, operation.Item{GoodsID: plenty, Num: 10})
	if op.State != operation.Done || s.Level(t, plenty) != 0 || s.Level(t, few) != 0 {
		t.Errorf("%s, levels %d, %d; want done, 0, 0", op.State, s.Level(t, plenty), s.Level(t, few))
	}
}

func (s *suite) repeatsAtTheSameTime(t *testing.T) {
	goods, flag := s.Goods(t, 100), s.Flag()
	s.Flags.Set(t.Context(), flag)
	var firsts atomic.Int64
	Workers(20, func(int) {
		op := s.deduct(t, flag, operation.Item{GoodsID: goods, Num: 7})
		if op.State != operation.Done {
			t.Errorf("state %s; want done", op.State)
		}
		if !op.Repeat {
			firsts.Add(1)
		}
	})
	if firsts.Load() != 1 || s.Level(t, goods) != 93 {
		t.Errorf("%d firsts, %d left; want 1, 93", firsts.Load(), s.Level(t, goods))
	}
}

func (s *suite) severalGoodsBothWaysRound(t *testing.T) {
	a, b, c := s.Goods(t, 60), s.Goods(t, 60), s.Goods(t, 60)
	orders := [][]operation.Item{
		{{GoodsID: a, Num: 1}, {GoodsID: b, Num: 2}},
		{{GoodsID: b, Num: 2}, {GoodsID: a, Num: 1}},
		{{GoodsID: c, Num: 1}, {GoodsID: a, Num: 1}, {GoodsID: b, Num: 1}},
		{{GoodsID: b, Num: 1}, {GoodsID: c, Num: 3}},
	}
	Workers(12, func(i int) {
		for round := range 4 {
			s.deduct(t, s.Flag(), orders[(i+round)%len(orders)]...)
		}
	})
	for _, goods := range []int64{a, b, c} {
		if left := s.Level(t, goods); left < 0 || left >= 60 {
			t.Errorf("goods %d: %d left of 60", goods, left)
		}
	}
}

func (s *suite) otherItemsUnderAFlag(t *testing.T) {
	goods, flag := s.Goods(t, 10), s.Flag()
	s.deduct(t, flag, operation.Item{GoodsID: goods, Num: 1})
	_, err := s.service.Deduct(t.Context(), flag, []operation.Item{{GoodsID: goods, Num: 2}})
	if !errors.Is(err, operation.ErrFlagConflict) {
		t.Errorf("other items, flag absent: %v; want a conflict", err)
	}
	s.Flags.Set(t.Context(), flag) // so that only the unique key is left to decide
	_, err = s.service.Deduct(t.Context(), flag, []operation.Item{{GoodsID: goods, Num: 2}})
	if !errors.Is(err, operation.ErrFlagConflict) {
		t.Errorf("other items, flag set: %v; want a conflict", err)
	}
	s.WantLevel(t, goods, 9)
}

func (s *suite) unknownGoodsLeaveNoTrace(t *testing.T) {
	goods, flag := s.Goods(t, 10), s.Flag()
	_, err := s.service.Deduct(t.Context(), flag, []operation.Item{{GoodsID: goods, Num: 99}, {GoodsID: 1 << 60, Num: 1}})
	if !errors.Is(err, operation.ErrUnknownGoods) {
		t.Errorf("unknown goods: %v", err)
	}
	s.WantLevel(t, goods, 10)
	s.WantUnused(t, flag)
}

func (s *suite) rejectedStaysRejected(t *testing.T) {
	goods, flag := s.Goods(t, 1), s.Flag()
	first := s.deduct(t, flag, operation.Item{GoodsID: goods, Num: 5})
	if _, err := s.service.Restock(t.Context(), operation.Restock{Flag: s.Flag(), GoodsID: goods, Num: 100}); err != nil {
		t.Fatal(err)
	}
	s.Flags.Set(t.Context(), flag)
	for range 2 {
		again := s.deduct(t, flag, operation.Item{GoodsID: goods, Num: 5})
		if first.State != operation.Rejected || again.State != operation.Rejected || again.Reason != first.Reason ||
			!again.Repeat {
			t.Errorf("first %+v, again %+v; want the same rejection", first, again)
		}
	}
	s.WantLevel(t, goods, 101)
}

func (s *suite) cancelledBefore(t *testing.T) {
	goods, flag := s.Goods(t, 10), s.Flag()
	if op, err := s.service.Cancel(t.Context(), flag); err != nil || op.State != operation.Cancelled {
		t.Fatalf("cancel: %+v, %v", op, err)
	}
	s.Flags.Set(t.Context(), flag)
	if op := s.deduct(t, flag, operation.Item{GoodsID: goods, Num: 1}); op.State != operation.Cancelled || !op.Repeat {
		t.Errorf("deduct after cancel: %+v; want the cancellation", op)
	}
	s.WantLevel(t, goods, 10)
}

func (s *suite) cancelledMeanwhile(t *testing.T) {
	const flags, pieces = 12, 100
	goods := s.Goods(t, pieces)
	Workers(flags, func(int) {
		flag := s.Flag()
		var both sync.WaitGroup
		var deducted, cancelled operation.Operation
		both.Go(func() { deducted = s.deduct(t, flag, operation.Item{GoodsID: goods, Num: 3}) })
		both.Go(func() {
			var err error
			if cancelled, err = s.service.Cancel(t.Context(), flag); err != nil {
				t.Errorf("cancel: %v", err)
			}
		})
		both.Wait()
		switch cancelled.State {
		case operation.Cancelled: // cancelled before the deduction
			if deducted.State != operation.Cancelled {
				t.Errorf("deduct says %s of a flag that was cancelled first", deducted.State)
			}
		case operation.Restored: // cancelled after the deduction
			if deducted.State != operation.Done && deducted.State != operation.Restored {
				t.Errorf("deduct says %s of a flag that was restored", deducted.State)
			}
		default:
			t.Errorf("cancel says %s", cancelled.State)
		}
	})
	s.WantLevel(t, goods, pieces)
}

func (s *suite) restoredOnce(t *testing.T) {
	a, b, flag := s.Goods(t, 10), s.Goods(t, 10), s.Flag()
	s.deduct(t, flag, operation.Item{GoodsID: a, Num: 4}, operation.Item{GoodsID: b, Num: 1})
	var firsts atomic.Int64
	Workers(8, func(int) {
		op, err := s.service.Cancel(t.Context(), flag)
		if err != nil || op.State != operation.Restored {
			t.Errorf("cancel: %+v, %v", op, err)
		}
		if !op.Repeat {
			firsts.Add(1)
		}
	})
	if firsts.Load() != 1 || s.Level(t, a) != 10 || s.Level(t, b) != 10 {
		t.Errorf("%d restored it, levels %d, %d; want 1, 10, 10", firsts.Load(), s.Level(t, a), s.Level(t, b))
	}
	if op := s.deduct(t, flag,
		operation.Item{GoodsID: a, Num: 4}, operation.Item{GoodsID: b, Num: 1}); op.State != operation.Restored {
		t.Errorf("deduct after restore: %s", op.State)
	}
}
