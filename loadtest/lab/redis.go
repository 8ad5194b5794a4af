package lab

import (
	"context"
	"fmt"

	"github.com/redis/go-redis/v9"
)

// FlushRedis deletes all that Redis holds, and returns how many keys that were.
func (l *Lab) FlushRedis(ctx context.Context) (int64, error) {
	client := redis.NewClient(&redis.Options{Addr: l.Redis.Addr(), MaxRetries: -1})
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
