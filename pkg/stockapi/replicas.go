package stockapi

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/cespare/xxhash/v2"
	"github.com/sony/gobreaker/v2"

	"orderstock/pkg/batch"
	"orderstock/pkg/operation"
)

// fleet is an immutable snapshot of the replicas.
type fleet struct {
	all []*replica
	// ranked holds all replicas for each partition, the preferred first.
	ranked [][]*replica
}

// rank orders the replicas for each partition by rendezvous hashing: each by the hash of its address and the partition.
// When one comes or goes, the others keep their order.
func rank(all []*replica, partitions int) *fleet {
	f := &fleet{all: all, ranked: make([][]*replica, partitions)}
	for p := range partitions {
		weight := func(r *replica) uint64 { return xxhash.Sum64String(fmt.Sprintf("%s partition-%d", r.base, p)) }
		f.ranked[p] = slices.Clone(all)
		slices.SortFunc(f.ranked[p], func(a, b *replica) int { return cmp.Compare(weight(b), weight(a)) })
	}
	return f
}

// ofWrites and ofReads choose a replica's breaker.
func ofWrites(r *replica) breaker { return r.writes }
func ofReads(r *replica) breaker  { return r.reads }

// SetReplicas replaces the stock services to call with the ones at these base URLs. Calls in flight to others complete
// there. If it returns an error, it changed nothing.
func (c *Client) SetReplicas(bases []string) error {
	known := map[string]*replica{}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, r := range c.fleet.Load().all {
		known[r.base] = r
	}
	var all []*replica
	for _, base := range bases {
		u, err := url.Parse(base)
		if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" {
			return fmt.Errorf("stock client: base URL %q: want http://host:port", base)
		}
		base = strings.TrimRight(base, "/")
		if slices.ContainsFunc(all, func(r *replica) bool { return r.base == base }) {
			continue
		}
		r := known[base]
		if r == nil {
			r = c.newReplica(base)
		}
		delete(known, base)
		all = append(all, r)
	}
	c.fleet.Store(rank(all, c.cfg.Partitions))
	for _, gone := range known {
		if gone.shared != nil {
			c.leaving.Go(gone.shared.Close)
		}
	}
	return nil
}

func (c *Client) newReplica(base string) *replica {
	r := &replica{
		base: base, hedge: c.cfg.hedge,
		writes: newBreaker("stock writes at "+base, c.cfg), reads: newBreaker("stock reads at "+base, c.cfg),
	}
	if n := c.cfg.SharedRequests; n > 0 {
		r.shared = batch.New(func(ctx context.Context, take func() []*sharedCall) { c.sendShared(ctx, r, take) },
			batch.WithMaxSize(MaxDeductions), batch.WithConcurrency(n), batch.WithFullConcurrency(4*n), batch.WithGather(8))
	}
	return r
}

// forItems returns the replicas in the order to try for a deduction. The partition of its first item decides the order.
// Each number of earlier tries begins with another replica.
func (c *Client) forItems(items []operation.Item, tries int) []*replica {
	if c.cfg.Spread {
		return c.inTurn(0)
	}
	partition := 0
	if len(items) > 0 {
		partition = operation.Partition(items[0].GoodsID, c.cfg.Partitions)
	}
	return shifted(c.fleet.Load().ranked[partition], tries)
}

// inTurn returns the replicas in round-robin order.
func (c *Client) inTurn(tries int) []*replica {
	return shifted(c.fleet.Load().all, int(c.turn.Add(1))+tries)
}

func shifted(order []*replica, by int) []*replica {
	if len(order) < 2 || by%len(order) == 0 {
		return order
	}
	by %= len(order)
	return slices.Concat(order[by:], order[:by])
}

// Down reports whether no write can be sent: no replica is known, or every breaker is open or has used all its probes.
func (c *Client) Down() bool {
	for _, r := range c.fleet.Load().all {
		switch r.writes.State() {
		case gobreaker.StateOpen:
		case gobreaker.StateHalfOpen:
			if counted(r.writes.Counts()) < probes {
				return false
			}
		default:
			return false
		}
	}
	return true
}

