package tracing

import (
	"context"
	"errors"

	"github.com/redis/go-redis/v9"
	"go.opentelemetry.io/otel/attribute"

	"orderstock/pkg/redisdb"
)

// Redis records the commands of client, without their arguments.
func (e *Exporter) Redis(client redisdb.Client) {
	if e != nil {
		client.AddHook(redisHook{})
	}
}

type redisHook struct{}

var redisSystem = attribute.String("db.system.name", "redis")

// DialHook implements redis.Hook.
func (redisHook) DialHook(next redis.DialHook) redis.DialHook { return next }

// ProcessHook implements redis.Hook.
func (redisHook) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		ctx, call := Call(ctx, cmd.FullName(), redisSystem)
		err := next(ctx, cmd)
		call.End(failure(err))
		return err
	}
}

// ProcessPipelineHook implements redis.Hook.
func (redisHook) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		if len(cmds) == 0 || !On(ctx) {
			return next(ctx, cmds)
		}
		ctx, call := Call(ctx, "redis.pipeline "+cmds[0].FullName(), redisSystem,
			attribute.Int("db.operation.batch.size", len(cmds)))
		err := next(ctx, cmds)
		call.End(failure(err))
		return err
	}
}

// failure returns err unless it only means that there is no such key.
func failure(err error) error {
	if errors.Is(err, redis.Nil) {
		return nil
	}
	return err
}
