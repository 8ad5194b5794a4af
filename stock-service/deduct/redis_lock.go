package deduct

import (
	"context"
	"errors"
	"fmt"
	"time"

	"orderstock/pkg/operation"

	"github.com/go-redsync/redsync/v4"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/redis/go-redis/v9"
)

// redisLock takes a Redlock for each goods. The lock has no order of waiters
// and no fencing Token: who comes back from a pause longer than its expiry
// believes in it still, and only the conditions of the update stop it.
type redisLock struct {
	locked
	client *redis.Client
}

const (
	// redisLockExpiry is how long a lock outlives a holder that died.
	redisLockExpiry = 8 * time.Second
	// redisLockPause is the wait between two tries for a lock that is taken.
	redisLockPause = 5 * time.Millisecond
)

func newRedisLock(cfg Config) (Strategy, error) {
	s := &redisLock{client: redis.NewClient(&redis.Options{Addr: cfg.Redis, ContextTimeoutEnabled: true})}
	locks := redsync.New(goredis.NewPool(s.client))
	tries := 1 + int(cfg.LockTimeout/redisLockPause)
	s.locked = locked{keeper{cfg.LockTimeout, cfg.Log, cfg.WrapLock}, cfg.Ledger, func(ctx context.Context, goodsID int64) (Lock, error) {
		m := locks.NewMutex("stocklock:"+operation.FormatGoodsID(goodsID),
			redsync.WithExpiry(redisLockExpiry), redsync.WithTries(tries), redsync.WithRetryDelay(redisLockPause))
		if err := m.LockContext(ctx); err != nil {
			return Lock{}, err
		}
		alive, end := context.WithDeadline(context.WithoutCancel(ctx), m.Until())
		return Lock{Alive: alive, Release: func(ctx context.Context) error {
			end()
			if ok, err := m.UnlockContext(ctx); err != nil || !ok {
				return errors.Join(err, fmt.Errorf("unlock %s: not held any more", m.Name()))
			}
			return nil
		}}, nil
	}}
	return s, nil
}

// Ready implements Strategy.
func (s *redisLock) Ready(ctx context.Context) error { return s.client.Ping(ctx).Err() }

// Close implements Strategy.
func (s *redisLock) Close() error { return s.client.Close() }
