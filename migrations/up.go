package migrations

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io/fs"
	"sync"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/pressly/goose/v3"
)

// The two schemas, by the name of their folder.
const (
	Order = "order"
	Stock = "stock"
)

// ErrBusy is returned if another process migrates or prunes the same database for too long.
var ErrBusy = errors.New("another process holds the lock")

// lockWait bounds the wait for the lock.
const lockWait = 60 * time.Second

// Up brings db to the newest version of a schema; which is Order or Stock. Up may be called again, also by several
// processes at once: a named lock of the server serializes them. It returns ErrBusy if it does not get the lock in a
// minute. If a run is killed, the next one finishes its work: MySQL commits each DDL statement separately, so each
// statement of a migration must be repeatable. Up does so itself if it loses the connection of its work, twice at most.
//
// The user needs DDL rights, and the pool must allow two connections.
func Up(ctx context.Context, db *sql.DB, which string) error {
	provider, err := newProvider(db, which)
	if err != nil {
		return err
	}
	return locked(ctx, db, "migrate", func(ctx context.Context) error {
		for tries := mostTries; ; tries-- {
			err := dropUnfinished(ctx, db)
			if err == nil {
				_, err = provider.Up(ctx)
			}
			switch {
			case err == nil:
				return nil
			case tries == 1 || ctx.Err() != nil || !lost(err):
				return fmt.Errorf("migrate %s: %w", which, err)
			}
		}
	})
}

// mostTries bounds how often Up works on after it has lost a connection.
const mostTries = 3

// lost reports whether a connection was lost: the server closes a service's that is silent for a second, which is less
// than a process may stand still between two statements.
func lost(err error) bool {
	return errors.Is(err, driver.ErrBadConn) || errors.Is(err, mysql.ErrInvalidConn) || errors.Is(err, sql.ErrConnDone)
}

// Version returns the current version of the database, 0 before the first
// migration, and the newest version in this build.
func Version(ctx context.Context, db *sql.DB, which string) (current, newest int64, err error) {
	provider, err := newProvider(db, which)
	if err != nil {
		return 0, 0, err
	}
	// GetVersions would create its table if there is none, but Version must change nothing.
	exists, err := hasVersions(ctx, db)
	if err != nil {
		return 0, 0, fmt.Errorf("look for versions of %s: %w", which, err)
	}
	if !exists {
		sources := provider.ListSources()
		return 0, sources[len(sources)-1].Version, nil
	}
	current, newest, err = provider.GetVersions(ctx)
	if err != nil {
		return 0, 0, fmt.Errorf("read version of %s: %w", which, err)
	}
	return current, newest, nil
}

// versions is goose's table.
const versions = "goose_db_version"

func hasVersions(ctx context.Context, db *sql.DB) (bool, error) {
	var tables int
	err := db.QueryRowContext(ctx, `SELECT COUNT(*) FROM information_schema.tables
		WHERE table_schema = DATABASE() AND table_name = ?`, versions).Scan(&tables)
	return tables > 0, err
}

// dropUnfinished drops goose's table of versions if it is empty: goose was killed between creating it and writing its
// first row, and would refuse it.
func dropUnfinished(ctx context.Context, db *sql.DB) error {
	exists, err := hasVersions(ctx, db)
	if err != nil || !exists {
		return err
	}
	var rows int
	if err := db.QueryRowContext(ctx, "SELECT COUNT(*) FROM "+versions).Scan(&rows); err != nil || rows > 0 {
		return err
	}
	_, err = db.ExecContext(ctx, "DROP TABLE "+versions)
	return err
}

func newProvider(db *sql.DB, which string) (*goose.Provider, error) {
	folder, err := fs.Sub(FS, which)
	if err != nil {
		return nil, fmt.Errorf("open migrations of %s: %w", which, err)
	}
	provider, err := goose.NewProvider(goose.DialectMySQL, db, folder, goose.WithDisableGlobalRegistry(true))
	if err != nil {
		return nil, fmt.Errorf("open migrations of %s: %w", which, err)
	}
	return provider, nil
}

// errLockLost ends the work of a process whose lock's connection is gone: another process may hold the lock.
var errLockLost = errors.New("the connection that held the lock is lost")

// locked runs fn while this connection holds the server's named lock "orderstock-<name>-<database>". The lock ends with
// its connection, and so with the process. The context of fn ends if the connection is lost.
func locked(ctx context.Context, db *sql.DB, name string, fn func(context.Context) error) (err error) {
	if db.Stats().MaxOpenConnections == 1 {
		return errors.New("the pool needs two connections: one holds the lock, one works")
	}
	conn, err := db.Conn(ctx)
	if err != nil {
		return fmt.Errorf("connect for the lock: %w", err)
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	var (
		database  sql.NullString
		got, idle sql.NullInt64
	)
	err = conn.QueryRowContext(ctx, "SELECT DATABASE(), @@SESSION.wait_timeout").Scan(&database, &idle)
	if err != nil {
		return fmt.Errorf("read database name: %w", err)
	}
	// A pool of a service has connections that may be silent for a second.
	if err := setIdleTimeout(ctx, conn, max(idle.Int64, int64(idleTimeout.Seconds()))); err != nil {
		return fmt.Errorf("prepare for the lock: %w", err)
	}
	lock := "orderstock-" + name + "-" + database.String
	if len(lock) > 64 { // the server's limit
		lock = lock[:64]
	}
	err = conn.QueryRowContext(ctx, "SELECT GET_LOCK(?, ?)", lock, int(lockWait.Seconds())).Scan(&got)
	if err != nil {
		return fmt.Errorf("take lock %s: %w", lock, err)
	}
	if got.Int64 != 1 {
		return fmt.Errorf("take lock %s: %w", lock, ErrBusy)
	}
	ctx, stop := keepAlive(ctx, conn)
	defer func() {
		stop()
		var released sql.NullInt64
		e := conn.QueryRowContext(context.WithoutCancel(ctx), "SELECT RELEASE_LOCK(?)", lock).Scan(&released)
		if e != nil {
			err = errors.Join(err, fmt.Errorf("release lock %s: %w", lock, e))
			return
		}
		err = errors.Join(err, setIdleTimeout(context.WithoutCancel(ctx), conn, idle.Int64)) // it goes back to the pool
	}()
	err = fn(ctx)
	if cause := context.Cause(ctx); err != nil && errors.Is(cause, errLockLost) {
		err = errors.Join(err, cause)
	}
	return err
}

// setIdleTimeout sets how long the server keeps the connection while it is silent.
func setIdleTimeout(ctx context.Context, conn *sql.Conn, seconds int64) error {
	_, err := conn.ExecContext(ctx, "SET SESSION wait_timeout = ?", seconds)
	return err
}

// keepAlive keeps the server from dropping an idle connection. If the connection is lost nevertheless, the context ends
// with errLockLost. Callers must call stop before they use the connection.
func keepAlive(ctx context.Context, conn *sql.Conn) (alive context.Context, stop func()) {
	alive, lost := context.WithCancelCause(ctx)
	var pings sync.WaitGroup
	pings.Go(func() {
		for {
			select {
			case <-alive.Done():
				return
			case <-time.After(idleTimeout / 4):
			}
			// An interrupted ping would cost the connection.
			limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), idleTimeout/2)
			err := conn.PingContext(limited)
			cancel()
			if err != nil {
				lost(fmt.Errorf("%w: %w", errLockLost, err))
			}
		}
	})
	return alive, func() {
		lost(nil)
		pings.Wait()
	}
}
