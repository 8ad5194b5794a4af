package mysqldb_test

import (
	"fmt"
	"testing"

	"github.com/go-sql-driver/mysql"

	"orderstock/pkg/mysqldb"
)

// TestRefusals: the SQLSTATE as the servers send it, and whether the same statement would be refused again.
func TestRefusals(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		number  uint16
		state   string
		refusal bool
		why     string
	}{
		{1021, "HY000", false, "disk full"},
		{1040, "08004", false, "too many connections"},
		{1041, "HY000", false, "out of memory"},
		{1044, "42000", false, "no right to the database"},
		{1048, "23000", true, "column cannot be null"},
		{1053, "08S01", false, "shutdown"},
		{1054, "42S22", false, "unknown column"},
		{1062, "23000", true, "duplicate"},
		{1064, "42000", true, "syntax"},
		{1114, "HY000", false, "table full"},
		{1049, "42000", false, "no database"},
		{1143, "42000", false, "no right to the column"},
		{1176, "42000", false, "no index"},
		{1665, "HY000", false, "binlog_format"},
		{1136, "21S01", true, "column count"},
		{1142, "42000", false, "no right to the table"},
		{1146, "42S02", false, "no such table"},
		{1153, "08S01", false, "packet too large: the connection ends"},
		{1180, "HY000", false, "error during commit"},
		{1203, "42000", false, "max_user_connections"},
		{1205, "HY000", false, "lock wait"},
		{1206, "HY000", false, "lock table full"},
		{1213, "40001", false, "deadlock"},
		{1226, "42000", false, "limit of the account"},
		{1264, "22003", true, "out of range"},
		{1265, "01000", true, "data truncated"},
		{1267, "HY000", true, "mix of collations"},
		{1290, "HY000", false, "super_read_only"},
		{1300, "HY000", true, "invalid string"},
		{1317, "70100", false, "interrupted"},
		{1364, "HY000", true, "no default"},
		{1366, "HY000", true, "incorrect value, MySQL"},
		{1366, "22007", true, "incorrect value, MariaDB"},
		{1406, "22001", true, "too long"},
		{1452, "23000", true, "foreign key"},
		{1461, "42000", false, "max_prepared_stmt_count"},
		{1690, "22003", true, "out of range in an expression"},
		{1836, "HY000", false, "innodb_read_only"},
		{1927, "70100", false, "connection was killed, MariaDB"},
		{1969, "70100", false, "max_statement_time, MariaDB"},
		{3024, "HY000", false, "max_execution_time, MySQL"},
		{3032, "HY000", false, "offline mode"},
		{3100, "HY000", false, "before the commit, group"},
		{3101, "40000", false, "rolled back by the group"},
		{3572, "HY000", false, "NOWAIT"},
		{3819, "HY000", true, "check constraint, MySQL"},
		{4025, "23000", true, "check constraint, MariaDB"},
		{4031, "HY000", false, "disconnected for inactivity"},
		{0, "\x00\x00\x00\x00\x00", false, "no state"},
	} {
		err := &mysql.MySQLError{Number: c.number, SQLState: [5]byte([]byte(c.state))}
		if got := mysqldb.IsRefusal(fmt.Errorf("insert order: %w", err)); got != c.refusal {
			t.Errorf("%d %q (%s): refusal %t, want %t", c.number, c.state, c.why, got, c.refusal)
		}
	}
}
