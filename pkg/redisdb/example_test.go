package redisdb_test

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"orderstock/pkg/redisdb"
	"orderstock/pkg/servers/serverstest"
)

// The first attempt takes the flag; every later one has to ask the ledger.
func Example() {
	ctx := context.Background()
	t, end := serverstest.Example()
	defer end()

	where := redisdb.Server{Addrs: []string{serverstest.Redis(t).Addr()}, DB: serverstest.RedisDB(t)}
	flags := redisdb.OpenFlags(where, slog.New(slog.DiscardHandler), redisdb.WithTimeout(20*time.Second))
	defer func() { _ = flags.Close() }()
	fmt.Println("set:", flags.Set(ctx, "1234"))
	fmt.Println("first attempt:", flags.Take(ctx, "1234"))
	fmt.Println("repeat:", flags.Take(ctx, "1234"))
	// Output:
	// set: true
	// first attempt: true
	// repeat: false
}
