package deduct_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.opentelemetry.io/otel/codes"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"pgregory.net/rapid"

	"orderstock/pkg/operation"
	"orderstock/pkg/servers/serverstest"
	"orderstock/pkg/tracing"
	"orderstock/pkg/zklock"
	"orderstock/stock-service/deduct"
	"orderstock/stock-service/deduct/compared"
	"orderstock/stock-service/internal/stocktest"
	"orderstock/stock-service/stock"
)

// twoPartitions returns two products of different partitions, of n partitions in all.
func twoPartitions(t *testing.T, p *stocktest.Place, n int, pieces int64) (a, b int64) {
	t.Helper()
	a = p.Goods(t, pieces)
	for range 100 {
		if b = p.Goods(t, pieces); operation.Partition(b, n) != operation.Partition(a, n) {
			return a, b
		}
	}
	t.Fatal("all products are of one partition")
	return 0, 0
}

// TestAnotherHolderStopsNoOtherPartition: fault H of the case study, one lock for all products.
func TestAnotherHolderStopsNoOtherPartition(t *testing.T) {
	p := stocktest.New(t)
	root := serverstest.ZooKeeperRoot(t)
	const partitions = 16
	busy, idle := twoPartitions(t, p, partitions, 5)
	lock := hold(t, deduct.PartitionPath(root, operation.Partition(busy, partitions)))
	s := p.Open(t, "grouped", func(c *compared.Config) { c.Root, c.Partitions = root, partitions })
	waiting := make(chan error, 1)
	go func() {
		_, err := s.Deduct(context.WithoutCancel(t.Context()), one(p, busy))
		waiting <- err
	}()
	eventually(t, "the operation to wait for the lock", func() bool { return deduct.Waiting(s) == 1 })
	op, err := s.Deduct(t.Context(), one(p, idle))
	if err != nil || op.Token.IsZero() {
		t.Errorf("the other partition: %+v, %v; want it done under its lock", op, err)
	}
	must(t, lock.Release(t.Context()))
	must(t, <-waiting)
}

// TestAStuckHolderOfOneLockIsPassedBy: an order over two partitions goes without any lock while a stuck process holds
// one of its locks, and leaves the other to those who need it alone.
func TestAStuckHolderOfOneLockIsPassedBy(t *testing.T) {
	p := stocktest.New(t)
	root := serverstest.ZooKeeperRoot(t)
	const partitions = 16
	free, stuck := twoPartitions(t, p, partitions, 1_000_000)
	if operation.Partition(stuck, partitions) < operation.Partition(free, partitions) {
		free, stuck = stuck, free // so that a group has the free lock when it meets the other
	}
	lock := hold(t, deduct.PartitionPath(root, operation.Partition(stuck, partitions)))
	s := p.Open(t, "grouped", func(c *compared.Config) {
		c.Root, c.Partitions, c.LockPatience = root, partitions, 200*time.Millisecond
	})
	items, err := operation.NewItems([]operation.Item{{GoodsID: stuck, Num: 1}, {GoodsID: free, Num: 1}})
	must(t, err)
	both := func() operation.Operation {
		op, err := s.Deduct(t.Context(), stock.Request{Flag: p.Flag(), Items: items})
		if err != nil || op.State != operation.Done {
			t.Errorf("over both: %+v, %v; want it done", op, err)
		}
		return op
	}
	if op := both(); !op.Token.IsZero() {
		t.Errorf("while one lock is held by another: token %s; want none", op.Token)
	}
	eventually(t, "a deduction of the free partition under its lock", func() bool { // ZooKeeper may be slow
		op, err := s.Deduct(t.Context(), one(p, free))
		must(t, err)
		return !op.Token.IsZero()
	})
	must(t, lock.Release(t.Context()))
	eventually(t, "an order over both under its locks", func() bool { return !both().Token.IsZero() })
}

func one(p *stocktest.Place, goods int64) stock.Request {
	return stock.Request{Flag: p.Flag(), Items: []operation.Item{{GoodsID: goods, Num: 1}}}
}

