package lab

import (
	"context"
	"fmt"
	"strings"

	"github.com/redis/go-redis/v9"

	"orderstock/pkg/servers"
)

// FlushRedis deletes all keys in Redis and returns how many there were.
func (l *Lab) FlushRedis(ctx context.Context) (int64, error) {
	opts := &redis.UniversalOptions{Addrs: []string{l.Redis.Addr()}, MaxRetries: -1}
	if l.Cluster != nil {
		opts.Addrs, opts.MasterName = strings.Split(l.Redis.Addr(), ","), servers.RedisMaster
	}
	client := redis.NewUniversalClient(opts)
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
