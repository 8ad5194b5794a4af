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
func ofWrites(r *replica) *breaker { return r.writes }
func ofReads(r *replica) *breaker  { return r.reads }

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
		writes: newBreaker("stock writes at "+base, c.cfg, &c.ends),
		reads:  newBreaker("stock reads at "+base, c.cfg, &c.ends),
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

// replica is one stock service, at one address.
type replica struct {
	base          string
	hedge         time.Duration // the hedging delay
	writes, reads *breaker
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

// errBreakerOpen is wrapped with ErrUnavailable if nothing was sent since every replica's circuit breaker was open.
var errBreakerOpen = errors.New("circuit breaker open")

// probes is the number of calls that a half-open breaker lets through, and of successes that close it.
const probes = 5

// breaker is a replica's circuit breaker. Calls that it refuses while probes are in flight may wait for their outcome.
type breaker struct {
	circuit *gobreaker.TwoStepCircuitBreaker[any]
	rest    time.Duration
	ends    *ends

	mu sync.Mutex
	// patience is when calls stop to wait for the probes in flight; zero unless one has begun to.
	patience time.Time
}

// newBreaker returns a breaker as described at Config.BreakerRest. It announces each end of a call.
func newBreaker(name string, cfg Config, ends *ends) *breaker {
	return &breaker{rest: cfg.BreakerRest, ends: ends, circuit: gobreaker.NewTwoStepCircuitBreaker[any](gobreaker.Settings{
		Name:        name,
		MaxRequests: probes,
		Interval:    2 * time.Second,
		Timeout:     cfg.BreakerRest,
		ReadyToTrip: func(n gobreaker.Counts) bool {
			return cfg.BreakerRest > 0 && n.TotalFailures >= 10 &&
				10*n.TotalFailures >= 6*(n.Requests-n.TotalExclusions)
		},
		IsSuccessful: func(err error) bool { return err == nil || healthy(err) },
		IsExcluded:   func(err error) bool { return errors.Is(err, context.Canceled) },
		OnStateChange: func(name string, from, to gobreaker.State) {
			cfg.Log.Warn("circuit breaker", "name", name, "from", from.String(), "to", to.String())
		},
	})}
}

// closed reports whether the breaker lets every call through.
func (b *breaker) closed() bool { return b.circuit.State() == gobreaker.StateClosed }

// allow lets a call through, which must report its end to done. One that it refuses while probes are in flight may wait
// for the end of another call, up to the time until, and ask again.
func (b *breaker) allow() (done func(error), until time.Time, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	end, err := b.circuit.Allow()
	switch {
	case errors.Is(err, gobreaker.ErrTooManyRequests):
		if b.patience.IsZero() {
			b.patience = time.Now().Add(b.rest)
		}
		return nil, b.patience, breakerOpen(err)
	case err != nil:
		b.patience = time.Time{}
		return nil, b.patience, breakerOpen(err)
	}
	b.patience = time.Time{}
	return func(err error) {
		end(err)
		b.ends.announce()
	}, b.patience, nil
}

// breakerOpen returns the error of a call that a breaker refused.
func breakerOpen(err error) error {
	return fmt.Errorf("%w: %w: %w", errBreakerOpen, operation.ErrUnavailable, err)
}

// ends wakes the calls that wait for the end of another.
type ends struct {
	mu   sync.Mutex
	next chan struct{}
}

// await returns a channel that is closed at the next end of a call.
func (e *ends) await() <-chan struct{} {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.next == nil {
		e.next = make(chan struct{})
	}
	return e.next
}

func (e *ends) announce() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.next != nil {
		close(e.next)
		e.next = nil
	}
}

// admit returns the index of the first replica of the order whose breaker lets a call through. The other results are as
// of breaker.allow.
func admit(
	order []*replica, of func(*replica) *breaker,
) (index int, done func(error), until time.Time, err error) {
	err = fmt.Errorf("%w: no stock service is known", operation.ErrUnavailable)
	for i, r := range order {
		done, wait, refused := of(r).allow()
		if refused == nil {
			return i, done, until, nil
		}
		if err = refused; wait.After(until) {
			until = wait
		}
	}
	return 0, nil, until, err
}

// admitted is admit, but waits for the outcome of probes in flight, unless ctx ends or that takes too long.
func admitted(
	ctx context.Context, order []*replica, of func(*replica) *breaker,
) (index int, done func(error), err error) {
	var end <-chan struct{} // asked for before the breakers are, so that none is missed
	for {
		index, done, until, err := admit(order, of)
		left := time.Until(until)
		if err == nil || left <= 0 {
			return index, done, err
		}
		if end != nil {
			select {
			case <-end:
			case <-time.After(left):
			case <-ctx.Done():
				return 0, nil, err
			}
		}
		end = of(order[0]).ends.await()
	}
}
