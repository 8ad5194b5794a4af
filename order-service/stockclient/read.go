package stockclient

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"orderstock/order-service/order"
	"orderstock/pkg/operation"
	"orderstock/pkg/retry"
	"orderstock/pkg/stockapi"
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
	op    order.Operation
	found bool
	err   error
}

// Recorded implements order.Stock. Concurrent calls share one request. It is not retried, because callers poll.
func (c *Caller) Recorded(ctx context.Context, flag string) (order.Operation, bool, error) {
	r, err := c.ledger.Do(ctx, flag)
	if err != nil {
		return order.Operation{}, false, fmt.Errorf("%w: read flows: %w", order.ErrStockUnavailable, err)
	}
	return r.op, r.found, r.err
}

func (c *Caller) readLedger(ctx context.Context, flags []string) ([]record, error) {
	flows, err := c.client.Flows(ctx, flags...)
	if err != nil {
		return nil, err
	}
	deducted := map[string][]stockapi.Item{}
	for _, f := range flows.Flows {
		if f.Kind == operation.KindDeduct {
			deducted[f.Flag] = append(deducted[f.Flag], stockapi.Item{GoodsID: f.GoodsID, Num: -f.Num})
		}
	}
	found := make(map[string]record, len(flows.Operations))
	for _, wire := range flows.Operations {
		op, err := outcome(wire)
		if err != nil { // a record exists, but nothing may be decided by it
			err = fmt.Errorf("%w: operation of flag %s: %w", order.ErrBooksDisagree, wire.Flag, err)
		} else if !complete(wire, deducted[wire.Flag]) {
			err = fmt.Errorf("%w: flows of flag %s are not its operation's items", order.ErrBooksDisagree, wire.Flag)
		}
		found[wire.Flag] = record{op, true, err}
	}
	records := make([]record, len(flags))
	for i, flag := range flags {
		records[i] = found[flag]
	}
	return records, nil
}

// complete reports whether a deduction has exactly its flow rows. The stock service writes both in one transaction, so
// a difference is a reason to decide nothing.
func complete(op stockapi.Operation, deducted []stockapi.Item) bool {
	if op.State != operation.Done || slices.Equal(op.Items, deducted) {
		return true
	}
	byGoods := func(a, b stockapi.Item) int { return strings.Compare(a.GoodsID, b.GoodsID) }
	items := slices.Clone(op.Items)
	slices.SortFunc(items, byGoods)
	slices.SortFunc(deducted, byGoods)
	return slices.Equal(items, deducted)
}

// Prices implements order.Stock. It tries twice.
func (c *Caller) Prices(ctx context.Context, goodsIDs []int64) (map[int64]int64, error) {
	prices := make(map[int64]int64, len(goodsIDs))
	err := c.eachGoods(ctx, goodsIDs, func(id int64, g stockapi.Goods) { prices[id] = g.Price })
	if err != nil {
		return nil, fmt.Errorf("%w: read prices: %w", order.ErrStockUnavailable, err)
	}
	return prices, nil
}

// Oversold implements order.Stock. It tries twice.
func (c *Caller) Oversold(ctx context.Context, goodsIDs []int64) (oversold []int64, err error) {
	err = c.eachGoods(ctx, goodsIDs, func(id int64, g stockapi.Goods) {
		if g.Num < 0 {
			oversold = append(oversold, id)
		}
	})
	if err != nil {
		return nil, fmt.Errorf("%w: read levels: %w", order.ErrStockUnavailable, err)
	}
	return oversold, nil
}

// eachGoods calls do for each product that the stock service knows.
func (c *Caller) eachGoods(ctx context.Context, goodsIDs []int64, do func(id int64, g stockapi.Goods)) error {
	for chunk := range slices.Chunk(goodsIDs, maxGoods) {
		goods, err := c.goods(ctx, chunk)
		if err != nil {
			return err
		}
		for _, g := range goods {
			id, err := operation.ParseGoodsID(g.GoodsID)
			if err != nil {
				return err
			}
			do(id, g)
		}
	}
	return nil
}

func (c *Caller) goods(ctx context.Context, goodsIDs []int64) ([]stockapi.Goods, error) {
	ids := make([]string, len(goodsIDs))
	for i, id := range goodsIDs {
		ids[i] = strconv.FormatInt(id, 10)
	}
	c.reads.deposit()
	tries := uint(0)
	again := retry.Policy{First: 10 * time.Millisecond, Max: 10 * time.Millisecond, Tries: readTries, InTime: true}
	return retry.Do(ctx, again, func() ([]stockapi.Goods, error) {
		ctx, cancel := context.WithTimeout(ctx, c.cfg.Timeout)
		defer cancel()
		goods, err := c.client.Stock(ctx, ids...)
		tries++
		if err != nil && (breakerOpen(err) || stockapi.Final(err) || tries < readTries && !c.reads.withdraw()) {
			err = retry.Stop(err)
		}
		return goods, err
	})
}
