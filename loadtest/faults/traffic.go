package faults

import (
	"cmp"
	"context"
	"path/filepath"

	"orderstock/loadtest"
	"orderstock/loadtest/lab"
)

// traffic is orders being fired while something else goes on.
type traffic struct {
	report *loadtest.Report
	err    error
	done   chan struct{}
}

// startTraffic fires the orders of a load over few goods, with less stock than
// is asked for, repeats and cancellations.
func startTraffic(ctx context.Context, l *lab.Lab, load Load, seed uint64) *traffic {
	t := &traffic{done: make(chan struct{})}
	cfg := loadtest.FireConfig{
		OrderURLs: l.OrderURLs(), StockURLs: l.StockURLs(), StockToken: l.Token(),
		Orders: load.Orders, Rate: load.PerS, Concurrency: load.Clients, Timeout: callTimeout,
		HistoryPath: filepath.Join(l.ServicesDir(), "history.jsonl"), // of the last run, beside the services' logs
		Mix:         loadtest.Mix{Goods: 4, Stock: int64(load.Orders) * 2 / 3, ItemsMax: 3, NumMax: 3, Repeat: cmp.Or(load.Repeat, usualRepeat), Cancel: load.Cancel, Seed: seed + 1},
	}
	go func() {
		defer close(t.done)
		t.report, t.err = loadtest.Fire(ctx, cfg)
	}()
	return t
}

// wait returns once the last call is answered or given up.
func (t *traffic) wait() (*loadtest.Report, error) {
	<-t.done
	return t.report, t.err
}
