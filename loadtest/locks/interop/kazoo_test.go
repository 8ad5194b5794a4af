package interop_test

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"

	"orderstock/pkg/servers/serverstest"
	"orderstock/pkg/zklock"
)

const (
	python       = "/usr/bin/python3" // for which Debian's package is
	kazooPackage = "python3-kazoo"
)

var hasKazoo = sync.OnceValue(func() error {
	if out, err := exec.Command(python, "-c", "import kazoo").CombinedOutput(); err != nil {
		return fmt.Errorf("%w: install the package %s\n%s", err, kazooPackage, out)
	}
	return nil
})

func startKazoo(t *testing.T, args ...string) *contender {
	t.Helper()
	if err := hasKazoo(); err != nil {
		t.Fatal(err)
	}
	return startContender(t, python, append([]string{filepath.Join("testdata", "kazoo_contender.py")}, args...)...)
}

func TestMutexWithKazoo(t *testing.T) {
	handoff := map[string]zklock.MutexOption{
		"hand-off":    zklock.WithHandoff(16, 20*time.Millisecond),
		"no hand-off": zklock.WithHandoff(1, 0),
	}
	for name, c := range map[string]struct {
		names    zklock.MutexOption
		patterns []string // for kazoo
	}{
		"its names":  {names: zklock.WithNames("__lock__")},
		"both names": {names: zklock.WithNames("lock-", "__lock__"), patterns: []string{"lock-"}},
	} {
		for mode, handoff := range handoff {
			t.Run(name+", "+mode, func(t *testing.T) {
				t.Parallel()
				s := newShop(t)
				kazoo := startKazoo(t, append([]string{
					serverstest.ZooKeeper(t).Addr(), s.lock, s.work, strconv.Itoa(threads), strconv.Itoa(rounds),
				}, c.patterns...)...)
				byKazoo, byGo := s.beside(kazoo, func(ctx context.Context, session *zklock.Session, _, _ int) error {
					lock, err := zklock.NewMutex(session, s.lock, handoff, c.names).Acquire(ctx)
					return under(ctx, lock, err, func() error { return s.increment(session.Conn()) })
				})
				s.checkCounter(byKazoo + byGo)
			})
		}
	}
}
