package serverstest_test

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"go.uber.org/goleak"

	"orderstock/pkg/redisdb"
	"orderstock/pkg/servers/serverstest"
)

func TestDatabaseIsTheTestsOwn(t *testing.T) {
	t.Parallel()
	var first string
	t.Run("use", func(t *testing.T) {
		first = serverstest.Database(t)
		db := open(t, first)
		if _, err := db.ExecContext(t.Context(), "CREATE TABLE t (n INT)"); err != nil {
			t.Fatal(err)
		}
		if _, err := open(t, serverstest.Database(t)).ExecContext(t.Context(), "SELECT n FROM t"); err == nil {
			t.Error("a second database holds the first one's table")
		}
	})
	if err := open(t, first).PingContext(t.Context()); err == nil {
		t.Error("the database is there after its test")
	}
}

func open(t *testing.T, dsn string) *sql.DB {
	t.Helper()
	db, err := sql.Open("mysql", dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

func TestRedisPlacesAreTheTestsOwn(t *testing.T) {
	t.Parallel()
	var number int
	t.Run("use", func(t *testing.T) {
		number = serverstest.RedisDB(t)
		if other := serverstest.RedisDB(t); other == number || number == 0 || other == 0 {
			t.Errorf("databases %d and %d; want two different ones, not 0", number, other)
		}
		if err := client(t, number).Set(t.Context(), "k", 1, time.Minute).Err(); err != nil {
			t.Fatal(err)
		}
	})
	if n, err := client(t, number).Exists(t.Context(), "k").Result(); err != nil || n != 0 {
		t.Errorf("database %d holds %d of the test's keys after it, %v", number, n, err)
	}
}

func client(t *testing.T, db int) redisdb.Client {
	t.Helper()
	c := redisdb.Open(redisdb.Server{Addrs: []string{serverstest.Redis(t).Addr()}, DB: db}, 10*time.Second)
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func TestZooKeeperRootIsRemovedWithAllBelow(t *testing.T) {
	t.Parallel()
	c, _, err := zk.Connect([]string{serverstest.ZooKeeper(t).Addr()}, 10*time.Second, zk.WithLogInfo(false))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	var root string
	t.Run("use", func(t *testing.T) {
		root = serverstest.ZooKeeperRoot(t)
		for _, path := range []string{root + "/a", root + "/a/b", root + "/c"} {
			if _, err := c.Create(path, nil, 0, zk.WorldACL(zk.PermAll)); err != nil {
				t.Fatal(err)
			}
		}
	})
	if there, _, err := c.Exists(root); err != nil || there {
		t.Errorf("root is there after its test: %t, %v", there, err)
	}
}

func TestNoGoroutineIsLeft(t *testing.T) {
	serverstest.Database(t)
	serverstest.RedisDB(t)
	serverstest.ZooKeeperRoot(t)
	ignore := append(serverstest.Goroutines(), goleak.IgnoreCurrent())
	t.Run("use", func(t *testing.T) {
		serverstest.Database(t)
		serverstest.RedisDB(t)
		serverstest.ZooKeeperRoot(t)
	})
	goleak.VerifyNone(t, ignore...)
}

// Two transactions that update two rows in opposite order deadlock; one after the other they do not.
func TestDeadlock(t *testing.T) {
	db := open(t, serverstest.Database(t))
	exec := func(run func(context.Context, string, ...any) (sql.Result, error), statement string) {
		if _, err := run(t.Context(), statement); err != nil && !strings.Contains(err.Error(), "Deadlock") {
			t.Error(err)
		}
	}
	exec(db.ExecContext, "CREATE TABLE t (id INT PRIMARY KEY, n INT)")
	exec(db.ExecContext, "INSERT INTO t VALUES (1, 0), (2, 0)")
	var first sync.WaitGroup
	transaction := func(rows ...int) {
		tx, err := db.BeginTx(t.Context(), nil)
		if err != nil {
			t.Error(err)
			first.Done()
			return
		}
		exec(tx.ExecContext, fmt.Sprintf("UPDATE t SET n = n + 1 WHERE id = %d", rows[0]))
		first.Done()
		first.Wait()
		exec(tx.ExecContext, fmt.Sprintf("UPDATE t SET n = n + 1 WHERE id = %d", rows[1]))
		_ = tx.Commit() // fails for the victim
	}
	if report := serverstest.Deadlock(t, db, func() {
		first.Add(1)
		transaction(1, 2)
	}); report != "" {
		t.Errorf("one transaction alone: %s", report)
	}
	for range 20 { // the server keeps one report, which a deadlock of another test may replace
		if report := serverstest.Deadlock(t, db, func() {
			first.Add(2)
			var both sync.WaitGroup
			both.Go(func() { transaction(1, 2) })
			both.Go(func() { transaction(2, 1) })
			both.Wait()
		}); report != "" {
			return
		}
	}
	t.Error("no deadlock was seen")
}

// TestMain also checks that the process's own servers leave no goroutine that Goroutines does not name.
func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, serverstest.Goroutines()...)
}
