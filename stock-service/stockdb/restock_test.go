package stockdb_test

import (
	"errors"
	"testing"

	"orderstock/stock-service/internal/stocktest"
	"orderstock/stock-service/stock"
)

// A flag stands for one restock: with another quantity, name or price under it,
// the second is another one, and changes nothing.
func TestARestockIsRepeatedOnlyByItsEqual(t *testing.T) {
	p := stocktest.New(t)
	text, number := func(s string) *string { return &s }, func(n int64) *int64 { return &n }
	first := stock.Restock{Flag: "more", GoodsID: 1, Num: 5, Name: text("pen"), Price: number(250)}
	goods, err := p.Ledger.Restock(t.Context(), first)
	if err != nil {
		t.Fatal(err)
	}
	bare := stock.Restock{Flag: "bare", GoodsID: 1, Num: 1}
	if _, err := p.Ledger.Restock(t.Context(), bare); err != nil {
		t.Fatal(err)
	}
	goods.Num++
	for name, c := range map[string]struct {
		of     stock.Restock
		change func(*stock.Restock)
		err    error
	}{
		"the same":                {first, func(*stock.Restock) {}, nil},
		"the same, bare":          {bare, func(*stock.Restock) {}, nil},
		"another quantity":        {first, func(r *stock.Restock) { r.Num = 6 }, stock.ErrFlagConflict},
		"another price":           {first, func(r *stock.Restock) { r.Price = number(251) }, stock.ErrFlagConflict},
		"another name":            {first, func(r *stock.Restock) { r.Name = text("Pen") }, stock.ErrFlagConflict},
		"without the price":       {first, func(r *stock.Restock) { r.Price = nil }, nil},
		"with a price, once bare": {bare, func(r *stock.Restock) { r.Price = number(250) }, stock.ErrFlagConflict},
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
