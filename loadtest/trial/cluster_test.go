//go:build cluster

package trial_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"orderstock/loadtest/fire"
	"orderstock/loadtest/history"
	"orderstock/loadtest/system"
	"orderstock/loadtest/system/systemtest"
	"orderstock/loadtest/verify"
	"orderstock/migrations"
	"orderstock/pkg/servers"
	"orderstock/pkg/servers/serverstest"
)

var must = serverstest.Must

// A cluster whose replication does not wait for a majority: the primary dies a second
// ahead of its replica, which takes its place. Orders that were acknowledged are gone.
func TestAsynchronousReplicationIsCaught(t *testing.T) {
	group, err := servers.StartMySQLGroup(t.Context(), t.TempDir(), 2, nil)
	must(t, err)
	t.Cleanup(func() { must(t, group.Kill()) })
	source, replica := group.Members[0], group.Members[1]
	cfg, err := mysql.ParseDSN(source.AdminDSN())
	must(t, err)
	must(t, replica.Exec(t.Context(), "CHANGE REPLICATION SOURCE TO SOURCE_HOST = '127.0.0.1', SOURCE_PORT = "+
		cfg.Addr[len("127.0.0.1:"):]+", SOURCE_USER = '"+cfg.User+"', SOURCE_PASSWORD = '"+cfg.Passwd+
		"', SOURCE_SSL = 1, SOURCE_AUTO_POSITION = 1", "START REPLICA"))

	st := up(t, &system.Servers{MySQL: source, Redis: redis(t), ZooKeeper: zookeeper(t)}, "")
	h := fireWhile(t, st, func() error {
		time.Sleep(2 * time.Second) // of traffic
		err := replica.Exec(t.Context(), "STOP REPLICA IO_THREAD")
		time.Sleep(time.Second) // time for more acknowledged orders
		return errors.Join(err, source.Kill())
	})
	must(t, replica.Exec(t.Context(), "STOP REPLICA"))
	databases := st.Databases()
	for _, dsn := range []*string{&databases.OrderDSN, &databases.StockDSN} {
		cfg, err := mysql.ParseDSN(*dsn)
		must(t, err)
		cfg.Addr = replica.Addr()
		*dsn = cfg.FormatDSN()
	}
	violates(t, databases, h, verify.AnswersTrue)
}

// A cluster whose secondaries take writes: one stock service deducts at a secondary, while the other deducts from the
// same row at the primary. No lock isolates them. Each order service has its own stock service, and nothing is
// reconciled: the members stop on a duplicate key if one operation is written at both.
func TestWritableSecondariesAreCaught(t *testing.T) {
	s, err := system.StartCluster(t.Context(), t.TempDir(), nil)
	must(t, err)
	t.Cleanup(func() { must(t, s.Kill()) })
	secondary := s.Cluster.MySQL.Members[1] // the group began with the first
	must(t, secondary.Exec(t.Context(), "SET GLOBAL super_read_only = OFF", "SET GLOBAL read_only = OFF"))

	st := up(t, s, "conditional-update")
	stock := st.Stocks[1]
	cfg, err := mysql.ParseDSN(stock.Env()["MYSQL_DSN"])
	must(t, err)
	cfg.Net, cfg.Addr = "tcp", secondary.Addr()
	stock.SetEnv(map[string]string{"MYSQL_DSN": cfg.FormatDSN()})
	must(t, stock.Restart(t.Context()))
	for i, order := range st.Orders {
		order.SetEnv(map[string]string{"STOCK_URLS": st.Stocks[i].URL(), "PENDING_LIMIT": "5m", "CANCEL_AFTER": "10m"})
		must(t, order.Restart(t.Context()))
	}
	h := fireWhile(t, st, func() error { return nil })
	violates(t, st.Databases(), h, verify.StockBalances)
}

func redis(t *testing.T) *servers.Redis {
	t.Helper()
	s, err := servers.StartRedis(t.Context(), servers.Options{Dir: t.TempDir()})
	must(t, err)
	t.Cleanup(func() { must(t, s.Kill()) })
	return s
}

func zookeeper(t *testing.T) *servers.ZooKeeper {
	t.Helper()
	s, err := servers.StartZooKeeper(t.Context(), servers.Options{Dir: t.TempDir()})
	must(t, err)
	t.Cleanup(func() { must(t, s.Kill()) })
	return s
}

// up starts two services of each kind. The partitions give both stock services work.
func up(t *testing.T, s *system.Servers, strategy string) *system.System {
	t.Helper()
	accounts, partitions := migrations.DefaultAccounts(), map[string]string{"STOCK_PARTITIONS": "16"}
	st, err := system.Open(t.Context(), system.Config{
		Dir: t.TempDir(), Bin: systemtest.Build(t), Servers: s, Accounts: accounts, Strategy: strategy,
		OrderEnv: partitions, StockEnv: partitions,
	})
	must(t, err)
	t.Cleanup(func() { must(t, st.Close()) })
	return st
}

// fireWhile fires orders for five seconds while do is called.
func fireWhile(t *testing.T, st *system.System, do func() error) *history.History {
	t.Helper()
	done := make(chan error, 1)
	go func() { done <- do() }()
	h, err := fire.Run(t.Context(), fire.Config{
		Target: st.Target(), Orders: 1000, Rate: 200, Concurrency: 64, Timeout: 4 * time.Second,
		Mix: fire.Mix{Goods: 1, Stock: 100_000},
	})
	must(t, errors.Join(err, <-done))
	return h
}

// violates checks that the verdict names the invariant.
func violates(t *testing.T, databases verify.Databases, h *history.History, invariant string) {
	t.Helper()
	v, err := verify.Run(t.Context(), verify.Config{Databases: databases, History: h, Settle: time.Second})
	must(t, err)
	if v.Outcome != verify.Violation || !slices.Contains(v.Violated(), invariant) {
		t.Errorf("verdict %s, violated %q, %q; want %s among them", v.Outcome, v.Violated(), v.Reasons, invariant)
	}
	t.Logf("caught by %q", v.Violated())
}
