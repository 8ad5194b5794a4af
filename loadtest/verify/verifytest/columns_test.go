package verifytest_test

import (
	"database/sql"
	"slices"
	"testing"

	_ "github.com/go-sql-driver/mysql" // for sql.Open

	"orderstock/migrations"
	"orderstock/pkg/servers/serverstest"
)

// read are the columns that the verdict reads.
var read = map[string][]string{
	"orders":      {"id", "status", "outcome", "reason", "idempotency_key", "body_hash", "total", "created_at"},
	"order_items": {"order_id", "goods_id", "num", "price"},
	"pruned":      {"order_id"},
	"operations":  {"flag", "state", "reason", "items", "fencing_token"},
	"stock_flow":  {"flag", "goods_id", "kind", "num", "created_at"},
	"restocks":    {"flag", "goods_id", "name", "price"},
	"stock":       {"goods_id", "name", "price", "num", "fencing_token"},
}

// unread are the columns that the verdict does not read, by table, each with the reason.
var unread = map[string]map[string]string{
	"orders": {
		"updated_at": "a clock of the services, which the verdict does not trust",
		"trace":      "for people; nothing is decided by it",
	},
	"operations": {
		"created_at": "a clock of the services, which the verdict does not trust",
	},
	"stock": {
		"updated_at": "a clock of the services, which the verdict does not trust",
		"version":    "the record of one strategy; a write that it should have turned away shows in the pieces",
	},
}

// Each column of the schema is read, or is unread for a reason.
func TestEachColumnIsReadOrExempt(t *testing.T) {
	for _, which := range []string{migrations.Order, migrations.Stock} {
		db, err := sql.Open("mysql", serverstest.Database(t))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = db.Close() })
		if err := migrations.Up(t.Context(), db, which); err != nil {
			t.Fatal(err)
		}
		rows, err := db.QueryContext(t.Context(), `SELECT table_name, column_name FROM information_schema.columns
			WHERE table_schema = DATABASE() AND table_name NOT LIKE '%version%'`)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = rows.Close() }()
		for rows.Next() {
			var table, column string
			if err := rows.Scan(&table, &column); err != nil {
				t.Fatal(err)
			}
			if _, exempt := unread[table][column]; exempt == slices.Contains(read[table], column) {
				t.Errorf("%s.%s: exempt is %t, and that it is read, too", table, column, exempt)
			}
		}
		if err := rows.Err(); err != nil {
			t.Fatal(err)
		}
	}
}
