package serverstest

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"orderstock/pkg/servers"
)

// shared is a server that the test process needs at most once.
type shared[T any] struct {
	get func() (T, error)
}

func share[T any](
	name, env string, start func(context.Context, servers.Options) (T, error), attach func(string) (T, error),
) shared[T] {
	return shared[T]{sync.OnceValues(func() (T, error) {
		if addr := os.Getenv(env); addr != "" {
			return attach(addr)
		}
		root, err := folder()
		if err != nil {
			var none T
			return none, err
		}
		//nolint:forbidigo // outlives the test that asked first
		return start(context.Background(), servers.Options{Dir: filepath.Join(root.path, name)})
	})}
}

func (s shared[T]) of(t testing.TB) T {
	t.Helper()
	server, err := s.get()
	if err != nil {
		t.Fatal(err)
	}
	return server
}

var (
	mysqlServer     = share("mysql", servers.EnvTestMySQL, servers.StartMySQL, servers.AttachMySQL)
	redisServer     = share("redis", servers.EnvTestRedis, servers.StartRedis, attached(servers.AttachRedis))
	zookeeperServer = share("zookeeper", servers.EnvTestZooKeeper, servers.StartZooKeeper,
		attached(servers.AttachZooKeeper))
)

func attached[T any](attach func(string) T) func(string) (T, error) {
	return func(addr string) (T, error) { return attach(addr), nil }
}

// MySQL returns the run's MySQL or MariaDB server.
func MySQL(t testing.TB) *servers.MySQL { t.Helper(); return mysqlServer.of(t) }

// Redis returns the run's Redis server.
func Redis(t testing.TB) *servers.Redis { t.Helper(); return redisServer.of(t) }

// ZooKeeper returns the run's ZooKeeper server.
func ZooKeeper(t testing.TB) *servers.ZooKeeper { t.Helper(); return zookeeperServer.of(t) }

// Start starts a server for this test alone, by a function such as servers.StartMySQL. It is killed at the test's end.
func Start[S servers.Killer](
	t testing.TB, start func(context.Context, servers.Options) (S, error), o servers.Options,
) S {
	t.Helper()
	o.Dir = cmp.Or(o.Dir, t.TempDir())
	server, err := start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Kill(); err != nil {
			t.Error(err)
		}
	})
	return server
}

// MySQLAdminDSN returns the administrator's DSN, without a database.
func MySQLAdminDSN(t testing.TB) string { t.Helper(); return MySQL(t).AdminDSN() }

// Goroutines makes goleak ignore the goroutines of servers that the test process itself runs.
func Goroutines() []goleak.Option {
	return []goleak.Option{
		goleak.IgnoreAnyFunction("orderstock/pkg/servers.(*process).wait"),
		goleak.IgnoreAnyFunction("orderstock/pkg/servers.spawn"),
	}
}

// sharedFolder is the servers' folder of this test process.
type sharedFolder struct {
	path string
	// lifeline is the standard input of the sweeper. A reference to it must stay
	// for as long as the process lives: otherwise the garbage collector closes it.
	lifeline io.WriteCloser
}

// folder makes the servers' folder, which is removed when the test process ends. A test process has no hook that runs
// at every end, so a shell waits for the end of its standard input. The servers die by themselves.
var folder = sync.OnceValues(func() (f sharedFolder, err error) {
	if f.path, err = os.MkdirTemp("", "orderstock-test-"); err != nil {
		return f, err
	}
	sweep := exec.Command("sh", "-c", `read -r _; sleep 0.2; rm -rf "$0" || { sleep 2; rm -rf "$0"; }`, f.path)
	if f.lifeline, err = sweep.StdinPipe(); err != nil {
		return f, err
	}
	if err := sweep.Start(); err != nil {
		return f, fmt.Errorf("start the sweeper of %s: %w", f.path, err)
	}
	return f, nil
})

// Folder returns a folder of this test process, which is removed when the process ends.
func Folder() (path string, err error) {
	f, err := folder()
	return f.path, err
}

// cleanup runs do at the end of the test, with a minute.
func cleanup(t testing.TB, what string, do func(context.Context) error) {
	t.Helper()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), time.Minute)
		defer cancel()
		if err := do(ctx); err != nil {
			t.Errorf("%s: %v", what, err)
		}
	})
}
