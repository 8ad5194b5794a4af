//go:build cluster

package mysqlgroup_test

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"orderstock/pkg/mysqldb"
	"orderstock/pkg/mysqlgroup"
	"orderstock/pkg/servers"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// start starts three servers that are in no group yet.
func start(t *testing.T) (*servers.MySQLGroup, mysqlgroup.Config) {
	t.Helper()
	g, err := servers.StartMySQLGroup(t.Context(), t.TempDir(), 3, nil)
	must(t, err)
	t.Cleanup(func() { must(t, g.Kill()) })
	return g, mysqlgroup.Config{
		AdminDSN: g.MySQL().AdminDSN(), Password: "it's a secret", Say: func(s string) { t.Log(s) },
	}
}

func states(t *testing.T, cfg mysqlgroup.Config) []mysqlgroup.Member {
	t.Helper()
	all, err := mysqlgroup.Read(t.Context(), cfg)
	must(t, err)
	return all
}

// connect returns a connection to one member, past the group.
func connect(t *testing.T, m *servers.MySQL) *sql.Conn {
	t.Helper()
	cfg, err := mysqldb.ParseDSN(m.AdminDSN())
	must(t, err)
	connector, err := mysqldb.Connector(cfg, mysqldb.Options{})
	must(t, err)
	db := sql.OpenDB(connector)
	t.Cleanup(func() { _ = db.Close() }) // the server may be gone
	conn, err := db.Conn(t.Context())
	must(t, err)
	return conn
}

// local runs statements on one member.
func local(t *testing.T, m *servers.MySQL, statements ...string) {
	t.Helper()
	conn := connect(t, m)
	defer func() { must(t, conn.Close()) }()
	for _, s := range statements {
		_, err := conn.ExecContext(t.Context(), s)
		must(t, err)
	}
}

// count returns the number that a query of one member returns.
func count(t *testing.T, m *servers.MySQL, query string) (n int) {
	t.Helper()
	conn := connect(t, m)
	defer func() { must(t, conn.Close()) }()
	must(t, conn.QueryRowContext(t.Context(), query).Scan(&n))
	return n
}

func TestUp(t *testing.T) {
	g, cfg := start(t)
	for _, m := range g.Members {
		local(t, m, "SET PERSIST password_history = 3") // each member refuses a password that it knows
	}

	short := cfg
	short.Wait = 2 * time.Second
	must(t, g.Members[2].Kill())
	if err := mysqlgroup.Up(t.Context(), short); !errors.Is(err, mysqlgroup.ErrAway) {
		t.Errorf("first start without one: %v; want ErrAway", err)
	}
	for _, m := range states(t, cfg)[:2] {
		if m.Err != nil || m.State != "OFFLINE" || !m.Fresh {
			t.Errorf("after a refusal %s is %s, fresh %v: %v", m.Addr, m.State, m.Fresh, m.Err)
		}
	}
	must(t, g.Members[2].Restart(t.Context()))

	var both sync.WaitGroup
	for range 2 {
		both.Go(func() {
			if err := mysqlgroup.Up(t.Context(), cfg); err != nil {
				t.Error(err)
			}
		})
	}
	both.Wait()
	must(t, mysqlgroup.Whole(states(t, cfg)))
	must(t, g.MySQL().Exec(t.Context(), "CREATE DATABASE kept", "CREATE TABLE kept.rows_of_test (id INT PRIMARY KEY)",
		"INSERT INTO kept.rows_of_test VALUES (1)"))
	must(t, mysqlgroup.Up(t.Context(), cfg))
	if _, err := mysqlgroup.Reboot(t.Context(), cfg, true); !errors.Is(err, mysqlgroup.ErrUp) {
		t.Errorf("reboot of a group that is up: %v; want ErrUp", err)
	}

	// A member joins by itself, and takes no writes before.
	must(t, g.Members[1].Kill())
	must(t, g.Members[1].Restart(t.Context()))
	await(t, func() bool { return mysqlgroup.Whole(states(t, cfg)) == nil })

	// One that is out joins by Up.
	local(t, g.Members[2], "STOP GROUP_REPLICATION")
	if err := mysqlgroup.Whole(states(t, cfg)); err == nil ||
		!strings.Contains(err.Error(), g.Members[2].Addr()+" is OFFLINE") {
		t.Errorf("one is out: %v", err)
	}
	must(t, mysqlgroup.Up(t.Context(), cfg))
	must(t, mysqlgroup.Whole(states(t, cfg)))
}

