package conn

import (
	"context"
	"errors"
	"net"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// names resolves by a table, which a test may change.
type names map[string][]string

func (n names) lookup(_ context.Context, host string) ([]string, error) {
	if addrs := n[host]; addrs != nil {
		return addrs, nil
	}
	return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
}

func hostsOf(t *testing.T, n names, servers ...string) *hosts {
	t.Helper()
	h := newHosts()
	h.lookup = n.lookup
	if err := h.Init(servers); err != nil {
		t.Fatal(err)
	}
	return h
}

// next returns the next addresses, sorted.
func next(h *hosts, count int) []string {
	var addrs []string
	for range count {
		addr, _ := h.Next()
		addrs = append(addrs, addr)
	}
	slices.Sort(addrs)
	return addrs
}

func TestNamesAreResolvedAgain(t *testing.T) {
	t.Parallel()
	n := names{"zk1": {"10.0.0.1"}, "zk2": {"10.0.0.2", "10.0.0.3"}}
	h := hostsOf(t, n, "zk1:2181", "zk2:2182", "zk3:2183")
	check := func(when string, want ...string) {
		t.Helper()
		if got := next(h, len(want)); !slices.Equal(got, want) {
			t.Errorf("%s: the servers %q, want %q", when, got, want)
		}
	}
	check("at first, one name being unknown", "10.0.0.1:2181", "10.0.0.2:2182", "10.0.0.3:2182")
	var unknown *net.DNSError
	if err := h.trouble(); !errors.As(err, &unknown) || unknown.Name != "zk3" {
		t.Errorf("the trouble is %v", err)
	}
	n["zk1"], n["zk3"] = []string{"10.0.0.9"}, []string{"10.0.0.4"}
	check("after a round without a connection", "10.0.0.2:2182", "10.0.0.3:2182", "10.0.0.4:2183", "10.0.0.9:2181")
	if err := h.trouble(); err != nil {
		t.Errorf("the trouble is %v", err)
	}
	connected, _ := h.Next()
	h.Connected()
	n["zk2"] = nil
	check("after a connection", "10.0.0.2:2182", "10.0.0.3:2182", "10.0.0.4:2183", "10.0.0.9:2181")
	if h.current != connected {
		t.Errorf("the server %s is tried last, want that of the connection that was lost, %s", h.current, connected)
	}
}

// However many servers there are, the library pauses after a connection that has lasted for a moment only.
func TestPauseAfterAShortConnection(t *testing.T) {
	t.Parallel()
	for name, addrs := range map[string][]string{
		"three servers":    {"10.0.0.1", "10.0.0.2", "10.0.0.3"},
		"one server twice": {"10.0.0.1", "10.0.0.1"},
		"one server":       {"10.0.0.1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				h := hostsOf(t, names{"zk": addrs}, "zk:2181")
				h.noPause = Allowance{Times: 0, Every: time.Hour}
				h.Next()
				for lasted, want := range map[time.Duration]bool{0: true, 900 * time.Millisecond: true, time.Minute: false} {
					h.Connected()
					time.Sleep(lasted)
					if addr, pause := h.Next(); pause != want {
						t.Errorf("after a connection of %s, a pause before %s: %v", lasted, addr, pause)
					}
				}
			})
		})
	}
}

func TestPausesBetweenRounds(t *testing.T) {
	t.Parallel()
	h := hostsOf(t, names{"zk": {"10.0.0.1", "10.0.0.2"}}, "zk:2181")
	h.noPause = Allowance{Times: 1, Every: time.Hour}
	var pauses []bool
	for range 6 {
		_, pause := h.Next()
		pauses = append(pauses, pause)
	}
	if want := []bool{false, false, false, false, true, false}; !slices.Equal(pauses, want) {
		t.Errorf("pauses %v, want %v: none before the first round, and one round without", pauses, want)
	}
}

// A name server that is silent delays no reconnect: the known addresses are tried first, and a round in vain
// prolongs the next by a moment.
func TestSilentNameServer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := hostsOf(t, names{"zk": {"10.0.0.1", "10.0.0.2"}}, "zk:2181")
		h.Next()
		h.Connected()
		h.lookup = func(ctx context.Context, host string) ([]string, error) {
			<-ctx.Done()
			return nil, &net.DNSError{Err: "no answer", Name: host, IsTimeout: true}
		}
		for round, limit := range []time.Duration{0, 250 * time.Millisecond, 500 * time.Millisecond} {
			began := time.Now()
			if got, want := next(h, 2), []string{"10.0.0.1:2181", "10.0.0.2:2181"}; !slices.Equal(got, want) {
				t.Errorf("round %d: the servers %q, want %q", round, got, want)
			}
			if d := time.Since(began); d > limit {
				t.Errorf("round %d: took %s, want %s at most", round, d, limit)
			}
		}
	})
}
