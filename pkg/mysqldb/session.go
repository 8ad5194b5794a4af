package mysqldb

import (
	"context"
	"database/sql/driver"
	"fmt"
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
