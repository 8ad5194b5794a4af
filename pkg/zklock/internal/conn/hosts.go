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
	"unicode"

	"golang.org/x/sync/errgroup"
	"golang.org/x/time/rate"
)

// lookupTimeout bounds how long names are resolved before a connection is tried.
const lookupTimeout = 3 * time.Second

// hosts chooses the server to dial next, as a zk.HostProvider. It goes through all addresses of all
// servers in random order. Before each round and after each lost connection it resolves the names
// again, since servers move. A name that does not resolve keeps its former addresses.
//
// It makes the library pause for a second before a round if the round before failed, or if the only
// address is the lost connection's. It spares some of these pauses: with one server each reconnect
// would take a second and each expired session two, and nobody could have the lock.
type hosts struct {
	lookup func(ctx context.Context, host string) (addrs []string, err error)
	spared *rate.Limiter // of pauses

	mu      sync.Mutex
	servers []server
	round   []string // addresses still to be tried
	current string   // the address that was tried last
	vain    bool     // no server of the round has answered yet
	unknown error    // why names did not resolve in this round
}

// server is one of the servers that Connect was given.
type server struct {
	host, port string
	addrs      []string // with the port, as last resolved
}

func newHosts() *hosts {
	return &hosts{lookup: net.DefaultResolver.LookupHost, spared: rate.NewLimiter(rate.Every(5*time.Second), 3)}
}

// Init takes the servers, each "host:port".
func (h *hosts) Init(servers []string) error {
	for _, s := range servers {
		host, port, err := net.SplitHostPort(s)
		_, badPort := strconv.ParseUint(port, 10, 16)
		switch {
		case strings.Contains(s, "/"):
			return fmt.Errorf("server %q: a path after the port (chroot) is not supported: "+
				"put it before each lock's path instead", s)
		case strings.Contains(s, ","):
			return fmt.Errorf("server %q: several servers in one string: give each by itself", s)
		case strings.ContainsFunc(s, unicode.IsSpace):
			return fmt.Errorf("server %q: a space in the address: want host:port", s)
		case err != nil:
			return fmt.Errorf("server %q: want host:port: %w", s, err)
		case host == "" || badPort != nil:
			return fmt.Errorf("server %q: want host:port", s)
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
		h.resolve()
		same := len(h.round) == 1 && h.round[0] == h.current
		pause = (h.vain || same) && !h.spared.Allow()
		h.vain = true
	}
	h.current, h.round = h.round[0], h.round[1:]
	return h.current, pause
}

// Connected notes that the server at the last address has answered. When that connection is lost, a
// new round begins, with that address as its last.
func (h *hosts) Connected() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.round, h.vain = nil, false
}

// resolve begins a round. The caller holds the mutex.
func (h *hosts) resolve() {
	background := context.Background() //nolint:forbidigo // the library asks without a context
	ctx, cancel := context.WithTimeout(background, lookupTimeout)
	defer cancel()
	errs := make([]error, len(h.servers))
	var all errgroup.Group
	for i := range h.servers {
		s := &h.servers[i]
		all.Go(func() error {
			addrs, err := h.lookup(ctx, s.host)
			if errs[i] = err; err == nil {
				s.addrs = s.addrs[:0]
				for _, addr := range addrs {
					s.addrs = append(s.addrs, net.JoinHostPort(addr, s.port))
				}
			}
			return nil
		})
	}
	_ = all.Wait() // the errors are in errs
	h.unknown = errors.Join(errs...)
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

// trouble returns why names did not resolve, or nil.
func (h *hosts) trouble() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.unknown
}
