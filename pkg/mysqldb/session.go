package mysqldb

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"sync"
	"time"

	"gorm.io/gorm"
)

// session returns the statements that set up a connection. They set every session variable that changes the effect or
// the result of a statement, regardless of the server's defaults. No right is needed for them.
//
// The isolation level has its own statement, because its variable is transaction_isolation in MySQL and tx_isolation in
// older MariaDB. Each of the comments is read by only one of the two servers.
func (o Options) session() []string {
	network := max(int(o.IdleTimeout.Seconds()), 60) // bounds a read or a write of the server
	return []string{
		"SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED, READ WRITE",
		fmt.Sprintf(`SET NAMES utf8mb4 COLLATE utf8mb4_general_ci,
			SESSION sql_mode = 'STRICT_TRANS_TABLES,NO_ZERO_IN_DATE,NO_ZERO_DATE,ERROR_FOR_DIVISION_BY_ZERO,`+
			`NO_ENGINE_SUBSTITUTION',
			SESSION autocommit = 1, SESSION completion_type = NO_CHAIN,
			SESSION foreign_key_checks = 1, SESSION unique_checks = 1, SESSION default_storage_engine = InnoDB,
			SESSION sql_select_limit = 18446744073709551615, SESSION max_join_size = 18446744073709551615,
			SESSION sql_big_selects = 1, SESSION sql_safe_updates = 0, SESSION sql_auto_is_null = 0,
			SESSION max_sort_length = 1024, SESSION group_concat_max_len = 1048576, SESSION time_zone = '+00:00',
			SESSION innodb_lock_wait_timeout = %[1]d, SESSION lock_wait_timeout = %[1]d, SESSION wait_timeout = %[2]d,
			SESSION net_read_timeout = %[3]d, SESSION net_write_timeout = %[3]d
			/*!80000 , SESSION max_execution_time = 0 */
			/*M!100600 , SESSION max_statement_time = 0, SESSION idle_transaction_timeout = 0,
			SESSION idle_readonly_transaction_timeout = 0, SESSION idle_write_transaction_timeout = 0 */`,
			int(o.LockWait.Seconds()), int(o.IdleTimeout.Seconds()), network),
	}
}

// sessionConnector sets up each new connection, which closes itself once it has been idle for half of IdleTimeout.
type sessionConnector struct {
	driver.Connector
	opts Options
}

func (c *sessionConnector) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := c.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	for _, statement := range c.opts.session() {
		if _, err := conn.(driver.ExecerContext).ExecContext(ctx, statement, nil); err != nil {
			_ = conn.Close() // the first error is the cause
			return nil, fmt.Errorf("set up connection: %w", err)
		}
	}
	return newIdling(conn.(Conn), c.opts.IdleTimeout/2), nil
}

// idling is a connection that closes itself when it has been idle in its pool for the limit. The pool's own cleaner
// runs once a second, which is too late: the server drops the connection, and logs a warning.
type idling struct {
	Conn
	limit  time.Duration
	end    func() error // closes it once
	timer  *time.Timer  // nil while it is in use
	spoilt bool         // its binlog_format, fixed at its begin, admits no writes
}

func newIdling(c Conn, limit time.Duration) *idling {
	return &idling{Conn: c, limit: limit, end: sync.OnceValue(c.Close)}
}

// ExecContext implements driver.ExecerContext.
func (c *idling) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	result, err := c.Conn.ExecContext(ctx, query, args)
	c.spoilt = c.spoilt || number(err) == numBinlogFormat
	return result, err
}

// QueryContext implements driver.QueryerContext.
func (c *idling) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	rows, err := c.Conn.QueryContext(ctx, query, args)
	c.spoilt = c.spoilt || number(err) == numBinlogFormat
	return rows, err
}

// IsValid implements driver.Validator. The pool calls it when it takes the connection back.
func (c *idling) IsValid() bool {
	valid := !c.spoilt && c.Conn.IsValid()
	if valid && c.timer == nil {
		c.timer = time.AfterFunc(c.limit, func() { _ = c.end() }) // nobody waits for it
	}
	return valid
}

// ResetSession implements driver.SessionResetter. The pool calls it before it hands the connection out again.
func (c *idling) ResetSession(ctx context.Context) error {
	if timer := c.timer; timer != nil {
		c.timer = nil
		if !timer.Stop() {
			return driver.ErrBadConn
		}
	}
	return c.Conn.ResetSession(ctx)
}

// Close implements driver.Conn.
func (c *idling) Close() error {
	if c.timer != nil {
		c.timer.Stop()
	}
	return c.end()
}

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
