package system

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"orderstock/pkg/redisdb"
	"orderstock/pkg/servers"
)

// RedisServer locates Redis, or the Sentinels of a cluster.
func (s *Servers) RedisServer() redisdb.Server {
	at := redisdb.Server{Addrs: strings.Split(s.Redis.Addr(), ",")}
	if s.Cluster != nil {
		at.Master = servers.RedisMaster
	}
	return at
}

// FlushRedis deletes all keys in Redis and returns how many there were.
func (s *System) FlushRedis(ctx context.Context) (int64, error) {
	client := redisdb.Open(s.RedisServer(), 3*time.Second)
	defer func() { _ = client.Close() }()
	var size *redis.IntCmd
	_, err := client.TxPipelined(ctx, func(p redis.Pipeliner) error {
		size = p.DBSize(ctx)
		p.FlushAll(ctx)
		return nil
	})
	if err != nil {
		return 0, fmt.Errorf("flush redis: %w", err)
	}
	return size.Val(), nil
}
