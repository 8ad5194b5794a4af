package stockclient

import (
	"context"
	"errors"
	"fmt"
	"time"

	"orderstock/order-service/order"
	"orderstock/pkg/operation"
	"orderstock/pkg/retry"
	"orderstock/pkg/stockapi"
)

// Deduct implements order.Stock.
func (c *Caller) Deduct(ctx context.Context, flag string, items []order.Item) (order.Operation, error) {
	wanted := unpriced(items)
	sent := stockapi.ItemsOf(wanted)
	op, err := c.write(ctx, func(ctx context.Context) (stockapi.Operation, error) {
		return c.client.Deduct(ctx, flag, sent)
	})
	c.held.Learn(wanted, err)
	return op, err
}

func unpriced(items []order.Item) []operation.Item {
	bare := make([]operation.Item, len(items))
	for i, item := range items {
		bare[i] = operation.Item{GoodsID: item.GoodsID, Num: item.Num}
	}
	return bare
}

// Cancel implements order.Stock.
func (c *Caller) Cancel(ctx context.Context, flag string) (order.Operation, error) {
	op, err := c.write(ctx, func(ctx context.Context) (stockapi.Operation, error) {
		return c.client.Cancel(ctx, flag)
	})
	c.held.Learn(nil, err)
	return op, err
}

// lockedPause is the pause after a try that met a held row: a transaction that is merely busy ends in that time.
const lockedPause = 300 * time.Millisecond

// write sends a request, repeatable by its flag, until it is answered, the tries or the budget are used up, or ctx
// ends. A held row costs no budget: few orders that want it pass Refuses.
func (c *Caller) write(
	ctx context.Context, send func(context.Context) (stockapi.Operation, error),
) (order.Operation, error) {
	c.counts.calls.Inc()
	c.budget.deposit()
	mayHaveBeenDone, tries := false, uint(0)
	again := retry.Policy{First: 50 * time.Millisecond, Max: time.Second, Tries: c.cfg.Tries, InTime: true}
	op, err := retry.Do(ctx, again, func() (stockapi.Operation, error) {
		op, err := c.try(stockapi.Again(ctx, int(tries)), send)
		tries++
		if err == nil {
			return op, nil
		}
		mayHaveBeenDone = mayHaveBeenDone || unknown(err)
		if stockapi.Final(err) || breakerOpen(err) || errors.Is(err, stockapi.ErrUnauthorized) {
			return op, retry.Stop(err)
		}
		if errors.Is(err, operation.ErrLocked) {
			return op, retry.After(err, lockedPause)
		}
		if tries < c.cfg.Tries && !c.budget.withdraw() {
			c.counts.noBudget.Inc()
			return op, retry.Stop(err)
		}
		if after := stockapi.RetryAfter(err); after > 0 {
			return op, retry.After(err, after)
		}
		return op, err
	})
	if err != nil {
		return order.Operation{}, domain(err, mayHaveBeenDone)
	}
	out, err := outcome(op)
	if err != nil {
		return order.Operation{}, fmt.Errorf("%w: %w", order.ErrOutcomeUnknown, err)
	}
	return out, nil
}

// try sends the request once, for at most the timeout of one try.
func (c *Caller) try(
	ctx context.Context, send func(context.Context) (stockapi.Operation, error),
) (stockapi.Operation, error) {
	if deadline, ok := ctx.Deadline(); !ok || time.Until(deadline) > c.cfg.Timeout {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, c.cfg.Timeout)
		defer cancel()
	}
	op, err := send(ctx)
	if breakerOpen(err) {
		c.counts.broken.Inc()
		return op, err
	}
	c.counts.tries.Inc()
	if err != nil && !stockapi.Final(err) && !errors.Is(err, operation.ErrLocked) {
		c.counts.failed.Inc()
	}
	return op, err
}

// outcome converts the stock service's operation into the port's.
func outcome(op stockapi.Operation) (order.Operation, error) {
	items, err := stockapi.ParseItems(op.Items)
	if err != nil {
		return order.Operation{}, fmt.Errorf("read answer: %w", err)
	}
	out := order.Operation{State: op.State, Reason: op.Reason, Items: make([]order.Item, len(items))}
	for i, item := range items {
		out.Items[i] = order.Item{GoodsID: item.GoodsID, Num: item.Num}
	}
	return out, nil
}
