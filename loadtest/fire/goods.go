package fire

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"orderstock/loadtest/history"
	"orderstock/pkg/operation"
	"orderstock/pkg/retry"
)

// makeGoods creates the products of a run under fresh ids, and stocks each by a restock, a ledger entry like any other.
func makeGoods(ctx context.Context, cfg Config, h *history.History, now time.Time) error {
	if err := reachable(ctx, cfg); err != nil {
		return err
	}
	h.Goods = make([]history.Goods, cfg.Mix.Goods)
	first := now.UnixMilli()*1_000_000 + 1 // room for a million products in each millisecond
	for i := range h.Goods {
		h.Goods[i] = history.Goods{ID: first + int64(i), Stock: cfg.Mix.Stock, Price: 100 + 37*int64(i%250)}
	}
	if first := &h.Goods[history.Repriced]; !cfg.Plain && cfg.repriceAfter() >= 0 && first.Stock > history.MorePieces {
		first.Stock -= history.MorePieces // they come later
		h.Reprices = true
	}
	var next atomic.Int64
	group, ctx := errgroup.WithContext(ctx)
	for n := range min(16, len(h.Goods)) {
		group.Go(func() error {
			stock := newReplicas(cfg.StockURLs, cfg.Timeout, n)
			defer stock.close()
			for {
				i := int(next.Add(1)) - 1
				if i >= len(h.Goods) {
					return nil
				}
				if err := restock(ctx, cfg, &stock, h, i); err != nil {
					return fmt.Errorf("make product %d: %w", h.Goods[i].ID, err)
				}
			}
		})
	}
	return group.Wait()
}

// reachable returns an error if the run cannot begin: ErrUnreachable, or another one if something else than the
// services answers at their addresses.
func reachable(ctx context.Context, cfg Config) error {
	err := check(ctx, cfg.StockURLs, cfg.Timeout, "stock service", "/v1/stock")
	if err != nil || cfg.Path == history.PathDeduct || cfg.Place != nil {
		return err
	}
	return check(ctx, cfg.OrderURLs, cfg.Timeout, "order service", "/v1/orders")
}

// restock stocks one product of the run. Its flag makes it safe to retry.
func restock(ctx context.Context, cfg Config, stock *replicas, h *history.History, i int) error {
	q := restockCall(h.Restock(i))
	r := request{
		method: q.route.Method, path: q.path, header: authorization(cfg.StockToken), body: []byte(q.body),
	}
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	policy := retry.Policy{First: 200 * time.Millisecond, Max: 2 * time.Second, InTime: true}
	return retry.Run(ctx, policy, func() error {
		a, err := stock.do(ctx, r)
		if err != nil {
			return err
		}
		if a.code != http.StatusOK && a.code != http.StatusCreated {
			err := fmt.Errorf("code %d %s", a.code, a.body)
			if a.code < 500 {
				return retry.Stop(err)
			}
			return err
		}
		var told operation.Goods
		if err := json.Unmarshal(a.body, &told); err != nil {
			return retry.Stop(fmt.Errorf("read answer: %w", err))
		}
		if told.Num != h.Goods[i].Stock {
			return retry.Stop(fmt.Errorf("not new: %d pieces after a restock of %d", told.Num, h.Goods[i].Stock))
		}
		return nil
	})
}

func authorization(token string) []byte {
	return []byte("Authorization: Bearer " + token + "\r\n")
}
