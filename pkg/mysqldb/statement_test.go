package mysqldb_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"gorm.io/gorm"

	"orderstock/pkg/mysqldb"
)

// All values come back as they were written.
func TestStatementsKeepTheirValues(t *testing.T) {
	db := open(t, mysqldb.Options{})
	must(t, db.Exec(`CREATE TABLE kept (n BIGINT, b VARBINARY(64), s VARCHAR(64), at DATETIME(6))
		DEFAULT CHARSET = utf8mb4`).Error)
	at := time.Date(2026, 11, 23, 1, 2, 3, 456789999, time.FixedZone("", 3600))
	type row struct {
		N  int64
		B  []byte
		S  string
		At time.Time
	}
	want := []row{
		{-9223372036854775808, []byte("\x00'\\\"\xff"), `'); DROP TABLE kept; -- \`, at},
		{9223372036854775807, []byte{}, "日本 🙂 ?", at},
		{0, []byte("x"), "", at},
	}
	must(t, mysqldb.Transact(t.Context(), db, func(tx *gorm.DB) error {
		insert := mysqldb.NewInsert(tx, "INSERT INTO kept (n, b, s, at) VALUES ")
		for _, r := range want {
			insert.Row(r.N, r.B, r.S, r.At)
		}
		if n, err := insert.Exec(); err != nil || n != int64(len(want)) {
			t.Errorf("%d rows, %v", n, err)
		}
		return nil
	}))
	for _, w := range want {
		var q mysqldb.Statement
		q.Add(mysqldb.Raw("SELECT * FROM kept WHERE n IN ("), []int64{w.N, w.N}, mysqldb.Raw(")"))
		var got row
		must(t, db.Raw(string(q)).Scan(&got).Error)
		if got.N != w.N || string(got.B) != string(w.B) || got.S != w.S || !got.At.Equal(at.Truncate(time.Microsecond)) {
			t.Errorf("got %+v, want %+v", got, w)
		}
	}
}

// A statement of hundreds of values leaves no garbage but its text.
func TestStatementsBoxNoValue(t *testing.T) {
	s, at := make(mysqldb.Statement, 0, 1024), time.Now()
	flag, reason, n := []byte("1234567890123456789"), "short", int64(1<<40)
	if n := testing.AllocsPerRun(100, func() {
		s = s[:0]
		s.Add(mysqldb.Raw("("), n, mysqldb.Raw(","), flag, reason, at, nil)
	}); n > 0 {
		t.Errorf("a row takes %v allocations", n)
	}
}

func TestThePoolIsMeasured(t *testing.T) {
	metrics := prometheus.NewRegistry()
	open(t, mysqldb.Options{Metrics: metrics, MaxConns: 7})
	families, err := metrics.Gather()
	must(t, err)
	for _, f := range families {
		if f.GetName() == "go_sql_max_open_connections" && f.GetMetric()[0].GetGauge().GetValue() == 7 {
			return
		}
	}
	t.Errorf("no bound of 7 connections among %v", families)
}

// Rows are spread over as many statements as their size needs, each value once.
func TestInsertKeepsStatementsShort(t *testing.T) {
	db := open(t, mysqldb.Options{})
	must(t, db.Exec("CREATE TABLE spread (n BIGINT PRIMARY KEY, s MEDIUMTEXT)").Error)
	for _, rows := range []int{0, 1, 2, 3, 100} {
		must(t, db.Exec("DELETE FROM spread").Error)
		statements := 0
		must(t, mysqldb.Transact(t.Context(), db, func(tx *gorm.DB) error {
			insert := mysqldb.NewInsert(tx, "INSERT INTO spread (n, s) VALUES ")
			for n := range rows {
				insert.Row(int64(n), []byte(strings.Repeat("x", mysqldb.MaxStatement/5)))
			}
			changed, err := insert.Exec()
			if changed != int64(rows) {
				t.Errorf("%d rows changed, want %d", changed, rows)
			}
			must(t, tx.Raw("SELECT VARIABLE_VALUE FROM information_schema.SESSION_STATUS"+
				" WHERE VARIABLE_NAME = 'COM_INSERT'").Scan(&statements).Error)
			return err
		}))
		var sum struct{ Count, Sum int }
		must(t, db.Raw("SELECT COUNT(*) AS count, COALESCE(SUM(n), 0) AS sum FROM spread").Scan(&sum).Error)
		if sum.Count != rows || sum.Sum != rows*(rows-1)/2 {
			t.Errorf("%d rows were written as %+v", rows, sum)
		}
		if rows == 100 && statements < 50 {
			t.Errorf("100 rows that fit by twos were written in %d statements", statements)
		}
	}
}

func TestLists(t *testing.T) {
	for _, n := range []int{0, 1, 5000} {
		ids, names := make([]int64, n), make([]string, n)
		for i := range n {
			ids[i], names[i] = int64(i), fmt.Sprintf("%060d", i)
		}
		var lists int
		var joined []string
		for list := range mysqldb.Lists(names) {
			if text := strings.Join(list, "','"); len(text) > mysqldb.MaxStatement {
				t.Errorf("a list of %d bytes", len(text))
			}
			lists++
			joined = append(joined, list...)
		}
		if !slices.Equal(joined, names) || n == 5000 && lists < 5 {
			t.Errorf("%d values in %d lists became %d", n, lists, len(joined))
		}
		if got := slices.Concat(slices.Collect(mysqldb.Lists(ids))...); !slices.Equal(got, ids) {
			t.Errorf("%d ids became %d", n, len(got))
		}
	}
	if long := slices.Collect(mysqldb.Lists([]string{strings.Repeat("x", mysqldb.MaxStatement), "y"})); len(long) != 2 {
		t.Errorf("%d lists, want 2", len(long))
	}
}
