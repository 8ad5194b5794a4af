package mysqldb

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"sync/atomic"

	"gorm.io/gorm"
)

// ErrInvisible is returned by ReadyCheck if other connections do not see a committed write.
var ErrInvisible = errors.New("a committed write is not visible to another connection: a proxy in front of the server" +
	" changes the settings of transactions, or sends reads to a replica; connect to the server itself")

// ReadyCheck returns a function that pings the server. Until the check has passed once, it also commits a transaction
// and a single statement, and returns ErrInvisible if another connection does not see both. They change the row of the
// table write_check, which the migrations of both schemas make. A server whose max_allowed_packet is below minPacket is
// not ready.
func ReadyCheck(db *gorm.DB) func(ctx context.Context) error {
	var seen atomic.Bool
	return func(ctx context.Context) error {
		if seen.Load() {
			return Ping(ctx, db)
		}
		pool, err := db.DB()
		if err == nil {
			err = errors.Join(checkPacket(ctx, pool), checkWrites(ctx, pool))
		}
		if number(err) == numNoTable {
			err = fmt.Errorf("bring the schema to the newest version, by \"migrate up\": %w", err)
		}
		if err != nil {
			return fmt.Errorf("check for writes: %w", err)
		}
		seen.Store(true)
		return nil
	}
}

func checkPacket(ctx context.Context, pool *sql.DB) error {
	var most int64
	if err := pool.QueryRowContext(ctx, "SELECT @@max_allowed_packet").Scan(&most); err != nil {
		return err
	}
	if most < minPacket {
		return fmt.Errorf("the server's max_allowed_packet is %d bytes: set at least %d", most, minPacket)
	}
	return nil
}

const countWrite = "INSERT INTO write_check (id, writes) VALUES (1, 1) ON DUPLICATE KEY UPDATE writes = writes + 1"

// checkWrites counts two writes, and compares the number read by the writing connection with the number read by another
// one. Writes of other processes only raise the latter, and cannot come between while the row is locked.
func checkWrites(ctx context.Context, pool *sql.DB) error {
	writer, err := pool.Conn(ctx)
	if err != nil {
		return err
	}
	written, err := writeTwice(ctx, writer)
	if err != nil {
		return errors.Join(err, writer.Close())
	}
	// A pool of one connection needs the writer's back, which rolls back uncommitted writes.
	if pool.Stats().MaxOpenConnections == 1 {
		discard(writer)
	} else {
		defer discard(writer) // it may hold the row
	}
	var seen int64
	if err := pool.QueryRowContext(ctx, "SELECT writes FROM write_check WHERE id = 1").Scan(&seen); err != nil {
		return err
	}
	if seen < written {
		return fmt.Errorf("%w (%d of %d)", ErrInvisible, seen, written)
	}
	return nil
}

// writeTwice counts a write in a transaction and one without, and returns the resulting number.
func writeTwice(ctx context.Context, conn *sql.Conn) (writes int64, err error) {
	tx, err := conn.BeginTx(ctx, nil)
	if err != nil {
		return 0, err
	}
	if _, err := tx.ExecContext(ctx, countWrite); err != nil {
		return 0, errors.Join(err, tx.Rollback())
	}
	if err := tx.Commit(); err != nil {
		return 0, err
	}
	if _, err := conn.ExecContext(ctx, countWrite); err != nil {
		return 0, err
	}
	err = conn.QueryRowContext(ctx, "SELECT writes FROM write_check WHERE id = 1").Scan(&writes)
	return writes, err
}

// discard closes the connection instead of returning it to the pool.
func discard(conn *sql.Conn) {
	_ = conn.Raw(func(any) error { return driver.ErrBadConn }) // database/sql's way to ask for it
	_ = conn.Close()                                           // it is closed already
}