// TestAGroupIsBounded: no transaction holds more operations than the settings allow.
func TestAGroupIsBounded(t *testing.T) {
	p := stocktest.New(t)
	goods := p.Goods(t, 1000)
	for _, name := range []string{"grouped", "grouped-rows"} {
		var largest atomic.Int64
		s := p.Open(t, name, func(c *compared.Config) {
			c.Root, c.MaxGroup = serverstest.ZooKeeperRoot(t), 4
			c.Ledger = probe{Ledger: p.Ledger, group: func(_ context.Context, n int) {
				largest.Store(max(largest.Load(), int64(n))) // groups of one partition take turns
			}}
		})
		stocktest.Workers(30, func(int) {
			if _, err := s.Deduct(t.Context(), one(p, goods)); err != nil {
				t.Error(err)
			}
		})
		if n := largest.Load(); n != 4 {
			t.Errorf("%s: the largest of the groups of 30 deductions had %d; want 4", name, n)
		}
	}
}

// TestAStuckHolderIsPassedBy: a holder that does not let the lock go costs a moment, and the lock is used
// again once it has let go.
func TestAStuckHolderIsPassedBy(t *testing.T) {
	p := stocktest.New(t)
	root, goods := serverstest.ZooKeeperRoot(t), p.Goods(t, 1_000_000)
	lock := hold(t, root+lockPaths(goods)["grouped"])
	s := p.Open(t, "grouped", func(c *compared.Config) { c.Root, c.LockPatience = root, 10*time.Millisecond })
	for range 3 {
		if op, err := s.Deduct(t.Context(), one(p, goods)); err != nil || op.State != operation.Done || !op.Token.IsZero() {
			t.Errorf("while another holds the lock: %+v, %v; want it done without a token", op, err)
		}
	}
	must(t, lock.Release(t.Context()))
	eventually(t, "a deduction under the lock", func() bool {
		op, err := s.Deduct(t.Context(), one(p, goods))
		must(t, err)
		return !op.Token.IsZero()
	})
}

// fenced is a ledger that notes when a group has a lock.
type fenced struct {
	compared.Ledger
	used *atomic.Bool
}

func (f fenced) DeductGroup(ctx context.Context, requests []stock.Request, fence stock.Fence) ([]stock.Result, error) {
	if fence != nil {
		f.used.Store(true)
	}
	return f.Ledger.DeductGroup(ctx, requests, fence)
}

// A release that ZooKeeper does not answer holds up neither the caller whose group it ends nor the callers of the next
// groups: they go on without the lock. The lock is used again after it.
func TestAReleaseThatHangsHoldsNobodyUp(t *testing.T) {
	p := stocktest.New(t)
	goods := p.Goods(t, 1_000_000)
	hangs, answer := make(chan struct{}, 1), make(chan struct{})
	var used, first atomic.Bool
	s := p.Open(t, "grouped", func(c *compared.Config) {
		c.LockPatience = 10 * time.Millisecond
		c.Ledger = fenced{c.Ledger, &used}
		c.WrapLock = func(acquire deduct.Acquire) deduct.Acquire {
			return func(ctx context.Context) (deduct.Lock, error) {
				lock, err := acquire(ctx)
				release := lock.Release
				lock.Wanted = nil // so that the group releases it
				lock.Release = func(ctx context.Context) error {
					if used.Load() && first.CompareAndSwap(false, true) { // a lock that came too late for its group is released, too
						hangs <- struct{}{}
						<-answer // whatever its limit
					}
					return release(context.WithoutCancel(ctx))
				}
				return lock, err
			}
		}
	})
	deduction := func() operation.Operation {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		op, err := s.Deduct(ctx, one(p, goods))
		if err != nil || op.State != operation.Done {
			close(answer)
			t.Fatalf("%+v, %v; want it done", op, err)
		}
		return op
	}
	eventually(t, "the first lock", func() bool { return !deduction().Token.IsZero() }) // there may be no session at first
	<-hangs
	for range 3 {
		if op := deduction(); !op.Token.IsZero() {
			t.Errorf("token %s while the lock is not released", op.Token)
		}
	}
	close(answer)
	eventually(t, "a deduction under the lock", func() bool { return !deduction().Token.IsZero() })
}