func TestReboot(t *testing.T) {
	g, cfg := start(t)
	must(t, mysqlgroup.Up(t.Context(), cfg))
	all := g.MySQL()
	must(t, all.Exec(t.Context(), "CREATE DATABASE kept", "CREATE TABLE kept.rows_of_test (id INT PRIMARY KEY)"))
	// The third misses the others' commits.
	must(t, g.Members[2].Kill())
	await(t, func() bool { return all.Exec(t.Context(), "INSERT IGNORE INTO kept.rows_of_test VALUES (1)") == nil })
	must(t, g.Kill())
	must(t, g.Members[0].Restart(t.Context()))
	must(t, g.Members[2].Restart(t.Context()))

	short := cfg
	short.Wait = 4 * time.Second
	if err := mysqlgroup.Up(t.Context(), short); !errors.Is(err, mysqlgroup.ErrAway) {
		t.Errorf("up after a loss of all, one away: %v; want ErrAway", err)
	}
	if _, err := mysqlgroup.Reboot(t.Context(), short, false); !errors.Is(err, mysqlgroup.ErrAway) ||
		!strings.Contains(err.Error(), "--force") {
		t.Errorf("reboot with one away: %v; want ErrAway, and how to go on", err)
	}
	must(t, g.Members[1].Restart(t.Context()))
	if err := mysqlgroup.Up(t.Context(), cfg); !errors.Is(err, mysqlgroup.ErrHoldsData) ||
		!strings.Contains(err.Error(), "reboot") {
		t.Errorf("up after a loss of all: %v; want ErrHoldsData, and how to go on", err)
	}

	chosen, err := mysqlgroup.Reboot(t.Context(), cfg, false)
	must(t, err)
	if chosen == g.Members[2].Addr() {
		t.Errorf("it began with the one that lacks a transaction")
	}
	must(t, mysqlgroup.Whole(states(t, cfg)))
	for _, m := range g.Members {
		if n := count(t, m, "SELECT COUNT(*) FROM kept.rows_of_test"); n != 1 {
			t.Errorf("%s has %d rows; want 1", m.Addr(), n)
		}
	}

	// By force without one, and that one joins later.
	must(t, g.Kill())
	must(t, g.Members[1].Restart(t.Context()))
	must(t, g.Members[2].Restart(t.Context()))
	_, err = mysqlgroup.Reboot(t.Context(), cfg, true)
	must(t, err)
	must(t, g.Members[0].Restart(t.Context()))
	await(t, func() bool { return mysqlgroup.Whole(states(t, cfg)) == nil })

	// Two that were written by themselves.
	must(t, g.Kill())
	for i, m := range g.Members {
		must(t, m.Restart(t.Context()))
		if i < 2 {
			local(t, m, "SET GLOBAL super_read_only = OFF", "INSERT INTO kept.rows_of_test VALUES ("+string('7'+rune(i))+")")
		}
	}
	_, err = mysqlgroup.Reboot(t.Context(), cfg, true)
	if !errors.Is(err, mysqlgroup.ErrParted) ||
		!strings.Contains(err.Error(), g.Members[0].Addr()+" lacks some of "+g.Members[1].Addr()) {
		t.Errorf("reboot of two histories: %v; want ErrParted, and whose", err)
	}
	for _, m := range states(t, cfg) {
		if m.State == "ONLINE" {
			t.Errorf("%s is in a group after a refusal", m.Addr)
		}
	}
}

