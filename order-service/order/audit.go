package order

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"orderstock/pkg/operation"
)

const (
	// auditEvery is the pause between two audits.
	auditEvery = 30 * time.Second
	// auditBatch bounds the orders of one audit: one page by primary key in this database, and one or two requests by
	// primary key to the stock service.
	auditBatch = 200
)

// Audit compares the next orders, by ascending id, with their operations in the stock service, and begins again after
// the last. It counts in Stats the orders compared and the disagreements: each order that differs from its operation,
// and each product of these orders with a level below zero. After an error the next audit begins with the same orders.
func (r *Reconciler) Audit(ctx context.Context) error {
	page, more, err := r.service.store.Page(ctx, Range{After: r.audited, Limit: auditBatch})
	if err != nil {
		return fmt.Errorf("audit: %w", err)
	}
	var (
		all   errgroup.Group // concurrent calls share a request
		goods []int64
	)
	for _, o := range page {
		for _, item := range o.Items {
			goods = append(goods, item.GoodsID)
		}
		all.Go(func() error {
			agrees, err := r.service.agrees(ctx, o)
			if err != nil {
				return err
			}
			r.service.stats.BooksChecked.Add(1)
			if !agrees {
				r.service.stats.BooksWrong.Add(1)
				r.log.Error("an order and its operation disagree", "order_id", o.ID)
			}
			return nil
		})
	}
	slices.Sort(goods)
	oversold, err := r.service.stock.Oversold(ctx, slices.Compact(goods))
	for _, id := range oversold {
		r.service.stats.BooksWrong.Add(1)
		r.log.Error("the level of a product is below zero", "goods_id", id)
	}
	if err := errors.Join(err, all.Wait()); err != nil {
		return fmt.Errorf("audit: %w", err)
	}
	r.audited = 0
	if more {
		r.audited = page[len(page)-1].ID
	}
	return nil
}

// agrees reports whether the order matches its operation. Either may change between the two reads, so agrees reads both
// again, order first, before it reports a disagreement.
func (s *Service) agrees(ctx context.Context, o Order) (bool, error) {
	for range 3 {
		op, found, err := s.stock.Recorded(ctx, o.Flag())
		if err == nil && o.agreesWith(op, found) {
			return true, nil
		}
		if err != nil && !errors.Is(err, operation.ErrBooksDisagree) {
			return false, err
		}
		o, err = s.store.Get(ctx, o.ID)
		if errors.Is(err, ErrNotFound) { // deleted with its operation, after it was read
			return true, nil
		}
		if err != nil {
			return false, err
		}
	}
	return false, nil
}

func (o Order) agreesWith(op operation.Operation, found bool) bool {
	switch o.Status {
	case Pending, Cancelling:
		return true // not settled yet
	case Cancelled:
		return o.Reason == ReasonConflict ||
			found && (op.State == operation.Cancelled || op.State == operation.Restored)
	case Confirmed:
		return found && op.State == operation.Done && belongs(op, o)
	case Rejected:
		return found && op.State == operation.Rejected && belongs(op, o)
	}
	return false
}
