package tracing

import (
	"github.com/redis/go-redis/extra/redisotel/v9"
	"github.com/redis/go-redis/v9"

	"orderstock/pkg/redisdb"
)

// Redis records the commands of client, without their arguments. It must be a client of redisdb.Open.
func (e *Exporter) Redis(client redisdb.Client) error {
	if e == nil {
		return nil
	}
	return redisotel.InstrumentTracing(client.(redis.UniversalClient),
		redisotel.WithDBStatement(false), redisotel.WithCallerEnabled(false), redisotel.WithDialFilter(true))
}
