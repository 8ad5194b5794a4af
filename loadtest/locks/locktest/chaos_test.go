package locktest_test

import (
	"math/rand/v2"
	"os"
	"testing"
	"time"

	"orderstock/loadtest/locks"
	"orderstock/pkg/servers"
	"orderstock/pkg/servers/serverstest"
)

// lengthEnv is the environment variable for how long to disturb, such as "1h".
const lengthEnv = "LOCKTEST_LENGTH"

// TestHistories disturbs processes of contenders, with hand-off and without. The short test does so on the shared
// server; the long one has an ensemble, whose members are killed as well.
// It takes 30 s: sessions expire, for each of two settings.
func TestHistories(t *testing.T) {
	t.Parallel()
	cfg := locks.Chaos{
		Root: serverstest.ZooKeeperRoot(t), Length: 4 * time.Second, Seed: rand.Uint64(), Grants: 30,
		Handoff: []int{64, 1}, Worker: worker, Watch: func(r locks.Round) { t.Logf("%+v", r) },
	}
	if testing.Short() {
		cfg.Servers = []*servers.ZooKeeper{serverstest.ZooKeeper(t)}
	} else {
		cfg.Length, cfg.Grants = time.Minute, 100
		ensemble, err := servers.StartEnsemble(t.Context(), 3, servers.Options{Dir: t.TempDir(), Args: []string{"-Xmx192m"}})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = ensemble.Kill() }) // its data goes with the test's folder
		cfg.Servers = ensemble.Servers
	}
	if text, ok := os.LookupEnv(lengthEnv); ok {
		var err error
		if cfg.Length, err = time.ParseDuration(text); err != nil {
			t.Fatalf("%s: %v", lengthEnv, err)
		}
	}
	rounds, err := cfg.Run(t.Context())
	if err != nil {
		t.Fatalf("seed %d: %v", cfg.Seed, err)
	}
	for _, r := range rounds {
		for _, violation := range r.Violations {
			t.Errorf("seed %d: %s", cfg.Seed, violation)
		}
	}
}
