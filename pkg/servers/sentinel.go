package servers

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"

	"orderstock/pkg/servers/programs"
)

// RedisMaster is the master's name in Sentinels started here.
const RedisMaster = "flags"

// RedisFailover is a Redis server with a replica, and the Sentinels that fail over between them.
type RedisFailover struct {
	Fleet
	Servers   []*Redis // the first one starts as the master
	Sentinels Fleet
}

// StartRedisFailover starts two Redis servers and three Sentinels, each in a folder of dir. The Sentinels declare the
// master down after two seconds without an answer.
func StartRedisFailover(ctx context.Context, dir string) (_ *RedisFailover, err error) {
	r := &RedisFailover{}
	defer func() {
		if err != nil {
			err = errors.Join(err, r.Kill())
		}
	}()
	var replicaOf []string
	for _, name := range []string{"redis-1", "redis-2"} {
		server, err := StartRedis(ctx, filepath.Join(dir, name), named(name), WithArgs(replicaOf...))
		if err != nil {
			return nil, err
		}
		r.Servers, r.Fleet = append(r.Servers, server), append(r.Fleet, server.Server)
		host, port, _ := net.SplitHostPort(server.Addr())
		replicaOf = []string{"--replicaof", host, port}
	}
	host, port, _ := net.SplitHostPort(r.Servers[0].Addr())
	for i := range 3 {
		name := fmt.Sprintf("sentinel-%d", i+1)
		s, err := startSentinel(ctx, filepath.Join(dir, name), name, host, port)
		if err != nil {
			return nil, err
		}
		r.Sentinels, r.Fleet = append(r.Sentinels, s), append(r.Fleet, s)
	}
	return r, nil
}

func named(name string) Option { return func(o *options) { o.name = name } }

func startSentinel(ctx context.Context, dir, name, host, port string) (*Server, error) {
	path, err := programs.Redis()
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	addr, err := freeAddr()
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	_, own, _ := net.SplitHostPort(addr)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	settings := fmt.Sprintf(`bind 127.0.0.1
port %s
sentinel monitor %[2]s %s %s 2
sentinel down-after-milliseconds %[2]s 2000
sentinel failover-timeout %[2]s 10000
`, own, RedisMaster, host, port)
	if err := os.WriteFile(filepath.Join(dir, "sentinel.conf"), []byte(settings), 0o644); err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	return Start(ctx, Spec{
		Name: name, Path: path, Args: []string{"sentinel.conf", "--sentinel"}, Dir: dir, Addr: addr,
		Ready: func(ctx context.Context) error { return pingRedis(ctx, addr) },
	})
}

// Addr returns the addresses of the Sentinels, separated by commas.
func (r *RedisFailover) Addr() string { return r.Sentinels.Addr() }