// TestServersWithHistories: servers that are in no group, with their transactions.
func TestServersWithHistories(t *testing.T) {
	g, cfg := start(t)
	holding, other := g.Members[1], g.Members[2]
	local(t, holding, "CREATE DATABASE kept")
	if err := mysqlgroup.Up(t.Context(), cfg); !errors.Is(err, mysqlgroup.ErrHoldsData) ||
		!strings.Contains(err.Error(), holding.Addr()+"; if it was in a group") ||
		!strings.Contains(err.Error(), "if it was in none") {
		t.Errorf("up with a server that holds data: %v; want ErrHoldsData, and how to go on in either case", err)
	}
	local(t, other, "CREATE DATABASE kept")
	if err := reboot(t.Context(), cfg); !errors.Is(err, mysqlgroup.ErrParted) {
		t.Errorf("reboot of two histories: %v; want ErrParted", err)
	}

	// Another run holds one member's lock, and its first member may differ from this one's.
	short := cfg
	short.Wait = 2 * time.Second
	run := connect(t, other)
	_, err := run.ExecContext(t.Context(), "DO GET_LOCK('orderstock-group', 0)")
	must(t, err)
	for _, err := range []error{mysqlgroup.Up(t.Context(), short), reboot(t.Context(), short)} {
		if !errors.Is(err, mysqlgroup.ErrBusy) || !strings.Contains(err.Error(), other.Addr()) {
			t.Errorf("during another run: %v; want ErrBusy, and where", err)
		}
	}
	_, err = run.ExecContext(t.Context(), "DO RELEASE_LOCK('orderstock-group')")
	must(t, err)
	must(t, run.Close())

	// The advice is followed: one keeps its data. Each of the empty ones has a transaction of its first start.
	local(t, other, "DROP DATABASE kept", "RESET BINARY LOGS AND GTIDS", "CREATE USER made@localhost")
	local(t, g.Members[0], "CREATE USER made@localhost")
	chosen, err := mysqlgroup.Reboot(t.Context(), cfg, false)
	must(t, err)
	if chosen != holding.Addr() {
		t.Errorf("it began with %s; want %s, which holds the data", chosen, holding.Addr())
	}
	must(t, mysqlgroup.Whole(states(t, cfg)))
	for _, m := range g.Members {
		if count(t, m, "SELECT COUNT(*) FROM information_schema.schemata WHERE schema_name = 'kept'") != 1 {
			t.Errorf("%s lacks the data", m.Addr())
		}
	}

	// A list of received transactions may be long.
	const histories = 40
	primary := connect(t, holding)
	for range histories {
		for _, s := range []string{"SET GTID_NEXT = CONCAT(UUID(), ':1')", "BEGIN", "COMMIT"} {
			_, err := primary.ExecContext(t.Context(), s)
			must(t, err)
		}
	}
	must(t, primary.Close())
	await(t, func() bool {
		for _, m := range states(t, cfg) {
			must(t, m.Err)
			if strings.Count(m.Transactions, ",") < histories {
				return false
			}
		}
		return true
	})
}

// TestServersThatCannotBeAsked: one without the plugin, and then none at all.
func TestServersThatCannotBeAsked(t *testing.T) {
	g, cfg := start(t)
	cfg.Wait = 2 * time.Second
	local(t, g.Members[1], "UNINSTALL PLUGIN group_replication")
	for _, err := range []error{mysqlgroup.Up(t.Context(), cfg), reboot(t.Context(), cfg)} {
		if !errors.Is(err, mysqlgroup.ErrAway) || !strings.Contains(err.Error(), "plugin-load-add") {
			t.Errorf("with a server without the plugin: %v; want ErrAway, and how to load it", err)
		}
	}
	must(t, g.Kill())
	for _, force := range []bool{false, true} {
		if _, err := mysqlgroup.Reboot(t.Context(), cfg, force); !errors.Is(err, mysqlgroup.ErrAway) {
			t.Errorf("reboot of none, force %v: %v; want ErrAway", force, err)
		}
	}
}

