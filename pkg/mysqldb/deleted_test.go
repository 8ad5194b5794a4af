package mysqldb_test

import (
	"maps"
	"testing"

	"orderstock/pkg/mysqldb"
)

// TestHeldFindsDeletedRows: a row that another transaction deleted, and has not committed yet, holds up an insert of
// the same key. A key that is free is not held.
func TestHeldFindsDeletedRows(t *testing.T) {
	t.Parallel()
	db := open(t, mysqldb.Options{})
	must(t, db.Exec(`CREATE TABLE keyed (id INT PRIMARY KEY, name VARCHAR(9) NOT NULL, UNIQUE KEY (name))
		ENGINE = InnoDB`).Error)
	must(t, db.Exec("INSERT INTO keyed VALUES (1, 'a'), (2, 'b'), (3, 'c'), (4, 'd')").Error)
	tx := db.Begin()
	defer func() { must(t, tx.Rollback().Error) }()
	must(t, tx.Exec("DELETE FROM keyed WHERE id IN (2, 4)").Error)
	must(t, tx.Exec("UPDATE keyed SET id = 33 WHERE id = 3").Error)
	ids, err := mysqldb.Held(t.Context(), db, "keyed", "id", []int64{1, 2, 3, 4, 5, 6, 7, 33})
	must(t, err)
	if want := map[int64]bool{2: true, 3: true, 4: true, 33: true}; !maps.Equal(ids, want) {
		t.Errorf("held ids %v, want %v", ids, want)
	}
	names, err := mysqldb.Held(t.Context(), db, "keyed", "name", []string{"a", "b", "c", "d", "e", "f", "g"})
	must(t, err)
	if want := map[string]bool{"b": true, "c": true, "d": true}; !maps.Equal(names, want) {
		t.Errorf("held names %v, want %v", names, want)
	}
}
