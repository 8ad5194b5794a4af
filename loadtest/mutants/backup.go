package mutants

import (
	"context"
	"database/sql"
	"fmt"
)

// execer runs statements.
type execer interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
}

// backup keeps copies of tables in the same database. The zero value is ready.
type backup struct{ undo []func(context.Context) error }

func (b *backup) take(ctx context.Context, db execer, tables []string) error {
	for _, table := range tables {
		for _, statement := range []string{
			"DROP TABLE IF EXISTS copy_of_" + table,
			"CREATE TABLE copy_of_" + table + " LIKE " + table, "INSERT INTO copy_of_" + table + " SELECT * FROM " + table,
		} {
			if _, err := db.ExecContext(ctx, statement); err != nil {
				return fmt.Errorf("back up %s: %w", table, err)
			}
		}
		b.undo = append(b.undo, func(ctx context.Context) error {
			for _, statement := range []string{
				"DELETE FROM " + table,
				"INSERT INTO " + table + " SELECT * FROM copy_of_" + table, "DROP TABLE copy_of_" + table,
			} {
				if _, err := db.ExecContext(ctx, statement); err != nil {
					return fmt.Errorf("put %s back: %w", table, err)
				}
			}
			return nil
		})
	}
	return nil
}

func (b *backup) putBack(ctx context.Context) error {
	for _, undo := range b.undo {
		if err := undo(ctx); err != nil {
			return err
		}
	}
	return nil
}