func TestBadInput(t *testing.T) {
	for name, c := range map[string]struct {
		cfg  mysqlgroup.Config
		want string
	}{
		"one server":  {mysqlgroup.Config{AdminDSN: "root:hunter2@tcp(127.0.0.1:1)/", Password: "x"}, "all members"},
		"no password": {mysqlgroup.Config{AdminDSN: "root:hunter2@group(127.0.0.1:1)/"}, "no password"},
		"no DSN":      {mysqlgroup.Config{Password: "x"}, "read DSN"},
	} {
		for _, err := range []error{mysqlgroup.Up(t.Context(), c.cfg), reboot(t.Context(), c.cfg)} {
			if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "hunter2") {
				t.Errorf("%s: %v; want %q", name, err, c.want)
			}
		}
	}
}

func reboot(ctx context.Context, cfg mysqlgroup.Config) error {
	_, err := mysqlgroup.Reboot(ctx, cfg, false)
	return err
}

// await waits until it holds; the test's own limit bounds it.
func await(t *testing.T, holds func() bool) {
	t.Helper()
	for !holds() {
		select {
		case <-t.Context().Done():
			t.Fatal(t.Context().Err())
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// TestNoSecondGroup: with any list of members, and a run killed anywhere, no second group begins.
func TestNoSecondGroup(t *testing.T) {
	g, cfg := start(t)
	listing := func(members ...*servers.MySQL) mysqlgroup.Config {
		some, err := mysqldb.ParseDSN(cfg.AdminDSN)
		must(t, err)
		var addrs []string
		for _, m := range members {
			addrs = append(addrs, m.Addr())
		}
		some.Addr = strings.Join(addrs, ",")
		c := cfg
		c.AdminDSN, c.Wait = some.FormatDSN(), 20*time.Second
		return c
	}
	// Two people name different members.
	for _, c := range []mysqlgroup.Config{listing(g.Members[0], g.Members[1]), listing(g.Members[2])} {
		if err := mysqlgroup.Up(t.Context(), c); !errors.Is(err, mysqlgroup.ErrUnlisted) {
			t.Errorf("up with a part of the members: %v; want ErrUnlisted", err)
		}
	}
	must(t, mysqlgroup.Up(t.Context(), cfg))

	// A run was killed while it began the group.
	local(t, g.Members[0], "SET GLOBAL group_replication_bootstrap_group = ON")
	must(t, mysqlgroup.Up(t.Context(), cfg))
	if n := count(t, g.Members[0], "SELECT @@GLOBAL.group_replication_bootstrap_group"); n != 0 {
		t.Error("after up, a member is still ready to begin a second group")
	}

	// Somebody names only a member that is out.
	local(t, g.Members[2], "STOP GROUP_REPLICATION")
	for _, force := range []bool{false, true} {
		if _, err := mysqlgroup.Reboot(t.Context(), listing(g.Members[2]), force); !errors.Is(err, mysqlgroup.ErrUnlisted) {
			t.Errorf("reboot of one that is out, force %t: %v; want ErrUnlisted", force, err)
		}
	}

	// Two groups that began by hand are not called whole, by nobody.
	local(t, g.Members[2], "SET GLOBAL super_read_only = OFF", "SET GLOBAL group_replication_bootstrap_group = ON",
		"START GROUP_REPLICATION", "SET GLOBAL group_replication_bootstrap_group = OFF")
	await(t, func() bool {
		err := mysqlgroup.Whole(states(t, cfg))
		return err != nil && strings.Contains(err.Error(), "2 members are primary")
	})
	if err := mysqlgroup.Up(t.Context(), cfg); err == nil || !strings.Contains(err.Error(), "2 members are primary") {
		t.Errorf("up of two groups: %v; want the number of primaries", err)
	}
	all, err := mysqldb.ParseDSN(cfg.AdminDSN)
	must(t, err)
	connector, err := mysqldb.Connector(all, mysqldb.Options{})
	must(t, err)
	db := sql.OpenDB(connector)
	defer func() { must(t, db.Close()) }()
	if err := db.PingContext(t.Context()); !errors.Is(err, mysqldb.ErrNoPrimary) {
		t.Errorf("a service of two groups: %v; want ErrNoPrimary", err)
	}
}
