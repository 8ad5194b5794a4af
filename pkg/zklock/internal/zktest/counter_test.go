package zktest_test

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"orderstock/pkg/zklock/internal/zktest"
)

// TestSetChildCounter also shows the server at the end of its counter: it stays there.
func TestSetChildCounter(t *testing.T) {
	t.Parallel()
	z := zktest.Start(t)
	conn, _, err := zk.Connect([]string{z.Addr}, 40*time.Second, zk.WithLogInfo(false))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	create := func(path string, flags int32) string {
		t.Helper()
		created, err := conn.Create(path, nil, flags, zk.WorldACL(zk.PermAll))
		if err != nil {
			t.Fatal(err)
		}
		return created
	}
	create("/queue", zk.FlagPersistent)
	if err := z.SetChildCounter(t.Context(), math.MaxInt32-1, "/queue"); err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{"2147483646", "2147483647", "2147483647"} {
		prefix := fmt.Sprintf("/queue/%d-", i)
		if created := create(prefix, zk.FlagSequence); created != prefix+want {
			t.Errorf("the server made %s, want %s%s", created, prefix, want)
		}
	}
}
