package locktest_test

import (
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
// short test does so on the shared server; the long one has an ensemble, whose members are killed as well.
// It takes 30 s: sessions expire, for each of two settings.
func TestHistories(t *testing.T) {
	t.Parallel()
	length, first := time.Minute, round{least: 100}
	if testing.Short() {
		length, first = 4*time.Second, round{least: 30, servers: []*servers.ZooKeeper{serverstest.ZooKeeper(t)}}
	} else {
		ensemble, err := servers.StartEnsemble(t.Context(), 3, servers.Options{Dir: t.TempDir(), Args: []string{"-Xmx192m"}})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = ensemble.Kill() }) // its data goes with the test's folder
		first.servers = ensemble.Servers
	}
	if *chaos > 0 {
		length = *chaos
	}
	root, seed, handoff := serverstest.ZooKeeperRoot(t), *seed, []int{64, 1}
	for seed == 0 {
		seed = rand.Uint64()
	}
	first.rand = rand.New(rand.NewPCG(seed, seed))
	ofRound := min(longest, length/time.Duration(len(handoff)))
	for n, begun := 0, time.Duration(0); begun < length && !t.Failed(); n, begun = n+1, begun+ofRound {
		r := first
		r.path, r.handoff, r.faults = fmt.Sprintf("%s/round-%d", root, n+1), handoff[n%len(handoff)], map[string]int{}
		if err := r.run(t.Context(), ofRound); err != nil {
			t.Fatalf("seed %d: round %d: %v", seed, n+1, err)
		}
		t.Log(r.says)
		for _, violation := range r.violations {
			t.Errorf("seed %d: %s", seed, violation)
		}
	}
}
