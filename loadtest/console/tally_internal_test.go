package console

import (
	"database/sql"
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/bwmarrin/snowflake"

	"orderstock/migrations"
	"orderstock/pkg/mysqldb"
	"orderstock/pkg/servers/serverstest"
)

// ordersDB returns an empty database of orders.
func ordersDB(t *testing.T) *sql.DB {
	t.Helper()
	return database(t, "order")
}

// database returns an empty database of a service.
func database(t *testing.T, service string) *sql.DB {
	t.Helper()
	db, err := mysqldb.Open(serverstest.Database(t), mysqldb.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = mysqldb.Close(db) })
	pool, err := db.DB()
	if err != nil {
		t.Fatal(err)
	}
	if err := migrations.Up(t.Context(), pool, service); err != nil {
		t.Fatal(err)
	}
	return pool
}

// orderID returns the id of the nth order of an age.
func orderID(age time.Duration, n int64) int64 {
	return (time.Now().Add(-age).UnixMilli()-snowflake.Epoch)<<belowTime + n
}

func insertOrders(t *testing.T, orders *sql.DB, status string, ids ...int64) {
	t.Helper()
	var rows []string
	for _, id := range ids {
		rows = append(rows, fmt.Sprintf("(%d,'%s',UNHEX(SHA2(%[1]d,256)),100,NOW(6),NOW(6))", id, status))
	}
	execOn(t, orders, "INSERT INTO orders (id,status,body_hash,total,created_at,updated_at) VALUES "+
		strings.Join(rows, ","))
}

func execOn(t *testing.T, db *sql.DB, statement string, args ...any) {
	t.Helper()
	if _, err := db.ExecContext(t.Context(), statement, args...); err != nil {
		t.Fatal(err)
	}
}

// TestTally: the counts match the whole table while orders come, end and go.
func TestTally(t *testing.T) {
	pool, id := ordersDB(t), orderID
	insert := func(status string, ids ...int64) { t.Helper(); insertOrders(t, pool, status, ids...) }
	exec := func(statement string, args ...any) { t.Helper(); execOn(t, pool, statement, args...) }
	var counted tally
	check := func(confirmed, pending int64) {
		t.Helper()
		got, err := counted.read(t.Context(), pool)
		want := map[string]int64{"CONFIRMED": confirmed, "PENDING": pending, "REJECTED": 0, "CANCELLING": 0, "CANCELLED": 0}
		if err != nil || !maps.Equal(got, want) {
			t.Errorf("counted %v, %v; want %v", got, err, want)
		}
	}
	check(0, 0)
	insert("CONFIRMED", id(time.Hour, 1), id(time.Minute, 1), id(0, 1))
	open := id(30*time.Second, 1)
	insert("PENDING", open)
	check(1, 0) // late orders are noticed when all are counted
	counted.all = time.Time{}
	check(3, 1)
	insert("CONFIRMED", id(0, 2))
	check(4, 1)
	if counted.mark >= open {
		t.Errorf("an open order is taken for one that does not change")
	}
	exec("UPDATE orders SET status = 'CONFIRMED' WHERE id = ?", open)
	check(5, 0)
	if counted.mark < open {
		t.Error("orders that ended are read again")
	}
	exec("DELETE FROM orders WHERE id < ?", open)
	counted.all = time.Time{}
	check(3, 0)
}
