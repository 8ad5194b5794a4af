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

// Locked runs fn under the lock of the name, as the commands do.
func Locked(ctx context.Context, db *sql.DB, name string, fn func(context.Context) error) error {
	return locked(ctx, db, name, fn)
}

// Open opens the server as the commands do.
func Open(dsn, database string) (*sql.DB, error) { return open(dsn, nil, database) }

// IdleTimeout is how long the server keeps a silent connection of the commands.
const IdleTimeout = idleTimeout
