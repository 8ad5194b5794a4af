package stockdb_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"orderstock/pkg/mysqldb"
	"orderstock/pkg/operation"
	"orderstock/pkg/servers/serverstest"
	"orderstock/stock-service/internal/stocktest"
	"orderstock/stock-service/stock"
	"orderstock/stock-service/stockdb"
)

// Deductions alone and in groups, repeats, cancellations and restocks of the
// same few goods at two replicas: they wait for each other, and never in a circle.
func TestNoDeadlocks(t *testing.T) {
	p := stocktest.New(t)
	ledgers := []*stockdb.DB{p.Ledger, stockdb.New(p.DB)}
	defer ledgers[1].Close()
	goods := make([]int64, 6)
	for i := range goods {
		goods[i] = p.Goods(t, 400)
	}
	request := func() stock.Request {
		flag := rand.N(300)
		rng := rand.New(rand.NewPCG(1, uint64(flag))) // a flag has the same items every time
		r := stock.Request{Flag: fmt.Sprint("load-", flag)}
		for _, id := range goods {
			if rng.IntN(2) == 0 || id == goods[flag%len(goods)] {
				r.Items = append(r.Items, operation.Item{GoodsID: id, Num: 1 + rng.Int64N(3)})
			}
		}
		return r
	}
	var did [4]atomic.Int64
	work := []func(*stockdb.DB) error{
		func(l *stockdb.DB) error {
			_, err := l.Deduct(t.Context(), request(), nil)
			return err
		},
		func(l *stockdb.DB) error {
			requests := make([]stock.Request, 8)
			for i := range requests {
				requests[i] = request()
			}
			_, err := l.DeductGroup(t.Context(), requests, nil)
			return err
		},
		func(l *stockdb.DB) error {
			_, err := l.Cancel(t.Context(), request().Flag)
			return err
		},
		func(l *stockdb.DB) error {
			n := rand.N(200)
			more := operation.Restock{Flag: fmt.Sprint("more-", n), GoodsID: goods[n%len(goods)], Num: 5}
			_, err := l.Restock(t.Context(), more)
			return err
		},
	}
	db, err := p.DB.DB()
	if err != nil {
		t.Fatal(err)
	}
	few := func() bool { // calls of a kind are no load
		for i := range did {
			if did[i].Load() < 20 {
				return true
			}
		}
		return false
	}
	report := serverstest.Deadlock(t, db, func() {
		begun := time.Now()
		var all sync.WaitGroup
		for i := range 24 {
			all.Go(func() {
				for time.Since(begun) < 4*time.Second || few() && time.Since(begun) < time.Minute {
					// A group may find that a flag has been used since.
					if err := work[i%4](ledgers[i/4%2]); err != nil && !errors.Is(err, operation.ErrUnavailable) &&
						!errors.Is(err, operation.ErrLocked) && !mysqldb.IsDuplicate(err) {
						t.Error(err)
						return
					}
					did[i%4].Add(1)
				}
			})
		}
		all.Wait()
	})
	says := fmt.Sprintf("%d deductions, %d groups, %d cancellations, %d restocks", did[0].Load(), did[1].Load(),
		did[2].Load(), did[3].Load())
	if t.Log(says); few() {
		t.Errorf("%s: too few of one kind are no load", says)
	}
	if report != "" {
		t.Errorf("a deadlock: %s", report)
	}
}

// A deduction, a group and a cancellation wait for the rows of their own products alone, however few the table has. A
// statement that walked the table would wait for the others, and out of order.
func TestRowsOfOthersAreNotLocked(t *testing.T) {
	for products := 2; products <= 8; products++ {
		t.Run(fmt.Sprint(products, " products"), func(t *testing.T) {
			p := stocktest.NewWaiting(t, time.Second)
			goods := make([]int64, products)
			for i := range goods {
				goods[i] = p.Goods(t, 100)
			}
			for i, other := range goods {
				ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
				defer cancel()
				request := func() (r stock.Request) {
					r.Flag = p.Flag()
					for _, id := range slices.Delete(slices.Clone(goods), i, i+1) {
						r.Items = append(r.Items, operation.Item{GoodsID: id, Num: 1})
					}
					return r
				}
				release := hold(t, p.DB, "SELECT num FROM stock WHERE goods_id = ? FOR UPDATE", other)
				alone := request()
				if _, err := p.Ledger.Deduct(ctx, alone, nil); err != nil {
					t.Fatalf("deduction without product %d, which is held: %v", i, err)
				}
				outcomes, err := p.Ledger.DeductGroup(ctx, []stock.Request{request(), request()}, nil)
				if err != nil || outcomes[0].Err != nil {
					t.Fatalf("group without product %d, which is held: %+v, %v", i, outcomes, err)
				}
				if _, err := p.Ledger.Cancel(ctx, alone.Flag); err != nil {
					t.Fatalf("cancellation without product %d, which is held: %v", i, err)
				}
				release()
			}
		})
	}
}
