package locktest_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

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
	c := contend(t, ensemble, g.addrs(), contenders)
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
	ensemble *servers.Ensemble
	sessions []*zklock.Session
	rounds   []atomic.Int64           // by contender
	doing    []atomic.Pointer[string] // by contender
	stop     context.CancelFunc
	all      sync.WaitGroup

	mu      sync.Mutex
	records []locks.Record
}

func contend(t *testing.T, ensemble *servers.Ensemble, addrs []string, contenders int) *contention {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	c := &contention{
		ensemble: ensemble, sessions: make([]*zklock.Session, 5), rounds: make([]atomic.Int64, contenders),
		doing: make([]atomic.Pointer[string], contenders), stop: cancel,
	}
	t.Cleanup(func() { cancel(); c.all.Wait() })
	for i := range c.sessions {
		c.sessions[i] = connect(t, 6*time.Second, addrs...)
	}
	for i := range contenders {
		m := plain(c.session(i), "/locks/ensemble")
		if i%2 == 1 { // half of them hand on within their session
			m = zklock.NewMutex(c.session(i), "/locks/ensemble", zklock.WithHandoff(8, 50*time.Millisecond))
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

func (c *contention) session(contender int) *zklock.Session {
	return c.sessions[contender%len(c.sessions)]
}

// does notes what a contender does from now on.
func (c *contention) does(contender int, what string) {
	what += " since " + time.Now().Format("15:04:05.000")
	c.doing[contender].Store(&what)
}

// once acquires and releases, over all faults.
func (c *contention) once(ctx context.Context, m *zklock.Mutex, contender int) bool {
	call := now()
	c.does(contender, "acquires")
	lock, err := m.Acquire(ctx)
	if err != nil {
		return false
	}
	token := lock.Token().String()
	c.add(locks.Record{Contender: contender, Phase: locks.Granted, Token: token, Call: call, Return: now()})
	if lock.Context().Err() != nil {
		c.add(locks.Record{Contender: contender, Phase: locks.Lost, Token: token, Call: now()})
	}
	r := locks.Record{Contender: contender, Phase: locks.Released, Token: token, Call: now()}
	limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), soon)
	defer cancel()
	c.does(contender, "releases")
	if err := lock.Release(limited); err != nil {
		r.Err = err.Error()
	}
	r.Return = now()
	c.add(r)
	return true
}

func (c *contention) add(r locks.Record) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.records = append(c.records, r)
}

// everyone waits until the ensemble serves clients, and then until each contender has held the lock twice more: the
// second time it began after now.
func (c *contention) everyone(t *testing.T) {
	t.Helper()
	c.awaitEnsemble(t)
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
				c.stuck(t, before)
			}
		}
	}
}

// awaitEnsemble waits until the ensemble has a leader and begins sessions for clients. The client library finds that
// out: what the test is about has no part in it.
func (c *contention) awaitEnsemble(t *testing.T) {
	t.Helper()
	for began := time.Now(); ; {
		conn, events, err := zk.Connect(c.ensemble.Addrs(), 4*time.Second, zk.WithLogInfo(false), zk.WithLogger(quiet{}))
		if err != nil {
			t.Fatal(err)
		}
		served := false
		for timeout := time.After(5 * time.Second); !served && timeout != nil; {
			select {
			case e := <-events:
				served = e.State == zk.StateHasSession
			case <-timeout:
				timeout = nil
			}
		}
		conn.Close()
		if served {
			return
		}
		if time.Since(began) > time.Minute {
			t.Fatal("the ensemble has begun no session for a minute: the contenders were not judged")
		}
	}
}

type quiet struct{}

func (quiet) Printf(string, ...any) {}

// stuck fails the test with what each contender does that has not held twice since before, and how its session is.
func (c *contention) stuck(t *testing.T, before []int64) {
	t.Helper()
	var report strings.Builder
	for i := range c.rounds {
		if held := c.rounds[i].Load() - before[i]; held < 2 {
			s := c.session(i)
			fmt.Fprintf(&report, "\ncontender %d has held %d times, and %s; session %d is %#x, %s by %s", i, held,
				*c.doing[i].Load(), i%len(c.sessions), s.ID(), s.Conn().State(), s.Conn().Server())
		}
	}
	t.Fatalf("the ensemble serves, but at %s contenders are stuck:%s", time.Now().Format("15:04:05.000"), &report)
}

func (c *contention) finish(t *testing.T) {
	t.Helper()
	c.stop()
	c.all.Wait()
	if err := check(holdings(c.records)); err != nil {
		t.Error(err)
	}
	if n := overlaps(holdings(c.records)); n != 0 {
		t.Errorf("%d pairs thought at once that they held", n)
	}
}
