//go:build alone

package system_test

import (
	"fmt"
	"testing"

	"orderstock/loadtest/fire"
	"orderstock/loadtest/system/systemtest"
	"orderstock/loadtest/verify"
)

// TestEveryDeductionIsMadeUnderItsLocks: without faults no deduction lacks a fencing token, for any number of services,
// partitions, products and items.
func TestEveryDeductionIsMadeUnderItsLocks(t *testing.T) {
	for _, c := range []struct {
		orders, stocks int
		partitions     string
	}{{1, 1, "1"}, {2, 1, "1"}, {1, 2, "1"}, {2, 2, "16"}, {1, 3, "16"}, {2, 3, "1"}} {
		t.Run(fmt.Sprintf("orders=%d,stocks=%d,partitions=%s", c.orders, c.stocks, c.partitions), func(t *testing.T) {
			cfg := config(t)
			cfg.OrderServices, cfg.StockServices = c.orders, c.stocks
			// The default patience is over when a slow ZooKeeper stalls for 200 ms.
			cfg.StockEnv = map[string]string{"STOCK_PARTITIONS": c.partitions, "LOCK_PATIENCE": "2s"}
			cfg.OrderEnv = cfg.StockEnv
			st := systemtest.Start(t, cfg)
			run := func(goods int) *verify.Verdict {
				h, err := fire.Run(t.Context(), fire.Config{
					Target: st.Target(), Orders: 500, Concurrency: 50,
					Mix: fire.Mix{Goods: goods, Stock: 10_000, ItemsMax: min(goods, 10), Several: 0.8, Cancel: 0.1},
				})
				if err != nil {
					t.Fatal(err)
				}
				v, err := verify.Run(t.Context(), verify.Config{Databases: st.Databases(), History: h})
				if err != nil {
					t.Fatal(err)
				}
				return v
			}
			for _, goods := range []int{5, 100, 10_000} {
				v := run(goods)
				for range 2 { // a machine that stood still for a second may have stood still for the patience
					if v.Calm < 100 && (v.Outcome == verify.Unknown || v.Unlocked > 0) {
						v = run(goods)
					}
				}
				if v.Outcome != verify.Pass || v.Unlocked > 0 || v.Confirmed+v.Cancelled < 450 {
					t.Errorf("%d products: %d deductions without a lock; %s", goods, v.Unlocked, v)
				}
			}
		})
	}
}
