package mysqldb

import (
	"context"
	"errors"
	"fmt"

	"gorm.io/gorm"
)

var (
	// ErrReadOnly is returned by ReadyCheck if the server takes no writes of ordinary users.
	ErrReadOnly = errors.New("the server takes no writes (read_only, super_read_only, innodb_read_only or offline_mode" +
		" is set): connect to the primary, or make this server writable")
	// ErrInvisible is returned by ReadyCheck if other connections would not see a committed write.
	ErrInvisible = errors.New("a committed write is not visible to another connection: a proxy in front of the server" +
		" changes the settings of transactions; connect to the server itself")
)

// readiness asks for max_allowed_packet, whether the server takes no writes, and whether the connection keeps them to
// itself. A variable may be a number or a word. Each of the comments is read by only one of the two servers.
const readiness = `SELECT @@SESSION.max_allowed_packet,
	1 IN (@@GLOBAL.innodb_read_only, 0 /*!80000 , @@GLOBAL.read_only, @@GLOBAL.super_read_only, @@GLOBAL.offline_mode */)
		/*M!100000 OR @@GLOBAL.read_only NOT IN ('0', 'OFF') */,
	@@SESSION.autocommit <> 1 OR @@SESSION.completion_type <> 'NO_CHAIN'`

// Table names a table, and the columns of it that a service writes, with commas between them.
type Table struct{ Name, Columns string }

// String returns the table as an INSERT names it: "name (column, column)".
func (t Table) String() string { return t.Name + " (" + t.Columns + ")" }

// ReadyCheck returns a function that asks the server for its variables, and inserts no row into each of the tables,
// which shows whether it would take one. A row that somebody holds cannot delay that. The function returns ErrReadOnly
// if the server takes no writes, and ErrInvisible if the settings of transactions differ from Open's. A server whose
// max_allowed_packet is below minPacket is not ready. Neither is one that lacks a table, a column or a right, or keeps
// a write waiting for the lock of a table.
func ReadyCheck(db *gorm.DB, tables ...Table) func(ctx context.Context) error {
	return func(ctx context.Context) error {
		if err := checkWrites(ctx, db, tables); err != nil {
			return fmt.Errorf("check for writes: %w", err)
		}
		return nil
	}
}

func checkWrites(ctx context.Context, db *gorm.DB, tables []Table) (err error) {
	pool, err := db.DB()
	if err != nil {
		return err
	}
	conn, err := pool.Conn(ctx) // one for all, as the wait for it may be long
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }() // returns it to the pool
	var (
		packet              int64
		readOnly, invisible bool
	)
	if err := conn.QueryRowContext(ctx, readiness).Scan(&packet, &readOnly, &invisible); err != nil {
		return err
	}
	switch {
	case readOnly:
		return ErrReadOnly
	case invisible:
		return ErrInvisible
	case packet < minPacket:
		return fmt.Errorf("the server's max_allowed_packet is %d bytes: set at least %d", packet, minPacket)
	}
	for _, t := range tables {
		// The comment keeps it out of the fault points of tests, which are found by the beginning of a statement.
		//nolint:gosec // the names are the program's
		none := fmt.Sprintf("INSERT /* no row */ INTO %s SELECT %s FROM %s WHERE FALSE", t, t.Columns, t.Name)
		if _, err := conn.ExecContext(ctx, none); err != nil {
			return fmt.Errorf("write to %s: %w%s", t.Name, err, remedies[number(err)])
		}
	}
	return nil
}

// remedies are hints for operators, by the error of a write of no row.
var remedies = map[uint16]string{
	numNoTable:  ": run migrate up",
	numNoColumn: ": run migrate up",
	numLockWait: ": another session holds the table (FLUSH TABLES WITH READ LOCK, LOCK TABLES, ALTER TABLE)",
}
