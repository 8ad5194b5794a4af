package servers

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"slices"
	"strings"

	"orderstock/pkg/servers/programs"
)

// RedisDatabases is the number of databases of a Redis started here.
const RedisDatabases = 1024

// Redis is a Redis server.
type Redis struct{ *Server }

// StartRedis starts a Redis server with an append-only file and no snapshots.
func StartRedis(ctx context.Context, o Options) (*Redis, error) {
	return o.redis(ctx, "redis", []string{
		"--appendonly", "yes", "--appendfsync", "everysec", "--save", "", "--databases", fmt.Sprint(RedisDatabases),
		"--maxclients", "4000",
	})
}

// redis starts Redis's program with the arguments before those of the options.
func (o Options) redis(ctx context.Context, kind string, args []string) (*Redis, error) {
	s, err := o.start(ctx, kind, func(o Options, _ context.Context) (s Spec, err error) {
		path, err := programs.Redis.Find()
		if err != nil {
			return s, err
		}
		host, port, err := net.SplitHostPort(o.Addr)
		return Spec{
			Path: path, Args: slices.Concat(args, []string{"--bind", host, "--port", port, "--dir", "."}, o.Args),
			Ready: func(ctx context.Context) error { return pingRedis(ctx, o.Addr) },
		}, err
	})
	return &Redis{s}, err
}

// AttachRedis returns a server that runs elsewhere at addr.
func AttachRedis(addr string) *Redis { return &Redis{attach("redis", addr)} }

// pingRedis returns nil once the server has loaded its data and answers PING.
func pingRedis(ctx context.Context, addr string) error {
	conn, err := dial(ctx, addr)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	if _, err := conn.Write([]byte("PING\r\n")); err != nil {
		return err
	}
	answer, err := bufio.NewReader(conn).ReadString('\n')
	if err != nil {
		return err
	}
	if answer = strings.TrimSpace(answer); answer != "+PONG" {
		return fmt.Errorf("PING answers %q", answer)
	}
	return nil
}

// dial connects to addr and bounds all use of the connection by ctx's deadline.
func dial(ctx context.Context, addr string) (net.Conn, error) {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, err
	}
	if deadline, ok := ctx.Deadline(); ok {
		if err := conn.SetDeadline(deadline); err != nil {
			return nil, err
		}
	}
	return conn, nil
}
