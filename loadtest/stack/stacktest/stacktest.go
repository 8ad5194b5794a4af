// Package stacktest brings up whole stacks for tests.
package stacktest

import (
	"context"
	"crypto/rand"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"orderstock/loadtest/stack"
	"orderstock/migrations"
	"orderstock/pkg/compile"
	"orderstock/pkg/servers/serverstest"
)

// Build returns the folder of both services' binaries. If the environment names none, it compiles them.
func Build(t *testing.T) (bin string) {
	t.Helper()
	if bin := os.Getenv(stack.EnvTestBin); bin != "" {
		return bin
	}
	root, err := stack.ModuleRoot()
	if err != nil {
		t.Fatal(err)
	}
	bin = t.TempDir()
	options := compile.Options{Root: root, Bin: bin}
	if err := compile.Programs(t.Context(), options, "order-service", "stock-service"); err != nil {
		t.Fatal(err)
	}
	return bin
}

// Up brings up the services in the folder bin on the servers of the tests, with their own databases, users and
// ZooKeeper root. change may change the configuration first.
func Up(t *testing.T, bin string, change func(*stack.Config)) *stack.Stack {
	t.Helper()
	suffix := strings.ToLower(rand.Text()[:10])
	user := func(name string) migrations.User { return migrations.User{Name: name + "_" + suffix} }
	cfg := stack.Config{
		Dir: t.TempDir(), Bin: bin, ZooKeeperRoot: serverstest.ZooKeeperRoot(t),
		Servers: &stack.Servers{
			MySQL: serverstest.MySQL(t), Redis: serverstest.Redis(t),
			ZooKeeper: serverstest.ZooKeeper(t),
		},
		Accounts: migrations.Accounts{
			OrderDB: "order_" + suffix, StockDB: "stock_" + suffix,
			OrderApp: user("order_app"), StockApp: user("stock_app"), Migrator: user("migrator"), Verifier: user("verifier"),
		},
	}
	change(&cfg)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), 10*time.Second)
		defer cancel()
		a := cfg.Accounts
		err := cfg.Servers.MySQL.Exec(ctx, "DROP DATABASE IF EXISTS "+a.OrderDB, "DROP DATABASE IF EXISTS "+a.StockDB)
		for _, u := range []migrations.User{a.OrderApp, a.StockApp, a.Migrator, a.Verifier} {
			err = errors.Join(err, cfg.Servers.MySQL.Exec(ctx, "DROP USER IF EXISTS '"+u.Name+"'@'%'"))
		}
		if err != nil {
			t.Error(err)
		}
	})
	st, err := stack.Up(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := st.Kill(); err != nil {
			t.Error(err)
		}
	})
	return st
}
