package compared

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/go-redsync/redsync/v4"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/redis/go-redis/v9"

	"orderstock/pkg/operation"
	"orderstock/stock-service/deduct"
)

// redisLock takes a Redlock for each product. The lock does not queue its waiters and has no fencing token: a holder
// that returns from a pause longer than the lock's expiry still believes that it holds the lock, and only the condition
// of the update stops it.
type redisLock struct {
	*deduct.UnderLocks
	client *redis.Client
}

const (
	// redisLockExpiry is how long a lock outlives a dead holder.
	redisLockExpiry = 8 * time.Second
	// redisLockPause is the wait between two tries for a lock that is taken.
	redisLockPause = 5 * time.Millisecond
)

func newRedisLock(cfg Config) deduct.Strategy {
	client := redis.NewClient(&redis.Options{
		Addr: cfg.Redis.Addrs[0], DB: cfg.Redis.DB, Username: cfg.Redis.User, Password: cfg.Redis.Password,
		ContextTimeoutEnabled: true,
	})
	locks := redsync.New(goredis.NewPool(client))
	acquire := func(ctx context.Context, goodsID int64) (deduct.Lock, error) {
		m := locks.NewMutex("stocklock:"+operation.FormatGoodsID(goodsID), redsync.WithExpiry(redisLockExpiry),
			redsync.WithTries(math.MaxInt), redsync.WithRetryDelay(redisLockPause)) // until ctx ends
		if err := m.LockContext(ctx); err != nil {
			asking, cancel := context.WithTimeout(context.WithoutCancel(ctx), 100*time.Millisecond)
			defer cancel()
			if client.Ping(asking).Err() == nil {
				err = fmt.Errorf("%w: %w", operation.ErrLocked, err)
			}
			return deduct.Lock{}, err
		}
		alive, end := context.WithDeadline(context.WithoutCancel(ctx), m.Until())
		return deduct.Lock{Alive: alive, Release: func(ctx context.Context) error {
			end()
			if ok, err := m.UnlockContext(ctx); err != nil || !ok {
				return errors.Join(err, fmt.Errorf("unlock %s: not held any more", m.Name()))
			}
			return nil
		}}, nil
	}
	return &redisLock{deduct.NewUnderLocks(cfg.Config, deduct.EachProduct(acquire)), client}
}

// Ready implements deduct.Strategy.
func (s *redisLock) Ready(ctx context.Context) error { return s.client.Ping(ctx).Err() }

// Close implements deduct.Strategy.
func (s *redisLock) Close() error { return s.client.Close() }
