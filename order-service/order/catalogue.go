package order

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"orderstock/pkg/batch"
	"orderstock/pkg/operation"
)

// maxPrices bounds the number of cached prices.
const maxPrices = 10_000

// catalogue caches prices briefly. Concurrent orders that miss the cache share one call to the stock service. It does
// not cache that a product is unknown, because the product may appear at any time.
type catalogue struct {
	ttl   time.Duration
	fetch *batch.Queue[[]int64, map[int64]int64]

	mu     sync.RWMutex
	prices map[int64]price
}

type price struct {
	value int64
	until time.Time
}

func newCatalogue(stock Stock, ttl time.Duration) *catalogue {
	c := &catalogue{ttl: ttl, prices: map[int64]price{}}
	c.fetch = batch.Shared(func(ctx context.Context, ins [][]int64) (map[int64]int64, error) {
		ids := slices.Concat(ins...)
		slices.Sort(ids)
		asked := time.Now()
		prices, err := stock.Prices(ctx, slices.Compact(ids))
		if err != nil {
			return nil, err
		}
		c.remember(prices, asked.Add(ttl))
		return prices, nil
	}, batch.WithConcurrency(2), batch.WithTimeout(5*time.Second))
	return c
}

// price returns the prices of the items, or operation.ErrUnknownGoods or operation.ErrUnavailable.
func (c *catalogue) price(ctx context.Context, items []operation.Item) ([]int64, error) {
	prices := make([]int64, len(items))
	missing := c.fill(items, prices)
	if len(missing) == 0 {
		return prices, nil
	}
	fetched, err := c.fetch.Do(ctx, missing)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", operation.ErrUnavailable, err)
	}
	for i := range items {
		if _, asked := slices.BinarySearch(missing, items[i].GoodsID); !asked {
			continue
		}
		value, known := fetched[items[i].GoodsID]
		if !known {
			return nil, fmt.Errorf("%w: product %d", operation.ErrUnknownGoods, items[i].GoodsID)
		}
		prices[i] = value
	}
	return prices, nil
}

// fill sets the cached prices of the items and returns the ids of the products without one.
func (c *catalogue) fill(items []operation.Item, prices []int64) (missing []int64) {
	now := time.Now()
	c.mu.RLock()
	defer c.mu.RUnlock()
	for i := range items {
		if p, ok := c.prices[items[i].GoodsID]; ok && now.Before(p.until) {
			prices[i] = p.value
		} else {
			missing = append(missing, items[i].GoodsID)
		}
	}
	return missing
}

func (c *catalogue) remember(prices map[int64]int64, until time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.prices)+len(prices) > maxPrices {
		clear(c.prices) // each would expire soon anyway
	}
	for id, value := range prices {
		c.prices[id] = price{value, until}
	}
}
