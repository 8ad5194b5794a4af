package locktest_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"orderstock/pkg/servers"
	"orderstock/pkg/zklock"
)

// gateway is a proxy for each server of an ensemble. It decides which of them its clients reach.
type gateway struct {
	proxies []*proxy
	// first and second are the followers, by index.
	leader, first, second int
}

func newGateway(t *testing.T, ensemble *servers.Ensemble) *gateway {
	t.Helper()
	leader, err := ensemble.Leader(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	g := &gateway{leader: slices.Index(ensemble.Servers, leader)}
	g.first, g.second = (g.leader+1)%3, (g.leader+2)%3
	for _, s := range ensemble.Servers {
		g.proxies = append(g.proxies, newProxy(t, s.Addr()))
	}
	return g
}

func (g *gateway) addrs() (addrs []string) {
	for _, p := range g.proxies {
		addrs = append(addrs, p.Listen)
	}
	return addrs
}

// only lets clients reach the one server, and breaks their connections to the others.
func (g *gateway) only(server int) {
	g.proxies[server].back()
	for i, p := range g.proxies {
		if i != server {
			p.away()
		}
	}
}

// all lets clients reach all servers.
func (g *gateway) all() {
	for _, p := range g.proxies {
		p.back()
	}
}

// moves returns the moves of a connection from a follower to each other server, and back. A create may
// not be committed yet when the client looks for its node on the next server.
func (g *gateway) moves() [][2]int {
	return [][2]int{{g.first, g.second}, {g.second, g.first}, {g.first, g.leader}, {g.leader, g.first}}
}

// testCreatesInFlight moves a session to another server while creates are proposed and not yet
// committed: each acquisition must find its node again, as a second one would wait for the first for
// ever. An acquisition whose context ends at that time must leave no node.
func testCreatesInFlight(t *testing.T, g *gateway, observer *zklock.Session) {
	const locks = 8
	rounds := 60
	if testing.Short() {
		rounds = 12 // three of each move
	}
	moves := g.moves()
	g.only(moves[0][0])
	s := connect(t, 20*time.Second, g.addrs()...)
	id := s.ID()
	path := func(i int) string { return fmt.Sprintf("/locks/in-flight-%d", i) }
	for i := range locks { // the parents are there
		release(t, acquire(t, plain(s, path(i)), soon))
	}
	for round := range rounds {
		from, to := moves[round%len(moves)][0], moves[round%len(moves)][1]
		g.only(from)
		release(t, acquire(t, plain(s, path(0)), soon)) // over the connection to be cut

		untilCut, cut := context.WithCancel(t.Context())
		creates := 1 + rand.IntN(locks) // before the cut
		g.proxies[from].script.cutAt(func(f frame) bool {
			if creates == 0 {
				cut()
				return true
			}
			if f.direction == requests && f.op == opCreate {
				creates--
			}
			return false
		})
		g.proxies[to].back()
		var all sync.WaitGroup
		for i := range locks {
			all.Go(func() {
				patient := i%4 != 3
				parent := untilCut
				if patient {
					parent = t.Context()
				}
				ctx, cancel := context.WithTimeout(parent, soon)
				defer cancel()
				lock, err := plain(s, path(i)).Acquire(ctx)
				if err == nil {
					err = lock.Release(t.Context())
				}
				if err != nil && patient {
					t.Errorf("round %d, lock %d: %v", round, i, err)
				}
			})
		}
		all.Wait()
		cut() // if so many creates did not come
		if t.Failed() {
			t.FailNow()
		}
		for i := range locks {
			awaitChildren(t, observer, path(i), 0, soon)
		}
	}
	if s.ID() != id {
		t.Error("the session did not survive the moves")
	}
	g.all()
}
