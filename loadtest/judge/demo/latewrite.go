package demo

import (
	"context"
	"database/sql"
	"sync"
	"time"
)

// lateWrite takes the pieces and answers, and writes the order a while after that. A kill forgets orders that were
// acknowledged.
func lateWrite(ctx context.Context, db *sql.DB) func(string, int) answer {
	var mu sync.Mutex
	answers, last := map[string]answer{}, int64(0)
	return func(key string, pieces int) answer {
		mu.Lock()
		defer mu.Unlock()
		if a, found := answers[key]; found {
			return a
		}
		if a, found := recorded(ctx, db, key); found {
			return a
		}
		taken, err := take(ctx, db, pieces)
		if err != nil || !taken {
			answers[key] = refused(err)
			return answers[key]
		}
		last = max(last+1, time.Now().UnixMicro())
		id := last
		answers[key] = confirmed(id)
		time.AfterFunc(writtenAfter, func() {
			_ = within(ctx, db, func(tx *sql.Tx) (answer, error) { // nobody is there to see an error
				_, err := tx.ExecContext(ctx, "INSERT INTO orders VALUES (?, ?, 'CONFIRMED')", id, key)
				for _, insert := range []string{"INSERT INTO items VALUES (?, ?)", "INSERT INTO deductions VALUES (?, ?)"} {
					if err == nil {
						_, err = tx.ExecContext(ctx, insert, id, pieces)
					}
				}
				return answer{}, err
			})
		})
		return answers[key]
	}
}

// writtenAfter is how long an order is in memory only.
const writtenAfter = 100 * time.Millisecond
