package mysqldb_test

import (
	"context"
	"database/sql/driver"
	"errors"
	"testing"

	"github.com/go-sql-driver/mysql"
	"github.com/prometheus/client_golang/prometheus"
	"gorm.io/gorm"

	"orderstock/pkg/mysqldb"
	"orderstock/pkg/servers/serverstest"
)

// TestADatabaseWithoutAPool: what gorm has no pool for is an error, not a panic.
func TestADatabaseWithoutAPool(t *testing.T) {
	t.Parallel()
	none := &gorm.DB{Config: &gorm.Config{}}
	_, exec := mysqldb.Exec(t.Context(), none, "DO 0")
	for name, err := range map[string]error{
		"close": mysqldb.Close(none), "ready": mysqldb.ReadyCheck(none)(t.Context()), "exec": exec,
	} {
		if !errors.Is(err, gorm.ErrInvalidDB) {
			t.Errorf("%s: %v; want ErrInvalidDB", name, err)
		}
	}
}

// TestOpenIsRefused: metrics of one name cannot be registered twice, and a DSN must be one.
func TestOpenIsRefused(t *testing.T) {
	t.Parallel()
	metrics, dsn := prometheus.NewRegistry(), serverstest.Database(t)
	db, err := mysqldb.Open(dsn, mysqldb.Options{Metrics: metrics})
	must(t, err)
	defer func() { must(t, mysqldb.Close(db)) }()
	_, err = mysqldb.Open(dsn, mysqldb.Options{Metrics: metrics})
	if _, ok := errors.AsType[prometheus.AlreadyRegisteredError](err); !ok {
		t.Errorf("a second pool with the metrics of the first: %v", err)
	}
	if _, err := mysqldb.Open("shop", mysqldb.Options{}); err == nil {
		t.Error("a name is taken for a DSN")
	}
}

// broken makes connections whose first statement fails.
type broken struct{ driver.Connector }

func (b broken) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := b.Connector.Connect(ctx)
	if err == nil {
		err = errors.Join(errBroken, conn.Close())
	}
	return nil, err
}

var errBroken = errors.New("broken")

// TestConnectionsAreWrapped: what Options.Wrap returns is what connects.
func TestConnectionsAreWrapped(t *testing.T) {
	t.Parallel()
	db, err := mysqldb.Open(serverstest.Database(t), mysqldb.Options{
		Wrap: func(c driver.Connector) driver.Connector { return broken{c} },
	})
	must(t, err)
	defer func() { must(t, mysqldb.Close(db)) }()
	if err := mysqldb.ReadyCheck(db)(t.Context()); !errors.Is(err, errBroken) {
		t.Errorf("%v; want the wrapper's error", err)
	}
}

// TestAGroupHasItsMembersDriver: database/sql asks a connector for it.
func TestAGroupHasItsMembersDriver(t *testing.T) {
	t.Parallel()
	cfg, err := mysqldb.ParseDSN("app:secret@group(127.0.0.1:1,127.0.0.1:2)/shop")
	must(t, err)
	connector, err := mysqldb.Connector(cfg, mysqldb.Options{})
	must(t, err)
	if _, ok := connector.Driver().(*mysql.MySQLDriver); !ok {
		t.Errorf("the driver is %T", connector.Driver())
	}
}

// gone makes connections that the server has reset by the time they are closed.
type gone struct{ driver.Connector }

type goneConn struct {
	driver.Conn
	driver.ExecerContext
}

func (g gone) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := g.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return goneConn{conn, conn.(driver.ExecerContext)}, nil
}

func (g goneConn) Close() error { return errors.Join(errBroken, g.Conn.Close()) }

// The server may have ended an idle connection before the pool did. Nothing is lost, and Close returns no error.
func TestCloseAfterTheServerDid(t *testing.T) {
	t.Parallel()
	db, err := mysqldb.Open(serverstest.Database(t), mysqldb.Options{
		Wrap: func(c driver.Connector) driver.Connector { return gone{c} },
	})
	must(t, err)
	must(t, db.Exec("DO 0").Error)
	must(t, mysqldb.Close(db))
}