// TestATraceSaysThatAGroupHadNoLock: the wait for the lock stands in the trace, with the reason why it ended.
func TestATraceSaysThatAGroupHadNoLock(t *testing.T) {
	tracing.Enable()
	spans := tracetest.NewSpanRecorder()
	provider := sdk.NewTracerProvider(sdk.WithSpanProcessor(spans))
	t.Cleanup(func() { _ = provider.Shutdown(context.WithoutCancel(t.Context())) })
	p := stocktest.New(t)
	root := serverstest.ZooKeeperRoot(t)
	stuck, other := twoPartitions(t, p, 4, 1_000_000)
	path := deduct.PartitionPath(root, operation.Partition(stuck, 4))
	lock := hold(t, path)
	t.Cleanup(func() { _ = lock.Release(context.WithoutCancel(t.Context())) })
	s := p.Open(t, "grouped", func(c *compared.Config) {
		c.Root, c.Partitions, c.LockPatience = root, 4, 500*time.Millisecond // four times that is below a group's limit
	})
	locked := func(goods int64) bool {
		ctx, span := provider.Tracer("test").Start(t.Context(), "deduction")
		defer span.End()
		op, err := s.Deduct(ctx, one(p, goods))
		must(t, err)
		return !op.Token.IsZero()
	}
	if locked(stuck) {
		t.Error("a deduction has the lock that another holds")
	}
	eventually(t, "a deduction under the free lock", func() bool { return locked(other) }) // ZooKeeper may be slow
	waits := map[codes.Code]string{}
	for _, span := range spans.Ended() {
		if span.Name() == "acquire-lock" {
			waits[span.Status().Code] = span.Status().Description
		}
	}
	if _, free := waits[codes.Unset]; !free || !strings.Contains(waits[codes.Error], "going on without it") {
		t.Errorf("the waits for the two locks end as %v", waits)
	}
}

// TestATraceHasEachLockOfABasketOnce, whether the lock is new to the process or kept.
func TestATraceHasEachLockOfABasketOnce(t *testing.T) {
	tracing.Enable()
	spans := tracetest.NewSpanRecorder()
	provider := sdk.NewTracerProvider(sdk.WithSpanProcessor(spans))
	t.Cleanup(func() { _ = provider.Shutdown(context.WithoutCancel(t.Context())) })
	p := stocktest.New(t)
	first, second := twoPartitions(t, p, 4, 1000)
	items, err := operation.NewItems([]operation.Item{{GoodsID: first, Num: 1}, {GoodsID: second, Num: 1}})
	must(t, err)
	s := p.Open(t, "grouped", func(c *compared.Config) { c.Partitions = 4 })
	for _, locks := range []string{"new", "kept"} {
		ctx, span := provider.Tracer("test").Start(t.Context(), locks)
		op, err := s.Deduct(ctx, stock.Request{Flag: p.Flag(), Items: items})
		must(t, err)
		span.End()
		waits := 0
		for _, ended := range spans.Ended() {
			if ended.Name() == "acquire-lock" && ended.SpanContext().TraceID() == span.SpanContext().TraceID() {
				waits++
			}
		}
		if waits != 2 || op.Token.IsZero() {
			t.Errorf("%s locks: %d steps for two locks, token %s", locks, waits, op.Token)
		}
	}
}

// TestASlowHolderIsWaitedFor: two processes whose transactions take longer than the patience take turns. A stall of the
// machine may look like a stuck holder, so the test asks for "most", in one of several tries.
func TestASlowHolderIsWaitedFor(t *testing.T) {
	const tries = 5
	for range tries {
		n := slowHolders(t)
		if n >= 14 {
			return
		}
		t.Logf("%d of 20 deductions were under the lock", n)
	}
	t.Errorf("fewer than 14 of 20 deductions were under the lock, %d times; want most", tries)
}

