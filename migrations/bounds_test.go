package migrations_test

import (
	"context"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"orderstock/migrations"
	"orderstock/pkg/mysqldb"
	"orderstock/pkg/servers/serverstest"
)

// TestASilentCommandLosesItsRows: a command that stands still after its DELETE does not hold the rows for long. One
// that is at work keeps its lock for as long as it needs.
// It takes 10 s, the idle timeout.
func TestASilentCommandLosesItsRows(t *testing.T) {
	t.Parallel()
	cfg, err := mysql.ParseDSN(serverstest.Database(t))
	if err != nil {
		t.Fatal(err)
	}
	db, err := migrations.Open(serverstest.MySQLAdminDSN(t), cfg.DBName)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	exec(t, db, "CREATE TABLE rows_of_test (id INT PRIMARY KEY) ENGINE = InnoDB")
	exec(t, db, "INSERT INTO rows_of_test VALUES (1)")
	err = migrations.Locked(t.Context(), db, "test", func(ctx context.Context) error {
		silent, err := db.BeginTx(ctx, nil)
		if err != nil {
			return err
		}
		defer func() { _ = silent.Rollback() }() // the server has ended it
		if _, err := silent.ExecContext(ctx, "DELETE FROM rows_of_test"); err != nil {
			return err
		}
		began := time.Now()
		if _, err := db.ExecContext(ctx, "INSERT IGNORE INTO rows_of_test VALUES (1)"); err != nil {
			return err
		}
		if took := time.Since(began); took < migrations.IdleTimeout/2 || took > 2*migrations.IdleTimeout {
			t.Errorf("the row was free after %s, want about %s", took, migrations.IdleTimeout)
		}
		return nil
	})
	if err != nil {
		t.Errorf("a command of more than %s: %v", migrations.IdleTimeout, err)
	}
}

// TestAServicesPoolKeepsTheLock: its connections may be silent for a second, and the lock's is for longer.
func TestAServicesPoolKeepsTheLock(t *testing.T) {
	t.Parallel()
	service, err := mysqldb.Open(serverstest.Database(t), mysqldb.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = mysqldb.Close(service) })
	db, err := service.DB()
	if err != nil {
		t.Fatal(err)
	}
	err = migrations.Locked(t.Context(), db, "test", func(ctx context.Context) error {
		select {
		case <-time.After(2400 * time.Millisecond): // no ping yet: see keepAlive
		case <-ctx.Done():
		}
		return ctx.Err()
	})
	if err != nil {
		t.Error(err)
	}
	var idle int
	if err := service.Raw("SELECT @@SESSION.wait_timeout").Scan(&idle).Error; err != nil || idle != 1 {
		t.Errorf("back in the pool, the connection may be silent for %d s, %v; want 1", idle, err)
	}
}
