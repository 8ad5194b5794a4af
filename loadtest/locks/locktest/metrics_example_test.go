package locktest_test

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"orderstock/pkg/servers/serverstest"
	"orderstock/pkg/zklock"
)

// The metrics of a lock in Prometheus. It stands in the README of package zklock, which imports no Prometheus.
func Example_prometheus() {
	waited := promauto.NewHistogramVec(prometheus.HistogramOpts{Name: "lock_wait_seconds"}, []string{"granted"})
	held := promauto.NewHistogram(prometheus.HistogramOpts{Name: "lock_held_seconds"})
	lost := promauto.NewCounter(prometheus.CounterOpts{Name: "lock_lost_total"})
	hooks := zklock.WithHooks(zklock.Hooks{
		Waited: func(_ string, d time.Duration, err error) {
			waited.WithLabelValues(strconv.FormatBool(err == nil)).Observe(d.Seconds())
		},
		Held: func(_ string, d time.Duration) { held.Observe(d.Seconds()) },
		Lost: func(string, error) { lost.Inc() },
	})

	e, end := serverstest.Example()
	defer end()
	session, err := zklock.Connect(e.Context(), []string{serverstest.ZooKeeper(e).Addr()})
	if err != nil {
		panic(err)
	}
	defer func() { _ = session.Close() }()
	stock := zklock.NewMutex(session, serverstest.ZooKeeperRoot(e)+"/stock", hooks)
	err = zklock.Do(e.Context(), stock, func(ctx context.Context, _ *zklock.Lock) error {
		_, err := stock.TryAcquire(ctx) // the other outcome
		fmt.Println(err != nil)
		return nil
	})
	fmt.Println(err)
	fmt.Println(testutil.CollectAndCount(waited), testutil.CollectAndCount(held), testutil.ToFloat64(lost))
	// Output:
	// true
	// <nil>
	// 2 1 0
}

func TestTheReadmeHasTheExampleOfMetrics(t *testing.T) {
	_, example, _ := strings.Cut(read(t, "metrics_example_test.go"), "func Example_prometheus() {\n\t")
	example, _, _ = strings.Cut(example, "\n\n")
	example = "```go\n" + strings.ReplaceAll(example, "\n\t", "\n") + "\n```"
	if !strings.Contains(read(t, folder+"/README.md"), example) {
		t.Errorf("the README has another example than\n%s", example)
	}
}
