package mysqldb_test

import (
	"testing"

	"orderstock/pkg/mysqldb"
	"orderstock/pkg/servers"
	"orderstock/pkg/servers/serverstest"
)

// session are the variables of a new connection. Variables not named here are 0.
var session = map[string]string{
	"autocommit": "1", "completion_type": "NO_CHAIN",
	"transaction_isolation": "READ-COMMITTED", "tx_isolation": "READ-COMMITTED",
	"sql_mode": "STRICT_TRANS_TABLES,NO_ZERO_IN_DATE,NO_ZERO_DATE,ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION",

	"sql_select_limit": "18446744073709551615", "max_join_size": "18446744073709551615", "sql_big_selects": "1",
	"foreign_key_checks": "1", "unique_checks": "1", "default_storage_engine": "InnoDB", "time_zone": "+00:00",
	"max_sort_length": "1024", "group_concat_max_len": "1048576", "collation_connection": "utf8mb4_general_ci",
	"character_set_client": "utf8mb4", "character_set_results": "utf8mb4",

	"innodb_lock_wait_timeout": "1", "lock_wait_timeout": "1", "wait_timeout": "1",
	"net_read_timeout": "60", "net_write_timeout": "60",
}

// TestDefaultsOfTheServerHaveNoEffect: with any defaults of an administrator, a connection of an ordinary user has the
// values that the services' statements depend on.
func TestDefaultsOfTheServerHaveNoEffect(t *testing.T) {
	t.Parallel()
	server, spoiled := serverstest.BadServer(t)
	defaultsHaveNoEffect(t, server, spoiled)
}

func defaultsHaveNoEffect(t *testing.T, server *servers.MySQL, spoiled []string) {
	t.Helper()
	must(t, server.Exec(t.Context(), "CREATE USER plain@'%' IDENTIFIED BY 'plain'", "CREATE DATABASE shop",
		"GRANT SELECT, INSERT, UPDATE ON shop.* TO plain@'%'"))
	db, err := mysqldb.Open(server.DSN("plain", "plain", "shop"), mysqldb.Options{})
	must(t, err)
	defer func() { must(t, mysqldb.Close(db)) }()
	for _, name := range spoiled {
		want, ok := session[name]
		if !ok {
			want = "0"
		}
		var global, got string
		must(t, db.Raw("SELECT @@GLOBAL."+name+", @@SESSION."+name).Row().Scan(&global, &got))
		if got != want || global == want {
			t.Errorf("%s is %s in a new connection, want %s; the default is %s", name, got, want, global)
		}
	}
}
