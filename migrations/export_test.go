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

// UpTo brings db to that version of a schema.
func UpTo(ctx context.Context, db *sql.DB, which string, version int64) error {
	provider, err := newProvider(db, which)
	if err == nil {
		_, err = provider.UpTo(ctx, version)
	}
	return err
}
