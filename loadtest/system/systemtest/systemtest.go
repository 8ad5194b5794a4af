// Package systemtest brings up whole stacks for tests.
package systemtest

import (
	"context"
	"crypto/rand"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"orderstock/loadtest/system"
	"orderstock/migrations"
	"orderstock/pkg/servers/programs"
	"orderstock/pkg/servers/serverstest"
)

var built = sync.OnceValues(func() (bin string, err error) {
	if bin := os.Getenv(system.EnvTestBin); bin != "" {
		return bin, nil
	}
	root, err := system.ModuleRoot()
	if err != nil {
		return "", err
	}
	folder, err := serverstest.Folder()
	if err != nil {
		return "", err
	}
	options := programs.Source{Root: root, Bin: filepath.Join(folder, "bin")}
	//nolint:forbidigo // outlives the test that asked first
	return options.Bin, programs.Compile(context.Background(), options, "order-service", "stock-service")
})

// Build returns the folder of both services' binaries. If the environment names none, the test process compiles them
// once.
func Build(t *testing.T) (bin string) {
	t.Helper()
	bin, err := built()
	if err != nil {
		t.Fatal(err)
	}
	return bin
}

// Config configures a stack of the services in the folder bin on the servers of the tests, with its own databases,
// users and ZooKeeper root. They are dropped at the test's end.
func Config(t *testing.T, bin string) system.Config {
	t.Helper()
	a := migrations.AccountsOf("_" + strings.ToLower(rand.Text()[:10]))
	on := &system.Servers{MySQL: serverstest.MySQL(t), Redis: serverstest.Redis(t), ZooKeeper: serverstest.ZooKeeper(t)}
	made := *on // a test may replace the server, and stop the new one before this
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), time.Minute)
		defer cancel()
		if err := made.Drop(ctx, a); err != nil {
			t.Error(err)
		}
	})
	return system.Config{
		Dir: t.TempDir(), Bin: bin, ZooKeeperRoot: serverstest.ZooKeeperRoot(t), Accounts: a, Servers: on,
	}
}

// Up brings up a stack by Config, which change may change first, and kills it at the test's end.
func Up(t *testing.T, bin string, change func(*system.Config)) *system.System {
	t.Helper()
	cfg := Config(t, bin)
	change(&cfg)
	return Start(t, cfg)
}

// Start brings up a stack, and kills it at the test's end.
func Start(t *testing.T, cfg system.Config) *system.System {
	t.Helper()
	st, err := system.Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := st.Close(); err != nil {
			t.Error(err)
		}
	})
	return st
}
