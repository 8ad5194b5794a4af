package mysqldb_test

import (
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"gorm.io/gorm"

	"orderstock/pkg/mysqldb"
)

// Values come back as they were written, whatever stands in them.
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
	s := mysqldb.Statement{}
	s.Text("INSERT INTO kept (n, b, s, at) VALUES ")
	for i, r := range want {
		if i > 0 {
			s.Text(",")
		}
		s.Text("(")
		s.Int(r.N)
		s.Text(",")
		s.Bytes(r.B)
		s.Text(",")
		s.UTF8(r.S)
		s.Text(",")
		s.Time(r.At)
		s.Text(")")
	}
	must(t, mysqldb.Transact(t.Context(), db, func(tx *gorm.DB) error {
		if n, err := s.Exec(tx); err != nil || n != int64(len(want)) {
			t.Errorf("%d rows, %v", n, err)
		}
		return nil
	}))
	for _, w := range want {
		q := mysqldb.Statement("SELECT * FROM kept WHERE n IN (")
		q.Ints([]int64{w.N, w.N})
		q.Text(")")
		var got row
		must(t, db.Raw(string(q)).Scan(&got).Error)
		if got.N != w.N || string(got.B) != string(w.B) || got.S != w.S || !got.At.Equal(at.Truncate(time.Microsecond)) {
			t.Errorf("got %+v, want %+v", got, w)
		}
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
