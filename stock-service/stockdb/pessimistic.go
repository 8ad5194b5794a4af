package stockdb

import (
	"context"

	"gorm.io/gorm"

	"orderstock/pkg/operation"
	"orderstock/stock-service/stock"
)

// DeductPessimistic executes one request under the locks of its rows: it reads the levels FOR UPDATE, by ascending
// goods id, decides, and writes the new levels. Errors as for stock.Deducter.
func (s *DB) DeductPessimistic(ctx context.Context, r stock.Request) (operation.Operation, error) {
	return s.overwrite(ctx, r, func(tx *gorm.DB) (map[int64]*stock.Level, error) {
		return readLevels(tx, goodsOf(r.Items), "FOR UPDATE")
	})
}
