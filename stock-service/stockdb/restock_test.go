package stockdb_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"

	"orderstock/pkg/operation"
	"orderstock/stock-service/internal/stocktest"
	"orderstock/stock-service/stock"
)

// A flag stands for one restock: with another quantity, name or price under it,
// the second is another one, and changes nothing.
func TestARestockIsRepeatedOnlyByItsEqual(t *testing.T) {
	p := stocktest.New(t)
	text, number := func(s string) *string { return &s }, func(n int64) *int64 { return &n }
	first := operation.Restock{Flag: "more", GoodsID: 1, Num: 5, Name: text("pen"), Price: number(250)}
	goods, err := p.Ledger.Restock(t.Context(), first)
	if err != nil {
		t.Fatal(err)
	}
	bare := operation.Restock{Flag: "bare", GoodsID: 1, Num: 1}
	if _, err := p.Ledger.Restock(t.Context(), bare); err != nil {
		t.Fatal(err)
	}
	goods.Num++
	for name, c := range map[string]struct {
		of     operation.Restock
		change func(*operation.Restock)
		err    error
	}{
		"the same":                {first, func(*operation.Restock) {}, nil},
		"the same, bare":          {bare, func(*operation.Restock) {}, nil},
		"another quantity":        {first, func(r *operation.Restock) { r.Num = 6 }, operation.ErrFlagConflict},
		"another price":           {first, func(r *operation.Restock) { r.Price = number(251) }, operation.ErrFlagConflict},
		"another name":            {first, func(r *operation.Restock) { r.Name = text("Pen") }, operation.ErrFlagConflict},
		"without the price":       {first, func(r *operation.Restock) { r.Price = nil }, nil},
		"with a price, once bare": {bare, func(r *operation.Restock) { r.Price = number(250) }, operation.ErrFlagConflict},
	} {
		c.change(&c.of)
		if again, err := p.Ledger.Restock(t.Context(), c.of); !errors.Is(err, c.err) || err == nil && again != goods {
			t.Errorf("%s: %+v, %v; want %v", name, again, err, c.err)
		}
	}
	if now, err := p.Ledger.Goods(t.Context(), 1); err != nil || now[0] != goods {
		t.Errorf("%+v, %v; want %+v as before", now, err, goods)
	}
}

// A flag belongs to one restock, or to one operation. Everything else under it is refused, and changes nothing.
func TestARestocksFlagIsItsOwn(t *testing.T) {
	p := stocktest.New(t)
	for id := int64(1); id <= 2; id++ {
		first := operation.Restock{Flag: fmt.Sprint("first-", id), GoodsID: id, Num: 5}
		if _, err := p.Ledger.Restock(t.Context(), first); err != nil {
			t.Fatal(err)
		}
	}
	ordered := stock.Request{Flag: "4711", Items: []operation.Item{{GoodsID: 1, Num: 2}}}
	if op, err := p.Ledger.Deduct(t.Context(), ordered, nil); err != nil || op.State != operation.Done {
		t.Fatal(op, err)
	}
	if _, err := p.Ledger.Cancel(t.Context(), "4712"); err != nil {
		t.Fatal(err)
	}
	for name, r := range map[string]operation.Restock{
		"another product's restock":            {Flag: "first-1", GoodsID: 2, Num: 5},
		"a new product, another's flag":        {Flag: "first-1", GoodsID: 3, Num: 5},
		"an order's flag":                      {Flag: "4711", GoodsID: 1, Num: 2},
		"an order's flag, another product":     {Flag: "4711", GoodsID: 2, Num: 2},
		"the flag of an order cancelled first": {Flag: "4712", GoodsID: 1, Num: 2},
	} {
		if _, err := p.Ledger.Restock(t.Context(), r); !errors.Is(err, operation.ErrFlagConflict) {
			t.Errorf("%s: %v, want ErrFlagConflict", name, err)
		}
	}
	goods, err := p.Ledger.Goods(t.Context(), 1, 2, 3)
	if err != nil || len(goods) != 2 || goods[0].Num != 3 || goods[1].Num != 5 {
		t.Errorf("%+v, %v; want 3 and 5 pieces of two products", goods, err)
	}
	// At the same time, too.
	for round := range 20 {
		var restocks sync.WaitGroup
		errs := make([]error, 2)
		for i := range errs {
			restocks.Go(func() {
				_, errs[i] = p.Ledger.Restock(t.Context(),
					operation.Restock{Flag: fmt.Sprint("both-", round), GoodsID: int64(1 + i), Num: 1})
			})
		}
		restocks.Wait()
		if errs[0] == nil && errs[1] == nil {
			t.Fatalf("round %d: two products under one flag", round)
		}
	}
}
