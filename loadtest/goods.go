package loadtest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/cenkalti/backoff/v5"
	"golang.org/x/sync/errgroup"

	"orderstock/pkg/stockapi"
)

// makeGoods makes the goods of a run, with ids that no run had before, and
// gives each its stock: a restock of the ledger like any other.
func makeGoods(ctx context.Context, cfg FireConfig, run string, now time.Time) ([]Goods, error) {
	goods := make([]Goods, cfg.Mix.Goods)
	first := now.UnixMilli()*1_000_000 + 1 // room for a million goods in each millisecond
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(16)
	for i := range goods {
		goods[i] = Goods{ID: first + int64(i), Stock: cfg.Mix.Stock, Price: 100 + 37*int64(i%250)}
		group.Go(func() error { return restock(ctx, cfg, run, i, goods[i]) })
	}
	if err := group.Wait(); err != nil {
		return nil, fmt.Errorf("make goods: %w", err)
	}
	return goods, nil
}

func restock(ctx context.Context, cfg FireConfig, run string, i int, g Goods) error {
	name := "load test " + run
	body, err := json.Marshal(stockapi.RestockRequest{Flag: restockFlag(run, i), Num: g.Stock, Name: &name, Price: &g.Price})
	if err != nil {
		return fmt.Errorf("encode restock: %w", err)
	}
	w, err := newWire(cfg.StockURLs[i%len(cfg.StockURLs)], cfg.Timeout)
	if err != nil {
		return err
	}
	defer w.close()
	r := request{
		method: http.MethodPost, path: "/v1/stock/" + strconv.FormatInt(g.ID, 10) + "/restock",
		header: authorization(cfg.StockToken), body: body,
	}
	// The flag makes it safe to try again.
	return retry(ctx, func() error {
		a, err := w.do(ctx, r)
		if err != nil {
			return fmt.Errorf("restock goods %d: %w", g.ID, err)
		}
		if a.code != http.StatusOK && a.code != http.StatusCreated {
			err := fmt.Errorf("restock goods %d: %d %s", g.ID, a.code, a.body)
			if a.code < 500 {
				return backoff.Permanent(err)
			}
			return err
		}
		var told stockapi.Goods
		if err := json.Unmarshal(a.body, &told); err != nil {
			return backoff.Permanent(fmt.Errorf("restock goods %d: read answer: %w", g.ID, err))
		}
		if told.Num != g.Stock {
			return backoff.Permanent(fmt.Errorf("goods %d are not new: %d pieces after a restock of %d", g.ID, told.Num, g.Stock))
		}
		return nil
	})
}

func restockFlag(run string, i int) string { return "restock-" + run + "-" + strconv.Itoa(i) }

func authorization(token string) []byte {
	return []byte("Authorization: Bearer " + token + "\r\n")
}

// retry calls fn until it returns nil, a permanent error, or 20 s are over.
func retry(ctx context.Context, fn func() error) error {
	_, err := backoff.Retry(ctx, func() (struct{}, error) { return struct{}{}, fn() },
		backoff.WithMaxElapsedTime(20*time.Second))
	var permanent *backoff.PermanentError
	if errors.As(err, &permanent) {
		return permanent.Err
	}
	return err
}
