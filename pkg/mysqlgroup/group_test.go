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

// local runs statements on one member, past the group.
func local(t *testing.T, m *servers.MySQL, statements ...string) {
	t.Helper()
	cfg, err := mysqldb.ParseDSN(m.AdminDSN())
	must(t, err)
	connector, err := mysqldb.Connector(cfg)
	must(t, err)
	db := sql.OpenDB(connector)
	defer func() { must(t, db.Close()) }()
	conn, err := db.Conn(t.Context())
	must(t, err)
	for _, s := range statements {
		_, err := conn.ExecContext(t.Context(), s)
		must(t, err)
	}
	must(t, conn.Close())
}

func TestUp(t *testing.T) {
	g, cfg := start(t)

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
	// The third misses what the others commit.
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
		must(t, m.Exec(t.Context(), "DO (SELECT 1 / (COUNT(*) = 1) FROM kept.rows_of_test)"))
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