// slowHolders has two processes with slow transactions deduct ten times each, and returns how often under the lock.
func slowHolders(t *testing.T) int64 {
	t.Helper()
	const patience = 100 * time.Millisecond
	p := stocktest.New(t)
	root, goods := serverstest.ZooKeeperRoot(t), p.Goods(t, 1_000_000)
	slow := func(c *compared.Config) {
		c.Root, c.LockPatience = root, patience
		c.Ledger = probe{Ledger: p.Ledger, committed: func() { time.Sleep(5 * patience / 2) }}
	}
	var (
		all    sync.WaitGroup
		locked atomic.Int64
	)
	for _, s := range []deduct.Strategy{p.Open(t, "grouped", slow), p.Open(t, "grouped", slow)} {
		_, err := s.Deduct(t.Context(), one(p, goods)) // now it knows how long a group takes
		must(t, err)
		all.Go(func() {
			for range 10 {
				op, err := s.Deduct(t.Context(), one(p, goods))
				if err != nil {
					t.Error(err)
				}
				if !op.Token.IsZero() {
					locked.Add(1)
				}
			}
		})
	}
	all.Wait()
	return locked.Load()
}

// TestGroupedWithoutZooKeeper: without a lock, each deduction is done all the same.
func TestGroupedWithoutZooKeeper(t *testing.T) {
	p := stocktest.New(t)
	s := p.Open(t, "grouped", func(c *compared.Config) {
		c.ZooKeeper, c.LockPatience = []string{"127.0.0.1:1"}, 10*time.Millisecond
	})
	goods := p.Goods(t, 20)
	var done atomic.Int64
	stocktest.Workers(30, func(int) {
		op, err := s.Deduct(t.Context(), one(p, goods))
		if err != nil || !op.Token.IsZero() {
			t.Errorf("%+v, %v; want an outcome without a token", op, err)
		}
		if op.State == operation.Done {
			done.Add(1)
		}
	})
	if done.Load() != 20 || p.Level(t, goods) != 0 {
		t.Errorf("%d done, %d left; want 20, 0", done.Load(), p.Level(t, goods))
	}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if err := s.Ready(ctx); err == nil {
		t.Error("ready without ZooKeeper")
	}
}

// timed runs a test of a keeper by a clock that stands still while anything runs.
func timed(t *testing.T, test func(*testing.T)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		defer time.Sleep(time.Minute) // until the keeper's goroutines have ended
		test(t)
	})
}

// TestWhoIsTakenForDead: a process waits for a lock that goes from holder to holder.
func TestWhoIsTakenForDead(t *testing.T) {
	token := func(n byte) operation.Token { return operation.Token{15: n} }
	for name, c := range map[string]struct {
		holders []operation.Token // at each look
		err     error             // of the last look
		want    bool              // the lock is granted at the last look
	}{
		"each holder lets go":       {holders: []operation.Token{token(1), token(2), token(3), token(4)}, want: true},
		"one holder keeps it":       {holders: []operation.Token{token(1), token(1)}},
		"the second holder does":    {holders: []operation.Token{token(1), token(2), token(2)}},
		"ZooKeeper does not answer": {holders: []operation.Token{token(1)}, err: errors.New("away")},
	} {
		t.Run(name, func(t *testing.T) {
			timed(t, func(t *testing.T) {
				granted, looks := make(chan struct{}), 0
				k := deduct.NewKeeper(func(ctx context.Context) (deduct.Lock, error) {
					select {
					case <-granted:
						return deduct.Lock{Token: token(9), Alive: t.Context(), Release: func(context.Context) error { return nil }}, nil
					case <-ctx.Done():
						return deduct.Lock{}, ctx.Err()
					}
				}, func(context.Context) (operation.Token, error) {
					looks++
					if last := looks == len(c.holders); last && c.err != nil {
						return operation.Token{}, c.err
					} else if last && c.want {
						close(granted)
					}
					return c.holders[min(looks, len(c.holders))-1], nil
				}, 5*time.Millisecond)
				if got := !k.Acquire(t.Context()).Token.IsZero(); got != c.want || looks != len(c.holders) {
					t.Errorf("held %v after %d looks; want %v after %d", got, looks, c.want, len(c.holders))
				}
				k.Idle(t.Context())
			})
		})
	}
}

