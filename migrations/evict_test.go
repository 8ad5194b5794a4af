package migrations_test

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"time"

	"orderstock/migrations"
	"orderstock/pkg/mysqldb"
)

// TestStockServiceMayEvict leaves a transaction idle while it holds a row. A user with the right to see that ends the
// transaction; another user waits for nothing, and logs the reason once.
func TestStockServiceMayEvict(t *testing.T) {
	t.Parallel()
	a := migrated(t)
	for _, c := range []struct {
		user           migrations.User
		database       string
		insert, update string
		may            bool
	}{
		{
			a.StockApp, a.StockDB, "INSERT INTO stock (goods_id, updated_at) VALUES (1, NOW(6))",
			"UPDATE stock SET num = num + 1 WHERE goods_id = 1", true,
		},
		{
			a.OrderApp, a.OrderDB, "INSERT INTO orders (id, status, body_hash, total, created_at, updated_at) " +
				"VALUES (1, 'PENDING', REPEAT('0', 32), 0, NOW(6), NOW(6))",
			"UPDATE orders SET total = total + 1 WHERE id = 1", false,
		},
	} {
		db, err := mysqldb.Open(as(t, c.user, c.database).FormatDSN(),
			mysqldb.Options{LockWait: 2 * time.Second, IdleTimeout: time.Minute})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = mysqldb.Close(db) }()
		var says bytes.Buffer
		evictor := mysqldb.NewEvictor(db, nil, slog.New(slog.NewTextHandler(&says, nil)))
		if err := db.Exec(c.insert).Error; err != nil {
			t.Fatal(err)
		}
		for range 2 {
			stopped := db.Begin()
			if err := stopped.Exec(c.update).Error; err != nil {
				t.Fatal(err)
			}
			stop := evictor.Watch(t.Context())
			err := db.Exec(c.update).Error
			stop()
			if c.may && err != nil || !c.may && !mysqldb.IsLockWait(err) {
				t.Errorf("%s behind a transaction that stands still: %v", c.user.Name, err)
			}
			_ = stopped.Rollback()
		}
		if n := strings.Count(says.String(), "cannot find who holds"); !c.may && n != 1 || c.may && n != 0 {
			t.Errorf("%s learns %d times that it may not look: %s", c.user.Name, n, &says)
		}
	}
}
