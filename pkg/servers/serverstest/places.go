package serverstest

import (
	"context"
	"crypto/rand"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/redis/go-redis/v9"

	"orderstock/pkg/redisdb"
	"orderstock/pkg/servers"
)

// Database creates an empty database for this test and returns the administrator's DSN for it. It is dropped at the
// test's end.
func Database(t testing.TB) (dsn string) {
	t.Helper()
	server := MySQL(t)
	name := "test_" + strings.ToLower(rand.Text()[:16])
	if err := server.Exec(t.Context(), "CREATE DATABASE `"+name+"` CHARACTER SET utf8mb4"); err != nil {
		t.Fatal(err)
	}
	cleanup(t, "drop the test's database", func(ctx context.Context) error {
		return server.Exec(ctx, "DROP DATABASE `"+name+"`")
	})
	return server.AdminDSNFor(name)
}

// RedisDB returns the number of an empty database on the run's Redis server,
// for redisdb.Server.DB. It is emptied at the test's end.
func RedisDB(t testing.TB) int {
	t.Helper()
	server := Redis(t)
	number, err := claimRedisDB(t.Context(), server)
	if err != nil {
		t.Fatalf("claim a Redis database: %v", err)
	}
	cleanup(t, "empty the test's Redis database", func(ctx context.Context) error {
		return withRedis(server, number, func(c redis.Cmdable) error { return c.FlushDB(ctx).Err() })
	})
	return number
}

// claimRedisDB counts through the databases; number 0 holds the count.
func claimRedisDB(ctx context.Context, server *servers.Redis) (number int, err error) {
	err = withRedis(server, 0, func(c redis.Cmdable) error {
		n, err := c.Incr(ctx, "orderstock-test-databases").Result()
		number = 1 + int(n%(servers.RedisDatabases-1))
		return err
	})
	if err != nil {
		return 0, err
	}
	return number, withRedis(server, number, func(c redis.Cmdable) error { return c.FlushDB(ctx).Err() })
}

func withRedis(server *servers.Redis, db int, do func(redis.Cmdable) error) error {
	c := redisdb.Open(redisdb.Server{Addrs: []string{server.Addr()}, DB: db}, 10*time.Second)
	return errors.Join(do(c), c.Close())
}

// ZooKeeperRoot makes an empty node "/test-…" on the run's ZooKeeper server and
// returns its path. It is deleted with all below it at the test's end.
func ZooKeeperRoot(t testing.TB) string {
	t.Helper()
	server := ZooKeeper(t)
	root := "/test-" + strings.ToLower(rand.Text()[:16])
	err := withZooKeeper(server, func(c *zk.Conn) error {
		_, err := c.Create(root, nil, 0, zk.WorldACL(zk.PermAll))
		return err
	})
	if err != nil {
		t.Fatalf("make ZooKeeper node %s: %v", root, err)
	}
	cleanup(t, "delete the test's ZooKeeper nodes", func(ctx context.Context) error {
		return withZooKeeper(server, func(c *zk.Conn) error { return deleteTree(ctx, c, root) })
	})
	return root
}

func withZooKeeper(server *servers.ZooKeeper, do func(*zk.Conn) error) error {
	c, events, err := zk.Connect([]string{server.Addr()}, 20*time.Second, zk.WithLogger(quiet{}))
	if err != nil {
		return err
	}
	err = do(c)
	c.Close()
	for range events { // closed when the connection's goroutines have ended
	}
	return err
}

type quiet struct{}

func (quiet) Printf(string, ...any) {}

// deleteTree deletes path and all nodes below it, including nodes that appear while it works, for example from sessions
// that are just ending.
func deleteTree(ctx context.Context, c *zk.Conn, path string) error {
	for ctx.Err() == nil {
		children, _, err := c.Children(path)
		if errors.Is(err, zk.ErrNoNode) {
			return nil
		}
		if err != nil {
			return err
		}
		for _, child := range children {
			if err := deleteTree(ctx, c, path+"/"+child); err != nil {
				return err
			}
		}
		err = c.Delete(path, -1)
		if err == nil || errors.Is(err, zk.ErrNoNode) {
			return nil
		}
		if !errors.Is(err, zk.ErrNotEmpty) {
			return err
		}
	}
	return ctx.Err()
}
