package redisdb

import (
	"errors"
	"strings"

	"orderstock/pkg/config"
)

// Location holds the settings that locate Redis. Settings embed it.
type Location struct {
	// RedisAddrs is the Redis server, host:port; with REDIS_MASTER the Sentinels, several by comma.
	RedisAddrs []string `env:"REDIS_ADDR"`
	// RedisMaster is the Sentinels' name for the Redis server; empty: no Sentinels.
	RedisMaster string `env:"REDIS_MASTER"`
	// RedisAuth is the user:password for Redis and the Sentinels; empty: no login.
	RedisAuth config.Secret `env:"REDIS_AUTH"`
}

// Check returns an error that names the first invalid setting, or nil.
func (l Location) Check() error {
	switch {
	case len(l.RedisAddrs) == 0:
		return errors.New("REDIS_ADDR is not set")
	case len(l.RedisAddrs) > 1 && l.RedisMaster == "":
		return errors.New("REDIS_ADDR names several Sentinels: set REDIS_MASTER, their name for the Redis server")
	}
	return errors.Join(config.CheckLogin("REDIS_AUTH", l.RedisAuth), config.CheckAddrs("REDIS_ADDR", l.RedisAddrs...))
}

// Redis returns the server and the login. Without a setting it has no addresses.
func (l Location) Redis() Server {
	user, password, _ := strings.Cut(string(l.RedisAuth), ":")
	return Server{Addrs: l.RedisAddrs, Master: l.RedisMaster, User: user, Password: password}
}
