package servers

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"

	"orderstock/pkg/servers/programs"
)

// RedisMaster is the master's name in Sentinels started here.
const RedisMaster = "flags"

// RedisFailover is a Redis server with a replica, and the Sentinels that fail over between them.
type RedisFailover struct {
	Servers   []*Redis // the first one starts as the master
	Sentinels []*Server
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
	master, err := StartRedis(ctx, filepath.Join(dir, "redis-1"), named("redis-1"))
	if err != nil {
		return nil, err
	}
	r.Servers = append(r.Servers, master)
	host, port, err := net.SplitHostPort(master.Addr())
	if err != nil {
		return nil, fmt.Errorf("start sentinels: %w", err)
	}
	replica, err := StartRedis(ctx, filepath.Join(dir, "redis-2"), named("redis-2"), WithArgs("--replicaof", host, port))
	if err != nil {
		return nil, err
	}
	r.Servers = append(r.Servers, replica)
	for i := range 3 {
		name := fmt.Sprintf("sentinel-%d", i+1)
		s, err := startSentinel(ctx, filepath.Join(dir, name), name, host, port)
		if err != nil {
			return nil, err
		}
		r.Sentinels = append(r.Sentinels, s)
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
func (r *RedisFailover) Addr() string {
	var addrs []string
	for _, s := range r.Sentinels {
		addrs = append(addrs, s.Addr())
	}
	return strings.Join(addrs, ",")
}

// Stop stops Sentinels and servers gracefully.
func (r *RedisFailover) Stop(ctx context.Context) error {
	return r.each(func(s *Server) error { return s.Stop(ctx) })
}

// Kill kills Sentinels and servers.
func (r *RedisFailover) Kill() error { return r.each((*Server).Kill) }

func (r *RedisFailover) each(do func(*Server) error) error {
	var errs []error
	for _, s := range r.Sentinels {
		errs = append(errs, do(s))
	}
	for _, s := range r.Servers {
		errs = append(errs, do(s.Server))
	}
	return errors.Join(errs...)
}
