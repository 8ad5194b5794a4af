package snowid_test

import (
	"context"
	"fmt"
	"time"

	"github.com/go-zookeeper/zk"

	"orderstock/pkg/servers/serverstest"
	"orderstock/pkg/snowid"
)

// Two processes share a path in ZooKeeper. Each has a separate node number, and all ids are unique.
func ExampleLease() {
	ctx := context.Background()
	t, end := serverstest.Example()
	defer end()
	conn, _, err := zk.Connect([]string{serverstest.ZooKeeper(t).Addr()}, 5*time.Second, zk.WithLogger(quiet{}))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer conn.Close()

	given := map[int64]bool{}
	var last int64
	for range 2 {
		ids, err := snowid.Lease(ctx, conn, serverstest.ZooKeeperRoot(t))
		if err != nil {
			fmt.Println(err)
			return
		}
		defer func() { _ = ids.Close(ctx) }()
		last = 0
		for range 1000 {
			id, err := ids.Next()
			if err != nil || id <= last {
				fmt.Println("want a rising id:", id, err)
				return
			}
			given[id], last = true, id
		}
	}
	fmt.Println(len(given), "different ids")
	// Output: 2000 different ids
}

type quiet struct{}

func (quiet) Printf(string, ...any) {}
