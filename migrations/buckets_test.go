package migrations_test

import (
	"database/sql"
	"testing"

	"orderstock/migrations"
	"orderstock/pkg/servers/serverstest"
)

// The pieces that an earlier strategy had put into buckets are in the product's row again.
func TestPiecesComeBackFromBuckets(t *testing.T) {
	db, err := sql.Open("mysql", serverstest.Database(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	if err := migrations.UpTo(t.Context(), db, migrations.Stock, 6); err != nil {
		t.Fatal(err)
	}
	for _, statement := range []string{
		"INSERT INTO stock (goods_id, name, price, num, updated_at) VALUES (1, '', 0, 1, NOW(6)), (2, '', 0, 5, NOW(6))",
		"INSERT INTO stock_buckets (goods_id, bucket, num) VALUES (1, 0, 10), (1, 1, 20)",
	} {
		if _, err := db.ExecContext(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	if err := migrations.Up(t.Context(), db, migrations.Stock); err != nil {
		t.Fatal(err)
	}
	for goods, want := range map[int]int64{1: 31, 2: 5} {
		var num int64
		if err := db.QueryRowContext(t.Context(), "SELECT num FROM stock WHERE goods_id = ?", goods).Scan(&num); err != nil {
			t.Fatal(err)
		}
		if num != want {
			t.Errorf("product %d has %d pieces, want %d", goods, num, want)
		}
	}
}
