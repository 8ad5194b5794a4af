package servers

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
)

// RedisMaster is the master's name in Sentinels started here.
const RedisMaster = "flags"

// RedisFailover is a Redis server with a replica, and the Sentinels that fail over between them.
type RedisFailover struct {
	Fleet
	Servers   []*Redis // the first one starts as the master
	Sentinels Fleet
}

// StartRedisFailover starts two Redis servers and three Sentinels. The Sentinels declare the master down after two
// seconds without an answer.
func StartRedisFailover(ctx context.Context, o Options) (*RedisFailover, error) {
	r := &RedisFailover{}
	master, err := Options{}.complete("redis")
	if err != nil {
		return nil, fmt.Errorf("start Redis with a replica: %w", err)
	}
	host, port, _ := net.SplitHostPort(master.Addr)
	replica := Options{Args: []string{"--replicaof", host, port}}
	r.Servers, r.Fleet, err = startMembers(ctx, o.Dir, "redis", StartRedis, []Options{master, replica})
	if err != nil {
		return nil, err
	}
	sentinel := func(ctx context.Context, o Options) (*Redis, error) {
		if err := writeSentinel(o.Dir, host, port); err != nil {
			return nil, fmt.Errorf("start %s: %w", o.Name, err)
		}
		return o.redis(ctx, o.Name, []string{"sentinel.conf", "--sentinel"})
	}
	if _, r.Sentinels, err = startMembers(ctx, o.Dir, "sentinel", sentinel, make([]Options, 3)); err != nil {
		return nil, errors.Join(err, r.Kill())
	}
	r.Fleet = append(r.Fleet, r.Sentinels...)
	return r, nil
}

// writeSentinel writes the file in which a Sentinel keeps its settings and its state.
func writeSentinel(dir, host, port string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	settings := fmt.Sprintf(`sentinel monitor %[1]s %s %s 2
sentinel down-after-milliseconds %[1]s 2000
sentinel failover-timeout %[1]s 10000
`, RedisMaster, host, port)
	return os.WriteFile(filepath.Join(dir, "sentinel.conf"), []byte(settings), 0o644)
}

// Addr returns the addresses of the Sentinels, separated by commas.
func (r *RedisFailover) Addr() string { return r.Sentinels.Addr() }
