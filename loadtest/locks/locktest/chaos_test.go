package locktest_test

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"orderstock/pkg/servers"
	"orderstock/pkg/servers/serverstest"
)

var (
	chaos = flag.Duration("chaos", 0, "how long TestHistories disturbs; default 1m, or 4s with -short")
	seed  = flag.Uint64("seed", 0, "chooses the faults of TestHistories again, in the same order; 0: random")
)

// TestHistories disturbs processes of contenders in rounds of at most a minute, with hand-off and without in turns. The
// short test does so on the shared server; the long one has an ensemble, whose members are killed as well. A round in
// which contenders are stuck while the servers differ about the queue (ZOOKEEPER-5010) is unknown: the log says so, and
// the round is repeated on a new ensemble. If that happens more than once, and to more than a fifth of the rounds, the
// test fails.
// It takes 30 s: sessions expire, for each of two settings.
func TestHistories(t *testing.T) {
	t.Parallel()
	length, first := time.Minute, round{least: 100}
	start := func() []*servers.ZooKeeper {
		return serverstest.Start(t, func(ctx context.Context, o servers.Options) (*servers.Ensemble, error) {
			return servers.StartEnsemble(ctx, 3, o)
		}, servers.Options{Args: []string{"-Xmx192m"}}).Servers
	}
	if testing.Short() {
		length, first.least = 4*time.Second, 30
		start = func() []*servers.ZooKeeper { return []*servers.ZooKeeper{serverstest.ZooKeeper(t)} }
	}
	first.servers = start()
	if *chaos > 0 {
		length = *chaos
	}
	root, seed, handoff := serverstest.ZooKeeperRoot(t), *seed, []int{64, 1}
	for seed == 0 {
		seed = rand.Uint64()
	}
	first.rand = rand.New(rand.NewPCG(seed, seed))
	ofRound := min(longest, length/time.Duration(len(handoff)))
	rounds, known, unknown := int((length+ofRound-1)/ofRound), 0, 0
	for known < rounds && !t.Failed() {
		r, n := first, known+unknown+1
		r.path, r.handoff, r.faults = fmt.Sprintf("%s/round-%d", root, n), handoff[known%len(handoff)], map[string]int{}
		if err := r.run(t.Context(), ofRound); err != nil {
			t.Fatalf("seed %d: round %d: %v", seed, n, err)
		}
		t.Log(r.says)
		for _, violation := range r.violations {
			t.Errorf("seed %d: %s", seed, violation)
		}
		if r.unknown == "" {
			known++
			continue
		}
		unknown++
		t.Logf("round %d is unknown: %s", n, r.unknown)
		if unknown > max(1, rounds/5) {
			t.Fatalf("seed %d: %d of %d rounds are unknown: the lock was not judged", seed, unknown, n)
		}
		for _, s := range first.servers {
			serverstest.Must(t, s.Kill())
		}
		first.servers = start()
	}
	t.Logf("%d of %d rounds, and %d more that are unknown", known, rounds, unknown)
}

// TestOnlyServersThatDifferExcuseALock: contenders that are stuck are a violation, unless the servers differ.
func TestOnlyServersThatDifferExcuseALock(t *testing.T) {
	t.Parallel()
	shared := serverstest.ZooKeeper(t)
	stale := serverstest.Start(t, servers.StartZooKeeper, servers.Options{Args: []string{"-Xmx64m"}})
	r := round{path: serverstest.ZooKeeperRoot(t)}
	for _, s := range []*servers.ZooKeeper{shared, stale} {
		mutex := plain(connect(t, soon, s.Addr()), r.lock())
		defer release(t, acquire(t, mutex, soon))
	}
	for name, c := range map[string]struct {
		servers []*servers.ZooKeeper
		unknown bool
	}{
		"one":           {[]*servers.ZooKeeper{shared}, false},
		"all agree":     {[]*servers.ZooKeeper{shared, shared, shared}, false},
		"one has other": {[]*servers.ZooKeeper{shared, stale, shared}, true},
	} {
		r := r
		r.servers = c.servers
		if err := r.stuck(t.Context(), "nobody is granted"); err != nil {
			t.Fatal(err)
		}
		if (r.unknown != "") != c.unknown || (len(r.violations) == 0) != c.unknown {
			t.Errorf("%s: unknown %q, violations %q", name, r.unknown, r.violations)
		}
	}
	for name, c := range map[string]struct {
		first, second [][]string
		differ        bool
	}{
		"a node goes":             {[][]string{{"a"}, {"a"}, {}}, [][]string{{}, {}, {}}, false},
		"a node comes":            {[][]string{{}, {}, {"a"}}, [][]string{{"a"}, {"a"}, {"a"}}, false},
		"nodes come and go":       {[][]string{{"a"}, {"b"}, {"c"}}, [][]string{{"d"}, {"e"}, {"f"}}, false},
		"one keeps a node":        {[][]string{{"a"}, {}, {}}, [][]string{{"a"}, {}, {}}, true},
		"the last keeps a node":   {[][]string{{}, {}, {"a"}}, [][]string{{}, {}, {"a"}}, true},
		"one misses a node":       {[][]string{{"a"}, {"a"}, {}}, [][]string{{"a"}, {"a"}, {}}, true},
		"the first misses a node": {[][]string{{}, {"a"}, {"a"}}, [][]string{{}, {"a"}, {"a"}}, true},
	} {
		if differ := difference(c.first, c.second); (differ != "") != c.differ {
			t.Errorf("%s: %q", name, differ)
		}
	}
}
