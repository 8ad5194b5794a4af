package coordination_test

import (
	"context"
	"fmt"
	"log/slog"
	"sync"

	"orderstock/pkg/coordination"
	"orderstock/pkg/servers/serverstest"
	"orderstock/pkg/zklock"
)

// A replica announces its address, and whoever calls it learns of it.
func ExampleAnnounce() {
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	t, end := serverstest.Example()
	defer end()
	session, err := zklock.Connect(ctx, []string{serverstest.ZooKeeper(t).Addr()})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = session.Close() }()

	var working sync.WaitGroup
	defer working.Wait() // after stop
	defer stop()
	replicas := coordination.Dir(serverstest.ZooKeeperRoot(t), "stock")
	working.Go(func() {
		coordination.Announce(ctx, session, replicas, "10.0.0.1:8081", []string{"token"}, slog.New(slog.DiscardHandler),
			func(bool) {})
	})
	found := make(chan []string, 1)
	working.Go(func() {
		coordination.Watch(ctx, session, replicas, coordination.Terms{Token: "token"}, func(addrs []string) {
			found <- addrs
		})
	})
	fmt.Println(coordination.URL((<-found)[0]))
	// Output: http://10.0.0.1:8081
}
