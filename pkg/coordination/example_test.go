package coordination_test

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"orderstock/pkg/coordination"
	"orderstock/pkg/servers/serverstest"
)

// A service opens its session without waiting for ZooKeeper, announces itself, and finds its replicas.
func ExampleOpen() {
	ctx := context.Background()
	t, end := serverstest.Example()
	defer end()

	session := coordination.Open("example", coordination.Config{
		ZooKeeper: []string{serverstest.ZooKeeper(t).Addr()}, Root: serverstest.ZooKeeperRoot(t),
		SessionTimeout: 6 * time.Second, Log: slog.New(slog.DiscardHandler),
	})
	defer func() { _ = session.Close() }()
	withdraw := session.Announce(ctx, "stock", "10.0.0.1:8081", false, "token")
	defer withdraw()
	found := make(chan []string, 1)
	ignore := session.Discover(ctx, "stock", coordination.Terms{Token: "token"}, func(urls []string) { found <- urls })
	defer ignore()
	fmt.Println(<-found)
	// Output: [http://10.0.0.1:8081]
}