// While no other process waits, a lock that is used is kept beyond its tenure. It is released when one comes, when it
// is not used for a tenure, and when a group must be carried out again, as after a stale token.
func TestALockThatNobodyElseWantsIsKept(t *testing.T) {
	for name, c := range map[string]struct {
		wanted, again bool
	}{
		"until another process comes": {wanted: true},
		"until it is not used":        {},
		"until it is of no use":       {again: true},
	} {
		t.Run(name, func(t *testing.T) {
			timed(t, func(t *testing.T) {
				locks, released, wanted := byte(0), make(chan operation.Token, 100), make(chan struct{})
				k := deduct.NewKeeper(
					func(context.Context) (deduct.Lock, error) {
						locks++
						token := operation.Token{locks}
						return deduct.Lock{
							Token: token, Alive: context.WithoutCancel(t.Context()),
							Release: func(context.Context) error { released <- token; return nil },
							Wanted: func(ctx context.Context) error {
								select {
								case <-wanted:
									return nil
								case <-ctx.Done():
									return ctx.Err()
								}
							},
						}, nil
					},
					func(context.Context) (operation.Token, error) { return operation.Token{}, errors.New("nobody answers") },
					time.Second)
				for range 20 { // several tenures
					if lock := k.Acquire(t.Context()); lock.Token == (operation.Token{}) {
						t.Fatal("not granted")
					}
					k.Done(t.Context(), false, false)
					time.Sleep(10 * time.Millisecond)
				}
				if locks != 1 {
					t.Errorf("acquired %d times for 20 groups; want 1", locks)
				}
				switch {
				case c.wanted:
					close(wanted)
				case c.again:
					k.Acquire(t.Context())
					now := operation.Token{locks}
					k.Done(t.Context(), true, true)
					if k.Acquire(t.Context()).Token == now {
						t.Error("the lock of no use was kept")
					}
					k.Done(t.Context(), false, true)
					return
				}
				for timeout := time.After(10 * time.Second); ; {
					select {
					case token := <-released:
						if token == (operation.Token{locks}) {
							return
						}
					case <-timeout:
						t.Fatal("not released")
					}
				}
			})
		})
	}
}

// A lock that is kept for work that waits is released when its tenure is over, also if a group took it some time after
// it was granted.
func TestAKeptLockIsReleasedAfterItsTenure(t *testing.T) {
	timed(t, func(t *testing.T) {
		grant, granted := make(chan struct{}), make(chan struct{}, 100)
		released, locks := make(chan operation.Token, 100), byte(0)
		alive, end := context.WithCancel(t.Context())
		defer end()
		k := deduct.NewKeeper(
			func(context.Context) (deduct.Lock, error) {
				<-grant
				locks++
				token := operation.Token{locks}
				release := func(context.Context) error { released <- token; return nil }
				granted <- struct{}{}
				return deduct.Lock{Token: token, Alive: alive, Release: release}, nil
			},
			func(context.Context) (operation.Token, error) { return operation.Token{}, errors.New("nobody answers") },
			5*time.Millisecond)
		if lock := k.Acquire(t.Context()); lock.Release != nil {
			t.Fatal("granted at once")
		}
		close(grant)
		<-granted
		time.Sleep(20 * time.Millisecond) // of the tenure; if all of it is over, the next lock is as good
		var lock deduct.Lock
		eventually(t, "granted", func() bool {
			lock = k.Acquire(t.Context())
			return lock.Release != nil
		})
		k.Done(t.Context(), true, false)
		for timeout := time.After(10 * time.Second); ; {
			select {
			case token := <-released:
				if token == lock.Token {
					return
				}
			case <-timeout:
				t.Fatal("kept for ten seconds")
			}
		}
	})
}