// replica is one stock service, at one address.
type replica struct {
	base          string
	hedge         time.Duration // the hedging delay
	writes, reads breaker
	// shared gathers deductions that share requests; nil if each has its own.
	shared *batch.Queue[Deduction, operation.Operation]

	mu         sync.Mutex
	inFlight   int       // requests in flight
	lastAnswer time.Time // or when the first of the requests was sent
	// ejectedUntil is the end of the replica's ejection, after it left a request unanswered, and ejectedFor the length of
	// the last ejection. An answer resets both.
	ejectedUntil time.Time
	ejectedFor   time.Duration
}

// hedgeDelay is the hedging delay: a replica with requests in flight that answers none of them for so long is passed
// over by further calls. A busy one answers something in that time.
const hedgeDelay = 300 * time.Millisecond

// The first and the longest ejection. Without an answer in between, each is twice as long as the last.
const (
	firstEjection   = time.Second
	longestEjection = 8 * time.Second
)

func (r *replica) sent() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.inFlight == 0 {
		r.lastAnswer = time.Now()
	}
	r.inFlight++
}

func (r *replica) answered() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lastAnswer, r.ejectedUntil, r.ejectedFor = time.Now(), time.Time{}, 0
}

// eject ejects the replica for a while.
func (r *replica) eject() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if now := time.Now(); now.After(r.ejectedUntil) {
		r.ejectedFor = min(max(2*r.ejectedFor, firstEjection), longestEjection)
		r.ejectedUntil = now.Add(r.ejectedFor)
	}
}

func (r *replica) ended() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.inFlight--
}

// overdue reports whether the replica has requests in flight and has answered none of them for too long, or is ejected.
func (r *replica) overdue() bool { return r.hedgeIn() <= 0 }

// hedgeIn returns the remaining time without an answer until the replica is overdue.
func (r *replica) hedgeIn() time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case time.Now().Before(r.ejectedUntil):
		return 0
	case r.inFlight == 0:
		return r.hedge
	}
	return r.hedge - time.Since(r.lastAnswer)
}

// errBreakerOpen stands beside ErrUnavailable if nothing was sent because the circuit breaker of every replica is open.
var errBreakerOpen = errors.New("circuit breaker open")

// breaker is a circuit breaker. Allow returns an error while it is open.
type breaker interface {
	Allow() (done func(error), err error)
	Counts() gobreaker.Counts
	State() gobreaker.State
}

// probes is the number of calls that a half-open breaker lets through.
const probes = 5

// newBreaker returns a breaker as described at Config.BreakerRest.
func newBreaker(name string, cfg Config) breaker {
	if cfg.BreakerRest <= 0 {
		return closed{}
	}
	return gobreaker.NewTwoStepCircuitBreaker[any](gobreaker.Settings{
		Name:        name,
		MaxRequests: probes,
		Interval:    2 * time.Second,
		Timeout:     cfg.BreakerRest,
		ReadyToTrip: func(n gobreaker.Counts) bool {
			return n.TotalFailures >= 10 && 10*n.TotalFailures >= 6*counted(n)
		},
		IsSuccessful: func(err error) bool { return err == nil || healthy(err) },
		IsExcluded:   func(err error) bool { return errors.Is(err, context.Canceled) },
		OnStateChange: func(name string, from, to gobreaker.State) {
			cfg.Log.Warn("circuit breaker", "name", name, "from", from.String(), "to", to.String())
		},
	})
}

// counted returns the number of calls that the breaker counts. Withdrawn calls say nothing about the service.
func counted(n gobreaker.Counts) uint32 { return n.Requests - n.TotalExclusions }

// closed is the breaker of a client without breakers.
type closed struct{}

func (closed) Allow() (func(error), error) { return func(error) {}, nil }
func (closed) Counts() gobreaker.Counts    { return gobreaker.Counts{} }
func (closed) State() gobreaker.State      { return gobreaker.StateClosed }

// breakerOpen returns the error of a call that an open breaker refused.
func breakerOpen(err error) error {
	return fmt.Errorf("%w: %w: %w", errBreakerOpen, operation.ErrUnavailable, err)
}
