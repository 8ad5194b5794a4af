package otlp

import (
	"context"
	"errors"

	"github.com/redis/go-redis/v9"
	"go.opentelemetry.io/otel/attribute"

	"orderstock/pkg/tracing"
)

// Redis records the commands of client that are below a span. The hook of redisotel writes each command of a pipeline
// out, recorded or not, which took 1 % of the time of an order.
func (e *Exporter) Redis(client redis.UniversalClient) {
	if e != nil {
		client.AddHook(redisHook{})
	}
}

type redisHook struct{}

func (redisHook) DialHook(next redis.DialHook) redis.DialHook { return next }

func (redisHook) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if !tracing.On(ctx) {
			return next(ctx, cmd)
		}
		return recordRedis(ctx, cmd.FullName(), 1, func(ctx context.Context) error { return next(ctx, cmd) })
	}
}

func (redisHook) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		if !tracing.On(ctx) || len(cmds) == 0 {
			return next(ctx, cmds)
		}
		name := "redis.pipeline " + cmds[0].FullName() // a pipeline here has commands of one kind
		return recordRedis(ctx, name, len(cmds), func(ctx context.Context) error { return next(ctx, cmds) })
	}
}

func recordRedis(ctx context.Context, name string, commands int, call func(context.Context) error) error {
	ctx, end := tracing.Step(ctx, name,
		attribute.String("db.system.name", "redis"), attribute.Int("db.operation.batch.size", commands))
	err := call(ctx)
	if errors.Is(err, redis.Nil) { // an answer
		end(nil)
	} else {
		end(err)
	}
	return err
}
