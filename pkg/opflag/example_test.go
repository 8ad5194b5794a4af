package opflag_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"

	"orderstock/pkg/opflag"
	"orderstock/pkg/servers"
)

// The first attempt takes the flag; every later one has to ask the ledger.
func Example() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "opflag")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = os.RemoveAll(dir) }()
	server, err := servers.StartRedis(ctx, dir)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = server.Stop(ctx) }()

	flags := opflag.Open(server.Addr(), slog.New(slog.DiscardHandler))
	defer func() { _ = flags.Close() }()
	fmt.Println("set:", flags.Set(ctx, "1234"))
	fmt.Println("first attempt:", flags.Take(ctx, "1234"))
	fmt.Println("repeat:", flags.Take(ctx, "1234"))
	// Output:
	// set: true
	// first attempt: true
	// repeat: false
}
