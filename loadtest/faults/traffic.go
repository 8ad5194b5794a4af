package faults

import (
	"cmp"
	"context"
	"path/filepath"

	"orderstock/loadtest/fire"
	"orderstock/loadtest/history"
	"orderstock/loadtest/lab"
)

// traffic is orders fired in the background.
type traffic struct {
	history *history.History
	err     error
	done    chan struct{}
	stop    context.CancelFunc // stops sending orders
}

// startTraffic fires the orders of a load over few products, with less stock than demand, repeats and cancellations.
func startTraffic(ctx context.Context, l *lab.Lab, load Load, seed uint64) *traffic {
	t := &traffic{done: make(chan struct{})}
	ctx, t.stop = context.WithCancel(ctx)
	cfg := fire.Config{
		Target: l.Target(),
		Orders: load.Orders, Rate: load.PerS, Concurrency: load.Clients, Timeout: callTimeout, Insist: load.Insist,
		Mix: fire.Mix{
			Goods: 4, Stock: cmp.Or(load.Stock, int64(load.Orders)*2/3), ItemsMax: 3, NumMax: 3,
			Several: load.Several, Repeat: cmp.Or(load.Repeat, usualRepeat), Cancel: load.Cancel, Seed: seed + 1,
		},
	}
	go func() {
		defer close(t.done)
		if t.history, t.err = fire.Run(ctx, cfg); t.err == nil {
			t.err = t.history.Save(filepath.Join(l.ServicesDir(), "history.jsonl")) // next to the services' logs
		}
	}()
	return t
}

// wait returns once the last call is answered or given up.
func (t *traffic) wait() (*history.History, error) {
	<-t.done
	t.stop()
	return t.history, t.err
}

// fireOne places one order.
func fireOne(ctx context.Context, target fire.Target) (*history.History, error) {
	return fire.Run(ctx, fire.Config{
		Target: target, Orders: 1, Concurrency: 1, Timeout: callTimeout, Mix: fire.Mix{Goods: 1, Stock: 10},
	})
}
