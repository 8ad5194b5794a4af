package mysqldb_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"orderstock/pkg/mysqldb"
)

func TestRows(t *testing.T) {
	db, err := open(t, mysqldb.Options{}).DB()
	must(t, err)
	type row struct {
		id   int64
		text []byte
	}
	columns := func(r *row) []any { return []any{&r.id, &r.text} }
	all, err := mysqldb.All(t.Context(), db, columns,
		"SELECT id, IF(id > ?, NULL, 'one') FROM rows_of_test ORDER BY id", 1)
	must(t, err)
	if len(all) != 2 || all[0].id != 1 || string(all[0].text) != "one" || all[1].id != 2 || all[1].text != nil {
		t.Errorf("got %+v; want one, and no text in the second", all)
	}
	ids, err := mysqldb.All(t.Context(), db, mysqldb.One[int64], "SELECT id FROM rows_of_test ORDER BY id")
	if err != nil || !slices.Equal(ids, []int64{1, 2}) {
		t.Errorf("got %v, %v; want 1 and 2", ids, err)
	}
	for name, query := range map[string]string{
		"query": "SELECT id FROM no_such_table", "scan": "SELECT NULL FROM rows_of_test",
	} {
		if ids, err := mysqldb.All(t.Context(), db, mysqldb.One[int64], query); err == nil {
			t.Errorf("%s: got %v; want an error", name, ids)
		}
	}
	for _, err := range mysqldb.Rows(t.Context(), db, mysqldb.One[int64], "SELECT id FROM rows_of_test") {
		if err != nil {
			t.Error(err)
		}
		break // gives the connection back
	}
	if n := db.Stats().InUse; n != 0 {
		t.Errorf("%d connections in use", n)
	}
}

// The values of a list may need several statements.
func TestRowsIn(t *testing.T) {
	db := open(t, mysqldb.Options{})
	texts := []string{"one", strings.Repeat("x", mysqldb.MaxStatement), "?", "two"}
	query := "SELECT id FROM rows_of_test WHERE ELT(id, 'one', 'two') IN ? ORDER BY id"
	for n, want := range [][]int64{{}, {1}, {1}, {1}, {1, 2}} {
		got := []int64{}
		for id, err := range mysqldb.RowsIn(db.WithContext(t.Context()), mysqldb.One[int64], query, texts[:n]) {
			must(t, err)
			got = append(got, id)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%d values: got %v, want %v", n, got, want)
		}
	}
	failed := 0
	for _, err := range mysqldb.RowsIn(db, mysqldb.One[int64], "SELECT id FROM no_such_table WHERE id IN ?", texts) {
		if err != nil {
			failed++
		}
	}
	if failed != 1 {
		t.Errorf("%d errors of the first of two statements, want 1", failed)
	}
}

// A query that breaks off is an error, and not the end of its rows.
func TestRowsThatBreakOff(t *testing.T) {
	db, err := open(t, mysqldb.Options{}).DB()
	must(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	rows, last := 0, error(nil)
	for _, err := range mysqldb.Rows(ctx, db, mysqldb.One[int64],
		"WITH RECURSIVE n AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM n WHERE i < 1000) SELECT a.i FROM n a, n b, n c") {
		if last = err; err == nil {
			rows++
			cancel()
		}
	}
	if rows == 0 || !errors.Is(last, context.Canceled) {
		t.Errorf("%d rows, and then %v; want some, and that the context has ended", rows, last)
	}
}
