package compared_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"orderstock/pkg/operation"
	"orderstock/stock-service/deduct"
	"orderstock/stock-service/deduct/compared"
	"orderstock/stock-service/internal/stocktest"
	"orderstock/stock-service/stock"
)

func TestStrategies(t *testing.T) {
	for _, name := range []string{
		"case-study", "single-node", "zk-lock", "redis-lock", "optimistic", "pessimistic", "conditional-update",
	} {
		t.Run(name, func(t *testing.T) { stocktest.Suite(t, name) })
	}
}

// Every strategy of the list can be opened, and nothing else.
func TestNew(t *testing.T) {
	p := stocktest.New(t)
	for _, s := range deduct.Strategies {
		p.Open(t, s.Name, func(c *compared.Config) { c.AllowUnsafe = true })
	}
	if _, err := compared.New("nonsense", compared.Config{}); err == nil {
		t.Error("an unknown strategy was opened")
	}
}

func TestUnsafeOversells(t *testing.T) {
	if _, err := compared.New("unsafe", compared.Config{}); !errors.Is(err, compared.ErrUnsafe) {
		t.Fatalf("unsafe without permission: %v", err)
	}
	p := stocktest.New(t)
	s := p.Open(t, "unsafe", func(c *compared.Config) { c.AllowUnsafe = true })
	deadline := time.Now().Add(time.Minute)
	for len(p.Violations(t)) == 0 {
		if time.Now().After(deadline) {
			t.Fatal("read, then write, without a lock, and still right")
		}
		goods := p.Goods(t, 1000)
		stocktest.Workers(16, func(int) {
			_, _ = s.Deduct(context.WithoutCancel(t.Context()), stock.Request{
				Flag:  p.Flag(),
				Items: []operation.Item{{GoodsID: goods, Num: 1}},
			})
		})
	}
	// The ledger is broken as it should be: make it right for the check at the end.
	if err := p.DB.Exec("UPDATE stock s SET num = " +
		"(SELECT SUM(num) FROM stock_flow f WHERE f.goods_id = s.goods_id)").Error; err != nil {
		t.Fatal(err)
	}
}
