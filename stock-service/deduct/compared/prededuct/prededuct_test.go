package prededuct_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"orderstock/pkg/operation"
	"orderstock/pkg/redisdb"
	"orderstock/pkg/servers"
	"orderstock/stock-service/deduct/compared/prededuct"
	"orderstock/stock-service/internal/stocktest"
	"orderstock/stock-service/stock"
)

// The strategy keeps the promises of the others, except if a cancellation comes before
// an operation that was reported as done is in the ledger.
func TestSuite(t *testing.T) {
	stocktest.Suite(t, "redis-prededuct", "cancelled before", "cancelled during the deduction", "restored once")
}

// gated is a ledger that can be put out of reach of the writer.
type gated struct {
	prededuct.Ledger
	shut atomic.Bool
}

func (g *gated) DeductGroup(ctx context.Context, requests []stock.Request, fence stock.Fence) ([]stock.Outcome, error) {
	if g.shut.Load() {
		return nil, fmt.Errorf("%w: shut", stock.ErrUnavailable)
	}
	return g.Ledger.DeductGroup(ctx, requests, fence)
}

// shop is a product whose level is in Redis, and a ledger that can be put out of reach.
type shop struct {
	*stocktest.Place
	ledger *gated
	redis  *servers.Redis
	goods  int64
}

func newShop(t *testing.T, pieces int64) *shop {
	t.Helper()
	p := stocktest.New(t)
	server, err := servers.StartRedis(t.Context(), t.TempDir())
	must(t, err)
	t.Cleanup(func() { _ = server.Kill() })
	return &shop{p, &gated{Ledger: p.Ledger}, server, p.Goods(t, pieces)}
}

// open returns a strategy, as another process would have it.
func (s *shop) open() *prededuct.Strategy {
	return prededuct.New(prededuct.Config{
		Ledger: s.ledger, Redis: redisdb.Server{Addrs: []string{s.redis.Addr()}}, Prefix: "shop:",
		Wait: stocktest.Patience, Log: stocktest.Quiet,
	})
}

func (s *shop) take(t *testing.T, d stock.Deducter, flag string, num int64) stock.Operation {
	t.Helper()
	op, err := d.Deduct(t.Context(), stock.Request{Flag: flag, Items: []operation.Item{{GoodsID: s.goods, Num: num}}})
	if err != nil {
		t.Errorf("deduct under %s: %v", flag, err)
	}
	return op
}

// told sells pieces that the ledger does not know of.
func (s *shop) told(t *testing.T, d *prededuct.Strategy, n int) (flags []string) {
	t.Helper()
	s.take(t, d, s.Flag(), 1) // the first of its product is decided by the ledger
	must(t, d.Flush(t.Context()))
	s.ledger.shut.Store(true)
	for range n {
		flags = append(flags, s.Flag())
		if op := s.take(t, d, flags[len(flags)-1], 1); op.State != operation.Done {
			t.Errorf("answered %s; want done", op.State)
		}
	}
	return flags
}

func (s *shop) recorded(t *testing.T, flags []string) map[string]stock.Operation {
	t.Helper()
	found, err := s.Ledger.Find(t.Context(), flags...)
	must(t, err)
	return found
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// The next process writes the operations that one process reported as done and did not write.
func TestTheLogOutlivesTheProcess(t *testing.T) {
	s := newShop(t, 100)
	first := s.open()
	flags := s.told(t, first, 10)
	must(t, first.Close())
	if n := len(s.recorded(t, flags)); n != 0 {
		t.Fatalf("%d are in a ledger that was out of reach", n)
	}
	s.ledger.shut.Store(false)
	second := s.open()
	must(t, second.Flush(t.Context()))
	if n := len(s.recorded(t, flags)); n != len(flags) || s.Level(t, s.goods) != 89 {
		t.Errorf("%d of %d in the ledger, %d left; want all, 89", n, len(flags), s.Level(t, s.goods))
	}
	if op := s.take(t, second, flags[0], 1); op.State != operation.Done || !op.Repeat {
		t.Errorf("a repeat gets %+v", op)
	}
	must(t, second.Close())
}

// This is why a service refuses the strategy: a flush loses operations that were reported as done.
func TestAFlushLosesAcknowledgedDeductions(t *testing.T) {
	s := newShop(t, 100)
	first := s.open()
	flags := s.told(t, first, 10)
	must(t, first.Close()) // otherwise it may have read the log, and write it after the flush
	client := redisdb.Open(redisdb.Server{Addrs: []string{s.redis.Addr()}}, time.Second)
	must(t, client.FlushAll(t.Context()).Err())
	must(t, client.Close())
	s.ledger.shut.Store(false)
	d := s.open()
	last := s.Flag()
	if op := s.take(t, d, last, 1); op.State != operation.Done {
		t.Errorf("after the flush: %+v; want that the ledger decides", op)
	}
	must(t, d.Flush(t.Context()))
	if n := len(s.recorded(t, flags)); n != 0 {
		t.Errorf("%d of %d are in the ledger: the flush was survived, so README.md is wrong", n, len(flags))
	}
	must(t, d.Close())
}

// Operations that the ledger decides reserve pieces in Redis too, and the level there follows restocks: nobody is
// refused, or oversold, because Redis is behind.
func TestARestockComesToRedis(t *testing.T) {
	s := newShop(t, 3)
	d := s.open()
	s.take(t, d, s.Flag(), 3)
	if op := s.take(t, d, s.Flag(), 1); op.State != operation.Rejected {
		t.Errorf("of nothing: %s; want rejected", op.State)
	}
	_, err := s.Ledger.Restock(t.Context(), stock.Restock{Flag: s.Flag(), GoodsID: s.goods, Num: 5})
	must(t, err)
	if op := s.take(t, d, s.Flag(), 1); op.State != operation.Done {
		t.Errorf("after a restock: %s; want done", op.State)
	}
	must(t, d.Flush(t.Context()))
	s.ledger.shut.Store(true) // from here on Redis alone decides
	for range 4 {
		if op := s.take(t, d, s.Flag(), 1); op.State != operation.Done {
			t.Errorf("after the restock came to Redis: %s; want done", op.State)
		}
	}
	s.ledger.shut.Store(false)
	if op := s.take(t, d, s.Flag(), 1); op.State != operation.Rejected {
		t.Errorf("of nothing again: %s; want rejected", op.State)
	}
	must(t, d.Flush(t.Context()))
	must(t, d.Close())
}

// Two processes share the log; each operation is written once.
func TestTwoProcesses(t *testing.T) {
	const pieces = 200
	s := newShop(t, pieces)
	both := []*prededuct.Strategy{s.open(), s.open()}
	var done, rejected atomic.Int64
	stocktest.Workers(20, func(i int) {
		for range 15 {
			switch s.take(t, both[i%2], s.Flag(), 1).State {
			case operation.Done:
				done.Add(1)
			case operation.Rejected:
				rejected.Add(1)
			}
		}
	})
	must(t, both[0].Flush(t.Context()))
	if done.Load() != pieces || rejected.Load() != 100 || s.Level(t, s.goods) != 0 {
		t.Errorf("%d done, %d rejected, %d left; want %d, 100, 0", done.Load(), rejected.Load(), s.Level(t, s.goods), pieces)
	}
	must(t, errors.Join(both[0].Close(), both[1].Close()))
}
