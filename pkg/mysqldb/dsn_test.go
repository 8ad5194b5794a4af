package mysqldb_test

import (
	"strings"
	"testing"

	"orderstock/pkg/mysqldb"
	"orderstock/pkg/servers/serverstest"
)

// An update that changes nothing hits no row: this is how a guarded update detects that somebody else was first.
func TestAnOptionThatChangesResultsIsRefused(t *testing.T) {
	dsn := serverstest.Database(t)
	if strings.Contains(dsn, "?") {
		dsn += "&"
	} else {
		dsn += "?"
	}
	for _, option := range []string{
		"clientFoundRows=true", "columnsWithAlias=true", "multiStatements=true", "loc=Asia%2FShanghai", "charset=latin1",
		"collation=latin1_bin", "timeTruncate=1s", "sql_mode=%27%27", "autocommit=0", "allowAllFiles=true",
		"rejectReadOnly=true", "timeout=1s", "readTimeout=1s", "writeTimeout=1s", "parseTime=false",
		"interpolateParams=false",
	} {
		name, _, _ := strings.Cut(option, "=")
		db, err := mysqldb.Open(dsn+option, mysqldb.Options{})
		if err == nil {
			t.Errorf("%s is accepted", option)
			must(t, mysqldb.Close(db))
			continue
		}
		if !strings.Contains(err.Error(), `"`+name+`"`) || !strings.Contains(err.Error(), "leave it out") ||
			strings.Contains(err.Error(), "tcp(") {
			t.Errorf("%s: error %q; want the option's name and what to do, and nothing of the DSN", option, err)
		}
	}
	db, err := mysqldb.Open(dsn+"parseTime=true&tls=false&maxAllowedPacket=0", mysqldb.Options{})
	must(t, err)
	defer func() { must(t, mysqldb.Close(db)) }()
	must(t, db.Exec("CREATE TABLE guarded (id INT PRIMARY KEY, num INT NOT NULL) ENGINE = InnoDB").Error)
	must(t, db.Exec("INSERT INTO guarded VALUES (1, 0)").Error)
	same := db.Exec("INSERT INTO guarded VALUES (1, 1) ON DUPLICATE KEY UPDATE id = id")
	if must(t, same.Error); same.RowsAffected != 0 {
		t.Errorf("%d rows changed by an update that changes nothing", same.RowsAffected)
	}
	for _, bad := range []string{
		"", "not a DSN", "app:secret@tcp(127.0.0.1:1)shop",
		"app:secret@tcp(127.0.0.1:1)/shop?client%46oundRows=true",
	} {
		if _, err := mysqldb.Open(bad, mysqldb.Options{}); err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("DSN %q: %v", bad, err)
		}
	}
}
