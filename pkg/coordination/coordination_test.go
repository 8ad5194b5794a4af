package coordination_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"go.uber.org/goleak"

	"orderstock/pkg/coordination"
	"orderstock/pkg/servers"
	"orderstock/pkg/servers/serverstest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m, serverstest.Goroutines()...) }

var terms = coordination.Terms{Token: "token"}

func testConfig(t *testing.T) coordination.Config {
	t.Helper()
	return coordination.Config{
		ZooKeeper: []string{serverstest.ZooKeeper(t).Addr()}, Root: serverstest.ZooKeeperRoot(t),
		SessionTimeout: 5 * time.Second, Log: slog.New(slog.DiscardHandler),
	}
}

func open(t *testing.T, cfg coordination.Config) *coordination.Session {
	t.Helper()
	s := coordination.Open("test", cfg)
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

var eventually = serverstest.Eventually

// TestItBeginsWithoutZooKeeper: what needs ZooKeeper begins as soon as it answers, and the gauge shows the session,
// whether or not there is a number for ids.
func TestItBeginsWithoutZooKeeper(t *testing.T) {
	zookeeper := serverstest.Start(t, servers.StartZooKeeper, servers.Options{})
	if err := zookeeper.Pause(); err != nil {
		t.Fatal(err)
	}
	cfg, metrics := testConfig(t), prometheus.NewRegistry()
	cfg.ZooKeeper, cfg.Root, cfg.Metrics = []string{zookeeper.Addr()}, "/orderstock", metrics
	shows := func(up int) bool {
		return testutil.GatherAndCompare(metrics, strings.NewReader(fmt.Sprintf(
			"# HELP zookeeper_session_up 1 while there is a session in ZooKeeper.\n"+
				"# TYPE zookeeper_session_up gauge\nzookeeper_session_up{session=\"test\"} %d\n", up)),
			"zookeeper_session_up") == nil
	}
	s := open(t, cfg)
	ids := s.LeaseIDs(t.Context(), "ids")
	none := coordination.ErrNoLease
	if _, err := ids.Next(); !errors.Is(err, none) || !errors.Is(ids.Ready(t.Context()), none) {
		t.Errorf("an id without ZooKeeper: %v", err)
	}
	if !shows(0) {
		t.Error("the gauge shows a session without ZooKeeper")
	}
	discovered := make(chan []string, 1)
	stopDiscovery := s.Discover(t.Context(), "stock", terms, func(urls []string) { discovered <- urls })
	withdraw := s.Announce(t.Context(), "stock", ":8081", true, "token")
	if err := zookeeper.Resume(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "an id is given", func() bool { _, err := ids.Next(); return err == nil })
	if err := ids.Ready(t.Context()); err != nil || !shows(1) {
		t.Errorf("with ZooKeeper: %v; the gauge shows a session: %t", err, shows(1))
	}
	if urls := <-discovered; len(urls) != 1 || urls[0] != "https://127.0.0.1:8081" {
		t.Errorf("discovered %q", urls)
	}
	withdraw()
	stopDiscovery()
	if err := ids.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if err := ids.Ready(t.Context()); !errors.Is(err, coordination.ErrNoLease) || !shows(1) {
		t.Errorf("without a number: %v; the gauge shows a session: %t", err, shows(1))
	}
	if err := zookeeper.Kill(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the gauge shows that there is no session", func() bool { return shows(0) })
}

// TestIDsGoOnWithoutZooKeeper: for longer than a session, and also after ZooKeeper has come back and ended it.
// It takes 26 s: numbers are reserved for 10 s, and ZooKeeper must be away for longer.
func TestIDsGoOnWithoutZooKeeper(t *testing.T) {
	t.Parallel()
	zookeeper := serverstest.Start(t, servers.StartZooKeeper, servers.Options{})
	cfg := testConfig(t)
	cfg.ZooKeeper, cfg.Root = []string{zookeeper.Addr()}, "/orderstock"
	ids := open(t, cfg).LeaseIDs(t.Context(), "ids")
	t.Cleanup(func() { _ = ids.Close(context.WithoutCancel(t.Context())) })
	eventually(t, "an id is given", func() bool { _, err := ids.Next(); return err == nil })
	if err := zookeeper.Kill(); err != nil {
		t.Fatal(err)
	}
	seen := map[int64]bool{}
	goOn := func(during time.Duration) {
		t.Helper()
		for end := time.Now().Add(during); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
			id, err := ids.Next()
			if err != nil || seen[id] {
				t.Fatalf("id %d, seen %t: %v", id, seen[id], err)
			}
			seen[id] = true
		}
	}
	goOn(16 * time.Second)
	if err := zookeeper.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	goOn(8 * time.Second)
}

// TestAnnouncedWhileAServerHasNoName: in a network of containers, the name of one that is down does not resolve.
func TestAnnouncedWhileAServerHasNoName(t *testing.T) {
	cfg := testConfig(t)
	cfg.ZooKeeper = append([]string{"no-such-host.invalid:2181"}, cfg.ZooKeeper...)
	s := open(t, cfg)
	t.Cleanup(s.Announce(t.Context(), "stock", ":8081", false, "token"))
	discovered := make(chan []string, 1)
	t.Cleanup(s.Discover(t.Context(), "stock", terms, func(urls []string) { discovered <- urls }))
	select {
	case urls := <-discovered:
		if len(urls) != 1 || urls[0] != "http://127.0.0.1:8081" {
			t.Errorf("discovered %q", urls)
		}
	case <-time.After(30 * time.Second):
		t.Error("never announced")
	}
}

// Only the locks would be below the path: all nodes are below the root.
func TestAPathInTheConnectStringIsRefused(t *testing.T) {
	cfg := testConfig(t)
	cfg.ZooKeeper[0] += "/shop"
	s := open(t, cfg)
	eventually(t, "the error names ZOOKEEPER_ROOT", func() bool {
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		_, err := s.Get(ctx)
		return err != nil && strings.Contains(err.Error(), "ZOOKEEPER_ROOT")
	})
}

func TestOneLeadsAndAnotherTakesOver(t *testing.T) {
	cfg := testConfig(t)
	var (
		mu    sync.Mutex
		leads = map[int]bool{}
		turns []int
	)
	stops := map[int]func(){}
	for i := range 3 {
		stops[i] = open(t, cfg).Lead(t.Context(), "work", time.Second, func(ctx context.Context) error {
			mu.Lock()
			leads[i] = true
			turns = append(turns, i)
			if len(leads) != 1 {
				t.Errorf("several lead at once: %v", leads)
			}
			mu.Unlock()
			<-ctx.Done()
			mu.Lock()
			delete(leads, i)
			mu.Unlock()
			return nil
		})
	}
	for want := 1; want <= 3; want++ {
		var leader int
		eventually(t, fmt.Sprintf("leader %d", want), func() bool {
			mu.Lock()
			defer mu.Unlock()
			if len(turns) == want {
				leader = turns[want-1]
			}
			return len(turns) == want
		})
		stops[leader]()
		delete(stops, leader)
	}
}

func TestALeaderWhoseWorkFailsLetsAnotherLead(t *testing.T) {
	const rest = 2 * time.Second
	cfg := testConfig(t)
	terms := make(chan time.Time, 100)
	t.Cleanup(open(t, cfg).Lead(t.Context(), "work", rest, func(context.Context) error {
		terms <- time.Now()
		return errors.New("out of reach")
	}))
	first := <-terms
	if again := (<-terms).Sub(first); again < rest { // alone, it stands again after a rest
		t.Errorf("it leads again after %s, want %s at least", again, rest)
	}

	working := make(chan struct{})
	t.Cleanup(open(t, cfg).Lead(t.Context(), "work", rest, func(ctx context.Context) error {
		close(working)
		<-ctx.Done()
		return nil
	}))
	select {
	case <-working:
	case <-time.After(30 * time.Second):
		t.Error("the other never leads")
	}
}
