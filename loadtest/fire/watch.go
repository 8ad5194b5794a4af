package fire

import (
	"context"
	"net/http"
	"slices"
	"sync"
	"time"

	"orderstock/loadtest/history"
)

const (
	// watchEvery is the pause between two questions whether a replica is ready, and watchLimit bounds each.
	watchEvery = 100 * time.Millisecond
	watchLimit = time.Second
)

// watch asks each replica whether it is ready. The calls alone do not show that a stock service is away, nor an order
// service that another one stands in for. stop ends it, and returns when each was away.
func (f *firing) watch(ctx context.Context) (stop func() []history.Away) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	urls := slices.Concat(f.cfg.OrderURLs, f.cfg.StockURLs)
	away := make([][]history.Away, len(urls))
	var watching sync.WaitGroup
	for i, url := range urls {
		watching.Go(func() { away[i] = f.watchOne(ctx, url) })
	}
	return func() []history.Away {
		cancel()
		watching.Wait()
		return slices.Concat(away...)
	}
}

// watchOne watches one replica until ctx ends. It was away from the last answer that it was ready to the next one,
// unless that came on the same connection.
func (f *firing) watchOne(ctx context.Context, url string) (away []history.Away) {
	c := newConn(url, watchLimit)
	defer c.close()
	last, here := time.Duration(0), true
	for ctx.Err() == nil {
		a, err := c.do(ctx, request{method: http.MethodGet, path: "/readyz"})
		now := time.Since(f.start)
		ready := err == nil && a.code != http.StatusServiceUnavailable
		if !ready && ctx.Err() != nil {
			break // the connection was not made for this reason
		}
		if here && (!ready || a.resent) {
			away = append(away, history.Away{Address: url, From: last, Announced: err == nil && !a.resent})
		}
		if !ready || !here || a.resent {
			away[len(away)-1].To = now
		}
		if here = ready; ready {
			last = now
		}
		sleepUntil(ctx, time.Now().Add(watchEvery))
	}
	return away
}