// A lock was released before its tenure was over, and the process waits for it in the queue again: the end of that
// tenure leaves it there, where it has its turn.
func TestAnOldTenureWithdrawsNoNewAcquisition(t *testing.T) {
	timed(t, func(t *testing.T) {
		grant, withdrawn := make(chan struct{}, 1), make(chan struct{}, 1)
		grant <- struct{}{}
		k := deduct.NewKeeper(
			func(ctx context.Context) (deduct.Lock, error) {
				select {
				case <-grant:
				case <-ctx.Done():
					withdrawn <- struct{}{}
					return deduct.Lock{}, ctx.Err()
				}
				release := func(context.Context) error { return nil }
				return deduct.Lock{Alive: context.WithoutCancel(t.Context()), Release: release}, nil
			},
			func(context.Context) (operation.Token, error) { return operation.Token{}, errors.New("nobody answers") },
			5*time.Millisecond)
		eventually(t, "granted", func() bool { return k.Acquire(t.Context()).Release != nil })
		k.Done(t.Context(), false, false) // at once: the tenure is not over
		if lock := k.Acquire(t.Context()); lock.Release != nil {
			t.Fatal("granted twice")
		}
		select {
		case <-withdrawn:
			t.Error("the acquisition was withdrawn")
		case <-time.After(250 * time.Millisecond): // several tenures
		}
		grant <- struct{}{}
		eventually(t, "granted in its turn", func() bool { return k.Acquire(t.Context()).Release != nil })
		k.Idle(t.Context())
	})
}

// TestEveryDeductionIsUnderItsLocks: while no holder is stuck, two processes deduct orders of one and of several
// partitions at the same time, each under the locks of its partitions.
func TestEveryDeductionIsUnderItsLocks(t *testing.T) {
	p := stocktest.New(t)
	const partitions, pieces = 3, 1_000_000
	root := serverstest.ZooKeeperRoot(t)
	goods := make([]int64, 10)
	for i := range goods {
		goods[i] = p.Goods(t, pieces)
	}
	change := func(c *compared.Config) { c.Root, c.Partitions, c.LockPatience = root, partitions, 5*time.Second }
	replicas := []deduct.Strategy{p.Open(t, "grouped", change), p.Open(t, "grouped", change)}
	began := time.Now()
	stocktest.Workers(24, func(worker int) {
		for round := range 8 {
			r := stock.Request{Flag: p.Flag()}
			for _, id := range goods[:1+(worker+round)%len(goods)] {
				r.Items = append(r.Items, operation.Item{GoodsID: id, Num: 1})
			}
			op, err := replicas[worker%2].Deduct(t.Context(), r)
			if err != nil || op.State != operation.Done || op.Token.IsZero() {
				t.Errorf("%d products: %+v, %v; want it done under its locks", len(r.Items), op, err)
			}
		}
	})
	if took := time.Since(began); took > 20*time.Second {
		t.Errorf("%s for 192 deductions", took)
	}
	p.CheckLedger(t)
}

// TestARowIsFencedByItsOwnPartition: each row keeps the token of its partition's lock, and refuses an earlier one of
// that lock even if another lock of the group is later.
func TestARowIsFencedByItsOwnPartition(t *testing.T) {
	p := stocktest.New(t)
	a, b, c := p.Goods(t, 10), p.Goods(t, 10), p.Goods(t, 10)
	fence := func(ofA, ofB byte) stock.Fence {
		return func(id int64) operation.Token {
			if id == a {
				return operation.Token{15: ofA}
			}
			return operation.Token{15: ofB}
		}
	}
	for _, size := range []int{1, 2} { // alone, and as a group
		group := func(f stock.Fence) ([]stock.Result, error) {
			requests := make([]stock.Request, size)
			for i := range requests {
				requests[i] = stock.Request{Flag: p.Flag(), Items: []operation.Item{
					{GoodsID: a, Num: 1}, {GoodsID: b, Num: 1}, {GoodsID: c, Num: 1},
				}}
			}
			return p.Ledger.DeductGroup(t.Context(), requests, f)
		}
		outcomes, err := group(fence(3, 7))
		must(t, err)
		if outcomes[0].Err != nil || outcomes[0].Operation.Token != (operation.Token{15: 7}) {
			t.Errorf("%+v; want it done under the highest token, 7", outcomes[0])
		}
		for id, want := range map[int64]byte{a: 3, b: 7, c: 7} {
			var written []byte
			must(t, p.DB.Raw("SELECT fencing_token FROM stock WHERE goods_id = ?", id).Row().Scan(&written))
			if operation.Token(written) != (operation.Token{15: want}) {
				t.Errorf("goods %d: token %x in its row, want %d", id, written, want)
			}
		}
		before := p.Level(t, a)
		outcomes, err = group(fence(2, 9))
		if err == nil {
			err = outcomes[0].Err
		}
		if !errors.Is(err, operation.ErrStaleToken) || p.Level(t, a) != before {
			t.Errorf("an earlier holder of the first lock: %v; want %v", err, operation.ErrStaleToken)
		}
	}
}

