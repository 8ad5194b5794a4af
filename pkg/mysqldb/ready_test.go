package mysqldb_test

import (
	"context"
	"database/sql/driver"
	"errors"
	"strings"
	"testing"

	"orderstock/pkg/mysqldb"
)

// meddling runs a statement in each new connection after it was set up, as a proxy may.
type meddling struct {
	driver.Connector
	statement string
}

func (m meddling) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := m.Connector.Connect(ctx)
	if err == nil {
		_, err = conn.(driver.ExecerContext).ExecContext(ctx, m.statement, nil)
	}
	return conn, err
}

// TestReadyCheckSeesItsOwnWrites: a server whose commits other connections do not see is not ready.
func TestReadyCheckSeesItsOwnWrites(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, meddle string
		want         error
	}{
		{"as set up", "DO 0", nil},
		{"autocommit off", "SET SESSION autocommit = 0", mysqldb.ErrInvisible},
		{"chained transactions", "SET SESSION completion_type = 'CHAIN'", mysqldb.ErrInvisible},
		{"old snapshots", "SET SESSION autocommit = 0, SESSION completion_type = 'CHAIN'", mysqldb.ErrInvisible},
	} {
		for _, conns := range []int{1, 8} {
			t.Run(c.name, func(t *testing.T) {
				t.Parallel()
				db := open(t, mysqldb.Options{MaxConns: conns, Wrap: func(base driver.Connector) driver.Connector {
					return meddling{base, c.meddle}
				}})
				check := mysqldb.ReadyCheck(db)
				if err := check(t.Context()); err == nil || !strings.Contains(err.Error(), "migrate up") {
					t.Errorf("without the table: %v; want what to do", err)
				}
				must(t, db.Exec("CREATE TABLE write_check (id INT PRIMARY KEY, writes BIGINT NOT NULL) ENGINE = InnoDB").Error)
				for range 3 {
					if err := check(t.Context()); !errors.Is(err, c.want) || err != nil && c.want == nil {
						t.Errorf("%d connections: %v; want %v", conns, err, c.want)
					}
				}
			})
		}
	}
}
