package serverstest

import (
	"errors"
	"testing"

	"github.com/go-sql-driver/mysql"

	"orderstock/pkg/servers"
)

// badDefaults are defaults that an administrator may give to session variables, and that change the effect or the
// result of statements. Some variables exist in only one kind of server.
var badDefaults = [][2]string{
	{"autocommit", "0"},
	{"completion_type", "'CHAIN'"},
	{"transaction_isolation", "'SERIALIZABLE'"},
	{"transaction_read_only", "1"},
	{"tx_isolation", "'SERIALIZABLE'"},
	{"tx_read_only", "1"},
	{"sql_mode", "'ANSI_QUOTES,PIPES_AS_CONCAT,NO_BACKSLASH_ESCAPES,NO_UNSIGNED_SUBTRACTION,ONLY_FULL_GROUP_BY'"},
	{"sql_select_limit", "1"},
	{"max_join_size", "1"},
	{"sql_big_selects", "0"},
	{"sql_safe_updates", "1"},
	{"sql_auto_is_null", "1"},
	{"foreign_key_checks", "0"},
	{"unique_checks", "0"},
	{"default_storage_engine", "MyISAM"},
	{"time_zone", "'+09:00'"},
	{"max_sort_length", "64"},
	{"group_concat_max_len", "4"},
	{"collation_connection", "'latin1_bin'"},
	{"character_set_client", "'latin1'"},
	{"character_set_results", "'latin1'"},
	{"innodb_lock_wait_timeout", "1000"},
	{"lock_wait_timeout", "1000"},
	{"wait_timeout", "1000"},
	{"net_read_timeout", "1"},
	{"net_write_timeout", "1"},
	{"max_execution_time", "1"},
	{"max_statement_time", "0.001"},
	{"idle_transaction_timeout", "1"},
	{"idle_readonly_transaction_timeout", "1"},
	{"idle_write_transaction_timeout", "1"},
}

// BadServer starts a server for this test whose session variables have bad defaults, and returns their names. It also
// ignores the clients' character set, and rolls a transaction back after too long a wait for a row.
func BadServer(t testing.TB) (server *servers.MySQL, spoiled []string) {
	t.Helper()
	server = Start(t, servers.StartMySQL, servers.Options{Args: []string{
		"--skip-character-set-client-handshake", "--character-set-server=latin1", "--innodb-rollback-on-timeout=ON",
	}})
	return server, Spoil(t, server)
}

// Spoil gives the server's session variables bad defaults, and returns their names.
func Spoil(t testing.TB, server *servers.MySQL) (spoiled []string) {
	t.Helper()
	for _, v := range badDefaults {
		err := server.Exec(t.Context(), "SET GLOBAL "+v[0]+" = "+v[1])
		if refused, ok := errors.AsType[*mysql.MySQLError](err); ok && refused.Number == 1193 { // unknown variable
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		spoiled = append(spoiled, v[0])
	}
	if missing := len(badDefaults) - len(spoiled); missing > 8 {
		t.Fatalf("the server lacks %d of %d variables", missing, len(badDefaults))
	}
	return spoiled
}
