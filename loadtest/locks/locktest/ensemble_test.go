package locktest_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"orderstock/loadtest/locks"
	"orderstock/pkg/servers"
	"orderstock/pkg/zklock"
)

// TestEnsemble lets fifty (in short mode, twenty) contend on three servers with slow disks, moves their
// connections from follower to follower and from follower to leader, kills the leader, kills a follower, and
// takes the quorum away for ten seconds: nobody holds twice, and everybody goes on afterwards.
// It takes 50 s: three servers start on two cores, and two of them are away for longer than a session.
func TestEnsemble(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	ensemble, err := servers.StartEnsemble(ctx, 3, servers.Options{
		Dir: t.TempDir(), Args: []string{"-Xmx192m"}, SlowSync: 10 * time.Millisecond,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ensemble.Kill() }) // its data goes with the test's folder
	g := newGateway(t, ensemble)
	t.Run("move with creates in flight", func(t *testing.T) {
		testCreatesInFlight(t, g, connect(t, 20*time.Second, ensemble.Addrs()...))
	})
	t.Run("a follower is cut off with its client", func(t *testing.T) { testCutOffFollower(t, ensemble) })
	contenders := 50
	if testing.Short() {
		contenders = 20
	}
	c := contend(t, g.addrs(), contenders)
	t.Run("move all connections", func(t *testing.T) {
		for _, move := range g.moves() {
			g.only(move[0])
			c.everyone(t)
			g.only(move[1])
		}
		c.everyone(t)
		g.all()
	})
	for _, fault := range []struct {
		name   string
		strike func() (heal func() error, err error)
	}{
		{"kill the leader", func() (func() error, error) {
			leader, err := ensemble.Leader(ctx)
			if err != nil {
				return nil, err
			}
			return func() error { return leader.Restart(ctx) }, leader.Kill()
		}},
		{"kill a follower", func() (func() error, error) {
			follower, err := ensemble.Follower(ctx)
			if err != nil {
				return nil, err
			}
			return func() error { return follower.Restart(ctx) }, follower.Kill()
		}},
	} {
		t.Run(fault.name, func(t *testing.T) {
			c.everyone(t)
			heal, err := fault.strike()
			if err != nil {
				t.Fatal(err)
			}
			begin := time.Now()
			c.everyone(t) // while the server is away
			t.Logf("all %d have held again %s after the fault", contenders, time.Since(begin).Round(time.Millisecond))
			if err := heal(); err != nil {
				t.Fatal(err)
			}
		})
	}
	t.Run("lose the quorum for ten seconds", func(t *testing.T) {
		c.everyone(t)
		down := ensemble.Servers[:2]
		for _, s := range down {
			if err := s.Pause(); err != nil { // connections stay open, and nothing answers
				t.Fatal(err)
			}
		}
		time.Sleep(10 * time.Second)
		for _, s := range down {
			if err := s.Resume(); err != nil {
				t.Fatal(err)
			}
		}
		c.everyone(t)
	})
	c.finish(t)
}

// testCutOffFollower: a follower that hears nothing of its leader answers reads and pings for five seconds more. That
// must not make a holder believe that its session is alive.
func testCutOffFollower(t *testing.T, ensemble *servers.Ensemble) {
	const timeout = 2 * time.Second
	follower, err := ensemble.Follower(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	s := connect(t, timeout, follower.Addr())
	lock, err := plain(s, "/locks/cut-off").Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, other := range ensemble.Servers {
		if other == follower {
			continue
		}
		if err := other.Pause(); err != nil {
			t.Fatal(err)
		}
		defer func() {
			if err := other.Resume(); err != nil {
				t.Error(err)
			}
		}()
	}
	for began := time.Now(); lock.Context().Err() == nil; time.Sleep(20 * time.Millisecond) {
		late := time.Since(began) > 2*timeout
		if _, _, err := s.Conn().Exists("/"); err == nil && late && lock.Context().Err() == nil {
			t.Fatal("the holder believes a follower that knows nothing of its leader")
		}
	}
}

// contention is goroutines that contend over several sessions, and their record.
type contention struct {
	rounds []atomic.Int64 // by contender
	stop   context.CancelFunc
	all    sync.WaitGroup

	mu      sync.Mutex
	records []locks.Record
}

func contend(t *testing.T, servers []string, contenders int) *contention {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	c := &contention{rounds: make([]atomic.Int64, contenders), stop: cancel}
	t.Cleanup(func() { cancel(); c.all.Wait() })
	sessions := make([]*zklock.Session, 5)
	for i := range sessions {
		sessions[i] = connect(t, 6*time.Second, servers...)
	}
	for i := range contenders {
		m := plain(sessions[i%len(sessions)], "/locks/ensemble")
		if i%2 == 1 { // half of them hand on within their session
			m = zklock.NewMutex(sessions[i%len(sessions)], "/locks/ensemble", zklock.WithHandoff(8, 50*time.Millisecond))
		}
		c.all.Go(func() {
			for ctx.Err() == nil {
				if c.once(ctx, m, i) {
					c.rounds[i].Add(1)
				}
			}
		})
	}
	return c
}

// once acquires and releases, over all faults.
func (c *contention) once(ctx context.Context, m *zklock.Mutex, contender int) bool {
	call := locks.Now()
	lock, err := m.Acquire(ctx)
	if err != nil {
		return false
	}
	token := lock.Token().String()
	c.add(locks.Record{Contender: contender, Phase: locks.Granted, Token: token, Call: call, Return: locks.Now()})
	if lock.Context().Err() != nil {
		c.add(locks.Record{Contender: contender, Phase: locks.Lost, Token: token, Call: locks.Now()})
	}
	r := locks.Record{Contender: contender, Phase: locks.Released, Token: token, Call: locks.Now()}
	limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), soon)
	defer cancel()
	if err := lock.Release(limited); err != nil {
		r.Err = err.Error()
	}
	r.Return = locks.Now()
	c.add(r)
	return true
}

func (c *contention) add(r locks.Record) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.records = append(c.records, r)
}

// everyone waits until each contender has held the lock twice more: the second time it began after now.
func (c *contention) everyone(t *testing.T) {
	t.Helper()
	before := make([]int64, len(c.rounds))
	for i := range c.rounds {
		before[i] = c.rounds[i].Load()
	}
	timeout := time.After(time.Minute)
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for i := range c.rounds {
		for c.rounds[i].Load() < before[i]+2 {
			select {
			case <-tick.C:
			case <-timeout:
				t.Fatalf("contender %d is stuck", i)
			}
		}
	}
}

func (c *contention) finish(t *testing.T) {
	t.Helper()
	c.stop()
	c.all.Wait()
	if err := locks.Check(locks.Holdings(c.records)); err != nil {
		t.Error(err)
	}
	if n := locks.Overlaps(locks.Holdings(c.records)); n != 0 {
		t.Errorf("%d pairs thought at once that they held", n)
	}
}