// TestOrdersOverPartitions lets two processes deduct orders of one and of several partitions concurrently, under locks
// that others keep or not. Stock only falls, so an order was rejected rightly if the stock in the end is too low for
// it. A row keeps the highest token written by an order of its partition alone, or a later one.
func TestOrdersOverPartitions(t *testing.T) {
	p := stocktest.New(t)
	other := session(t)
	rapid.Check(t, func(r *rapid.T) {
		const partitions, pieces = 3, 12
		root := serverstest.ZooKeeperRoot(t)
		goods := make([]int64, rapid.IntRange(2, 5).Draw(r, "goods"))
		for i := range goods {
			goods[i] = p.Goods(t, pieces)
		}
		if held := rapid.IntRange(0, partitions).Draw(r, "partition held by another"); held < partitions {
			lock, err := zklock.NewMutex(other, deduct.PartitionPath(root, held)).Acquire(t.Context())
			must(t, err)
			defer func() { must(t, lock.Release(t.Context())) }()
		}
		var requests []stock.Request
		for range rapid.IntRange(5, 40).Draw(r, "orders") {
			var items []operation.Item
			for _, id := range goods {
				if num := rapid.Int64Range(-2, 3).Draw(r, "num"); num > 0 {
					items = append(items, operation.Item{GoodsID: id, Num: num})
				}
			}
			if len(items) > 0 {
				requests = append(requests, stock.Request{Flag: p.Flag(), Items: items})
			}
		}
		change := func(c *compared.Config) { c.Root, c.Partitions, c.LockPatience = root, partitions, 5*time.Millisecond }
		replicas := []deduct.Strategy{p.Open(t, "grouped", change), p.Open(t, "grouped", change)}
		outcomes := make([]operation.Operation, len(requests))
		var all sync.WaitGroup
		for i, request := range requests {
			for _, s := range replicas { // each request is sent to both; one of the answers is a repeat
				all.Go(func() {
					op, err := s.Deduct(t.Context(), request)
					if err != nil {
						t.Errorf("%+v: %v", request, err)
					}
					if !op.Repeat {
						outcomes[i] = op
					}
				})
			}
		}
		all.Wait()
		left := map[int64]int64{}
		for _, id := range goods {
			left[id] = p.Level(t, id)
		}
		taken, highest := map[int64]int64{}, map[int64]operation.Token{}
		for i, op := range outcomes {
			short := false
			_, one := operation.PartitionOf(requests[i].Items, partitions)
			for _, item := range requests[i].Items {
				if op.State == operation.Done {
					taken[item.GoodsID] += item.Num
					if one && highest[item.GoodsID].Less(op.Token) {
						highest[item.GoodsID] = op.Token
					}
				}
				short = short || left[item.GoodsID] < item.Num
			}
			if op.State != operation.Done && (op.State != operation.Rejected || !short) {
				t.Errorf("%+v: %s with %v left", requests[i], op.State, left)
			}
		}
		for _, id := range goods {
			if left[id] < 0 || left[id] != pieces-taken[id] {
				t.Errorf("goods %d: %d left, %d of %d deducted", id, left[id], taken[id], pieces)
			}
			var written []byte
			must(t, p.DB.Raw("SELECT fencing_token FROM stock WHERE goods_id = ?", id).Row().Scan(&written))
			if operation.Token(written).Less(highest[id]) {
				t.Errorf("goods %d: token %x in its row, want %s or a later one", id, written, highest[id])
			}
		}
		if t.Failed() {
			r.FailNow()
		}
	})
	p.CheckLedger(t)
}
