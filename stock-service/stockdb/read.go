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

// Find implements stock.Ledger. Concurrent calls share one statement. A read changes nothing, so every failure is
// ErrUnavailable or ErrOverloaded.
func (s *DB) Find(ctx context.Context, flags ...string) (map[string]operation.Operation, error) {
	all, err := s.finds.Do(ctx, flags)
	if errors.Is(err, batch.ErrFull) {
		return nil, fmt.Errorf("%w: %w", operation.ErrOverloaded, err)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", operation.ErrUnavailable, err)
	}
	found := make(map[string]operation.Operation, len(flags))
	for _, flag := range flags {
		if op, ok := all[flag]; ok {
			found[flag] = op
		}
	}
	return found, nil
}

// Flows implements stock.Ledger.
func (s *DB) Flows(ctx context.Context, flags ...string) ([]operation.Flow, error) {
	flags = slices.Compact(slices.Sorted(slices.Values(flags))) // a flag twice would be read twice
	flows := make([]operation.Flow, 0, len(flags))
	columns := func(f *operation.Flow) []any { return []any{&f.Flag, &f.GoodsID, &f.Kind, &f.Num, &f.CreatedAt} }
	for flow, err := range mysqldb.RowsIn(s.db.WithContext(ctx), columns,
		"SELECT "+flowTable.Columns+" FROM stock_flow WHERE flag IN ? ORDER BY flag, goods_id, kind", flags) {
		if err != nil {
			return nil, fmt.Errorf("%w: find flows: %w", operation.ErrUnavailable, err)
		}
		flows = append(flows, flow)
	}
	return flows, nil
}

func findOperations(db *gorm.DB, flags []string) (map[string]operation.Operation, error) {
	found := make(map[string]operation.Operation, len(flags))
	columns := func(r *operationRow) []any { return []any{&r.flag, &r.state, &r.reason, &r.items, &r.token} }
	for row, err := range mysqldb.RowsIn(db, columns,
		"SELECT flag, state, reason, items, fencing_token FROM operations WHERE flag IN ?", flags) {
		if err != nil {
			return nil, fmt.Errorf("find operations: %w", err)
		}
		if found[row.flag], err = row.domain(); err != nil {
			return nil, err
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
