package stockdb

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"gorm.io/gorm"

	"orderstock/pkg/batch"
	"orderstock/pkg/mysqldb"
	"orderstock/pkg/operation"
)

// reads lets concurrent readers share a statement. Each gets the results of all, by flag.
type reads[V any] = batch.Queue[[]string, map[string]V]

func newReads[V any](look func(ctx context.Context, flags []string) (map[string]V, error)) *reads[V] {
	return batch.Shared(func(ctx context.Context, calls [][]string) (map[string]V, error) {
		return look(ctx, slices.Concat(calls...))
	}, batch.WithTimeout(readLimit))
}

// shared waits for a shared read. A read changes nothing, so every failure is ErrUnavailable or ErrOverloaded.
func shared[V any](ctx context.Context, queue *reads[V], flags []string) (map[string]V, error) {
	found, err := queue.Do(ctx, flags)
	switch {
	case err == nil:
		return found, nil
	case errors.Is(err, batch.ErrFull):
		return nil, fmt.Errorf("%w: %w", operation.ErrOverloaded, err)
	}
	return nil, fmt.Errorf("%w: %w", operation.ErrUnavailable, err)
}

// Find implements stock.Ledger. Concurrent calls share one statement.
func (s *DB) Find(ctx context.Context, flags ...string) (map[string]operation.Operation, error) {
	all, err := shared(ctx, s.finds, flags)
	if err != nil {
		return nil, err
	}
	found := make(map[string]operation.Operation, len(flags))
	for _, flag := range flags {
		if op, ok := all[flag]; ok {
			found[flag] = op
		}
	}
	return found, nil
}

// Flows implements stock.Ledger. Concurrent calls share one statement.
func (s *DB) Flows(ctx context.Context, flags ...string) ([]operation.Flow, error) {
	all, err := shared(ctx, s.flows, flags)
	if err != nil {
		return nil, err
	}
	flows := []operation.Flow{}
	for _, flag := range slices.Compact(slices.Sorted(slices.Values(flags))) {
		flows = append(flows, all[flag]...)
	}
	return flows, nil
}

func (s *DB) findOperations(ctx context.Context, flags []string) (map[string]operation.Operation, error) {
	return findOperations(s.db.WithContext(ctx), flags)
}

func findOperations(db *gorm.DB, flags []string) (map[string]operation.Operation, error) {
	found := make(map[string]operation.Operation)
	for flags := range mysqldb.Lists(flags) {
		var rows []operationRow
		err := db.Raw("SELECT flag, state, reason, items, fencing_token FROM operations WHERE flag IN ?", flags).
			Find(&rows).Error
		if err != nil {
			return nil, fmt.Errorf("find operations: %w", err)
		}
		for _, row := range rows {
			op, err := row.domain()
			if err != nil {
				return nil, err
			}
			found[row.Flag] = op
		}
	}
	return found, nil
}

func (s *DB) findFlows(ctx context.Context, flags []string) (map[string][]operation.Flow, error) {
	flags = slices.Compact(slices.Sorted(slices.Values(flags))) // a flag twice would be read twice
	found := make(map[string][]operation.Flow, len(flags))
	for flags := range mysqldb.Lists(flags) {
		var rows []operation.Flow
		query := s.db.WithContext(ctx).Table("stock_flow").Where("flag IN ?", flags)
		if err := query.Order("flag, goods_id, kind").Find(&rows).Error; err != nil {
			return nil, fmt.Errorf("find flows: %w", err)
		}
		for _, row := range rows {
			found[row.Flag] = append(found[row.Flag], row)
		}
	}
	return found, nil
}

// Goods implements stock.Ledger.
func (s *DB) Goods(ctx context.Context, ids ...int64) ([]operation.Goods, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	return findGoods(s.db.WithContext(ctx).Where("goods_id IN ?", ids))
}

// GoodsAfter implements stock.Ledger.
func (s *DB) GoodsAfter(ctx context.Context, after int64, limit int) ([]operation.Goods, error) {
	return findGoods(s.db.WithContext(ctx).Where("goods_id > ?", after).Limit(limit))
}

// findGoods returns the products of the query, by ascending id, or ErrUnavailable.
func findGoods(query *gorm.DB) (goods []operation.Goods, err error) {
	if err := query.Table("stock").Order("goods_id").Find(&goods).Error; err != nil {
		return nil, fmt.Errorf("%w: read stock: %w", operation.ErrUnavailable, err)
	}
	return goods, nil
}
