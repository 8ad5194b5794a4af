package migrations

import (
	"context"
	"database/sql"
	"time"
)

// PruneIn prunes with the connections given.
func PruneIn(ctx context.Context, orders, stock *sql.DB, before time.Time) (int, error) {
	p := pruner{orders: orders, stock: stock, before: before}
	err := locked(ctx, orders, "prune", p.run)
	return p.count, err
}
