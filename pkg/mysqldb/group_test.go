package mysqldb_test

import (
	"database/sql"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/go-sql-driver/mysql"

	"orderstock/pkg/mysqldb"
	"orderstock/pkg/servers/serverstest"
)

func TestAGroupNamesItsMembers(t *testing.T) {
	t.Parallel()
	cfg, err := mysqldb.ParseDSN("app:secret@group(a, b:3307,c)/shop?parseTime=true")
	must(t, err)
	addrs, err := mysqldb.Addrs(cfg)
	if must(t, err); !slices.Equal(addrs, []string{"a:3306", "b:3307", "c:3306"}) {
		t.Errorf("members %q", addrs)
	}
	for _, bad := range []string{
		"app:secret@group(a,,b)/shop", "app:secret@group(a,b,a:3306)/shop", "app:secret@group()/shop",
	} {
		if _, err := mysqldb.ParseDSN(bad); err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("DSN %q: %v", bad, err)
		}
	}
}

// A server that belongs to no group counts as down from the start, and stays so.
func TestAServerWithoutAGroupIsNoPrimary(t *testing.T) {
	cfg, err := mysql.ParseDSN(serverstest.Database(t))
	must(t, err)
	cfg.Net, cfg.Addr = mysqldb.GroupNet, cfg.Addr+",127.0.0.1:1"
	connector, err := mysqldb.Connector(cfg, mysqldb.Options{})
	must(t, err)
	pool := sql.OpenDB(connector)
	defer func() { must(t, pool.Close()) }()
	err = pool.PingContext(t.Context())
	if !errors.Is(err, mysqldb.ErrNoPrimary) || !strings.Contains(err.Error(), "127.0.0.1:1 does not answer") {
		t.Errorf("error %v; want ErrNoPrimary with each member's answer", err)
	}
}
