package system

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"testing"
)

// lost is a connection, and its connector, whose server has gone.
type lost struct{ driver.Conn }

func (lost) Close() error                                   { return driver.ErrBadConn }
func (l lost) Connect(context.Context) (driver.Conn, error) { return l, nil }
func (lost) Driver() driver.Driver                          { return nil }

// TestCloseAfterMySQLWasKilled: an experiment may have killed the server of an idle connection.
func TestCloseAfterMySQLWasKilled(t *testing.T) {
	t.Parallel()
	db := sql.OpenDB(lost{})
	conn, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := conn.Close(); err != nil { // it is idle now
		t.Fatal(err)
	}
	if err := (&System{OrderDB: db}).Close(); err != nil {
		t.Error(err)
	}
}
