package stockapi

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"time"

	"orderstock/pkg/operation"
	"orderstock/pkg/retry"
)

const (
	// maxFlags bounds the flags of one request, which keeps its URL short. The service takes up to 500.
	maxFlags = 200
	// maxGoods bounds the products of one request.
	maxGoods = 400
	// readTries bounds the tries of a read of products.
	readTries = 2
)

// record is a flag's record in the ledger. found is false if there is none; err is not nil if the record contradicts
// itself.
type record struct {
	op    operation.Operation
	found bool
	err   error
}

// Flows returns the operations and the flow rows under the flags, at most 500.
func (c *Client) Flows(ctx context.Context, flags ...string) (FlowsResponse, error) {
	return call[FlowsResponse](ctx, c, 0, reads, http.MethodGet, "/v1/flows?"+url.Values{"flag": flags}.Encode(), nil)
}

// Stock returns the products with these ids, at most 500, by ascending id. Unknown ones are missing.
func (c *Client) Stock(ctx context.Context, goodsIDs ...int64) ([]operation.Goods, error) {
	query := url.Values{}
	for _, id := range goodsIDs {
		query.Add("goods_id", operation.FormatGoodsID(id))
	}
	page, err := call[StockResponse](ctx, c, 0, reads, http.MethodGet, "/v1/stock?"+query.Encode(), nil)
	return page.Goods, err
}

// Recorded returns the flag's operation in the ledger, and whether there is one. It returns ErrBooksDisagree if the
// operation contradicts its flow rows, and ErrUnavailable. Concurrent calls share one request. It is not retried,
// because callers poll.
func (c *Client) Recorded(ctx context.Context, flag string) (operation.Operation, bool, error) {
	r, err := c.ledger.Do(ctx, flag)
	if err != nil {
		return operation.Operation{}, false, unread("flows", err)
	}
	return r.op, r.found, r.err
}

// unread returns the error of a failed read. A read changes nothing, so its cause shows no other code.
func unread(what string, err error) error {
	return fmt.Errorf("%w: read %s: %v", operation.ErrUnavailable, what, err) //nolint:errorlint // for the reason given
}

func (c *Client) readLedger(ctx context.Context, flags []string) ([]record, error) {
	flows, err := c.Flows(ctx, flags...)
	if err != nil {
		return nil, err
	}
	deducted := map[string][]operation.Item{}
	for _, f := range flows.Flows {
		if f.Kind == operation.KindDeduct {
			deducted[f.Flag] = append(deducted[f.Flag], operation.Item{GoodsID: f.GoodsID, Num: -f.Num})
		}
	}
	found := make(map[string]record, len(flows.Operations))
	for _, op := range flows.Operations {
		var err error
		if !complete(op, deducted[op.Flag]) { // a record exists, but nothing may be decided by it
			err = fmt.Errorf("%w: flows of flag %s are not its operation's items", operation.ErrBooksDisagree, op.Flag)
		}
		found[op.Flag] = record{op, true, err}
	}
	records := make([]record, len(flags))
	for i, flag := range flags {
		records[i] = found[flag]
	}
	return records, nil
}

// complete reports whether a deduction has exactly its flow rows. The stock service writes both in one transaction, so
// a difference is a reason to decide nothing.
func complete(op operation.Operation, deducted []operation.Item) bool {
	if op.State != operation.Done || slices.Equal(op.Items, deducted) {
		return true
	}
	byGoods := func(a, b operation.Item) int { return cmp.Compare(a.GoodsID, b.GoodsID) }
	items := slices.Clone(op.Items)
	slices.SortFunc(items, byGoods)
	slices.SortFunc(deducted, byGoods)
	return slices.Equal(items, deducted)
}

// Prices returns the price of each product; unknown ones are missing. It tries twice, and may return ErrUnavailable.
func (c *Client) Prices(ctx context.Context, goodsIDs []int64) (map[int64]int64, error) {
	goods, err := c.goods(ctx, "prices", goodsIDs)
	prices := make(map[int64]int64, len(goods))
	for _, g := range goods {
		prices[g.GoodsID] = g.Price
	}
	return prices, err
}

// Oversold returns the products whose level is below zero. It tries twice, and may return ErrUnavailable.
func (c *Client) Oversold(ctx context.Context, goodsIDs []int64) (oversold []int64, err error) {
	goods, err := c.goods(ctx, "levels", goodsIDs)
	for _, g := range goods {
		if g.Num < 0 {
			oversold = append(oversold, g.GoodsID)
		}
	}
	return oversold, err
}

// goods returns all of the products that the stock service knows, or unread(what).
func (c *Client) goods(ctx context.Context, what string, goodsIDs []int64) (all []operation.Goods, err error) {
	for chunk := range slices.Chunk(goodsIDs, maxGoods) {
		goods, err := c.page(ctx, chunk)
		if err != nil {
			return nil, unread(what, err)
		}
		all = append(all, goods...)
	}
	return all, nil
}

func (c *Client) page(ctx context.Context, goodsIDs []int64) ([]operation.Goods, error) {
	c.reads.deposit()
	tries := 0
	again := retry.Policy{First: 10 * time.Millisecond, Max: 10 * time.Millisecond, Tries: readTries, InTime: true}
	return retry.Do(ctx, again, func() ([]operation.Goods, error) {
		ctx, cancel := context.WithTimeout(ctx, c.cfg.Timeout)
		defer cancel()
		goods, err := c.Stock(ctx, goodsIDs...)
		tries++
		final := errors.Is(err, errBreakerOpen) || operation.CodeOf(err).Scope() == operation.Final
		if err != nil && (final || tries < readTries && !c.reads.withdraw()) {
			err = retry.Stop(err)
		}
		return goods, err
	})
}
