package demo

import (
	"context"
	"database/sql"
)

// stockFirst looks at the stock before the key. A buyer who has one of the last pieces, and repeats the order, is
// answered "sold out".
func stockFirst(ctx context.Context, db *sql.DB) func(string, int) answer {
	decide := right(ctx, db)
	return func(key string, pieces int) answer {
		if level, err := available(ctx, db); err != nil || level < pieces {
			return refused(err)
		}
		return decide(key, pieces)
	}
}
