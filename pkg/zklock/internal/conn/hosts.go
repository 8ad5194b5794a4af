package conn

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

const (
	// lookupTimeout bounds how long names are resolved before a connection is tried.
	lookupTimeout = 3 * time.Second
	// quickLookup bounds it when addresses are known, after one round that failed; each further one doubles it.
	quickLookup = 250 * time.Millisecond
	// shortLived is how long a connection lasts at most after which the library pauses, as long as its pause.
	shortLived = time.Second
)

// hosts chooses the server to dial next, as a zk.HostProvider. It goes through all addresses of all servers in random
// order. It resolves the names again after a round that failed, since servers move, and not before: a session must not
// be lost to a name server that is silent. A name that does not resolve keeps its former addresses.
//
// It makes the library pause for a second before a round if the round before failed, or if the lost connection was
// short-lived: servers that accept a session and then drop it would be called hundreds of times a second. It leaves
// some of these pauses out: while connections fail now and then, each reconnect would take a second and each expired
// session two, and nobody could have the lock.
type hosts struct {
	lookup  func(ctx context.Context, host string) (addrs []string, err error)
	noPause Allowance // of rounds without the pause

	mu      sync.Mutex
	servers []server
	round   []string  // addresses still to be tried
	current string    // the address that was tried last
	rounds  int       // in a row that no server has answered
	since   time.Time // when a server has answered last
	unknown error     // why names did not resolve
}

// server is one of the servers that Connect was given.
type server struct {
	host, port string
	addrs      []string // with the port, as last resolved
}

func newHosts() *hosts {
	return &hosts{lookup: net.DefaultResolver.LookupHost, noPause: Allowance{Times: 3, Every: 5 * time.Second}}
}

// Init takes the servers, each "host:port".
func (h *hosts) Init(servers []string) error {
	for _, s := range servers {
		host, port, err := net.SplitHostPort(s)
		_, badPort := strconv.ParseUint(port, 10, 16)
		if err != nil || badPort != nil || host == "" || strings.ContainsAny(host, "/, \t\r\n") {
			return fmt.Errorf("server %q: want host:port, without a space", s)
		}
		h.servers = append(h.servers, server{host: host, port: port})
	}
	if len(h.servers) == 0 {
		return errors.New("no servers given")
	}
	return nil
}

// Len returns the number of servers.
func (h *hosts) Len() int { return len(h.servers) }

// Next returns the next address, and whether to pause before it is dialled. If no name resolves, it
// returns one of the names.
func (h *hosts) Next() (addr string, pause bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.round) == 0 {
		h.beginRound()
		pause = (h.rounds > 0 || time.Since(h.since) < shortLived) && !h.noPause.Take()
		h.rounds++
	}
	h.current, h.round = h.round[0], h.round[1:]
	return h.current, pause
}

// nameOf returns the name of the server that has the address, for its certificate.
func (h *hosts) nameOf(addr string) string {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, s := range h.servers {
		if slices.Contains(s.addrs, addr) {
			return s.host
		}
	}
	host, _, _ := net.SplitHostPort(addr) // a name that does not resolve
	return host
}

// Connected notes that the server at the last address has answered. When that connection is lost, a
// new round begins, with that address as its last.
func (h *hosts) Connected() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.round, h.rounds, h.since = nil, 0, time.Now()
}

// beginRound begins a round with the known addresses. The caller holds the mutex.
func (h *hosts) beginRound() {
	known := slices.ContainsFunc(h.servers, func(s server) bool { return len(s.addrs) > 0 })
	switch {
	case !known:
		h.resolve(lookupTimeout)
	case h.rounds > 0:
		h.resolve(min(quickLookup<<min(h.rounds-1, 8), lookupTimeout))
	}
	for _, s := range h.servers {
		h.round = append(h.round, s.addrs...)
	}
	if len(h.round) == 0 {
		h.round = append(h.round, net.JoinHostPort(h.servers[0].host, h.servers[0].port))
	}
	rand.Shuffle(len(h.round), func(i, j int) { h.round[i], h.round[j] = h.round[j], h.round[i] })
	if at := slices.Index(h.round, h.current); at >= 0 {
		h.round = append(slices.Delete(h.round, at, at+1), h.current)
	}
}

// resolve resolves the names, within the limit. The caller holds the mutex.
func (h *hosts) resolve(limit time.Duration) {
	background := context.Background() //nolint:forbidigo // the library asks without a context
	ctx, cancel := context.WithTimeout(background, limit)
	defer cancel()
	errs := make([]error, len(h.servers))
	var all sync.WaitGroup
	for i := range h.servers {
		s := &h.servers[i]
		all.Go(func() {
			addrs, err := h.lookup(ctx, s.host)
			if errs[i] = err; err == nil {
				s.addrs = s.addrs[:0]
				for _, addr := range addrs {
					s.addrs = append(s.addrs, net.JoinHostPort(addr, s.port))
				}
			}
		})
	}
	all.Wait()
	h.unknown = errors.Join(errs...)
}

// trouble returns why names did not resolve, or nil.
func (h *hosts) trouble() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.unknown
}
