package faults

import (
	"cmp"
	"context"
	"time"

	"orderstock/loadtest/fire"
	"orderstock/loadtest/history"
)

// usualLoad lasts two and a half seconds, at a rate that grouped deductions sustain.
var usualLoad = fire.Config{Orders: 300, Rate: 120, Concurrency: 64, Mix: fire.Mix{Cancel: 0.15}}

// complete adds the defaults of the matrix to a load: few products, with less stock than demand, and repeats.
func complete(load fire.Config, seed uint64) fire.Config {
	load.Timeout, load.Patience = cmp.Or(load.Timeout, callTimeout), 15*time.Second
	m := &load.Mix
	m.Goods, m.ItemsMax, m.NumMax, m.Seed = cmp.Or(m.Goods, 4), cmp.Or(m.ItemsMax, 3), cmp.Or(m.NumMax, 3), seed+1
	m.Stock, m.Repeat = cmp.Or(m.Stock, int64(load.Orders)*2/3), cmp.Or(m.Repeat, 0.15)
	return load
}

// fireOne places one order.
func fireOne(ctx context.Context, target fire.Target) (*history.History, error) {
	return fire.Run(ctx, fire.Config{
		Target: target, Orders: 1, Concurrency: 1, Timeout: callTimeout, Mix: fire.Mix{Goods: 1, Stock: 10},
		Plain: true, Patience: time.Second,
	})
}
