package stockapi

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/cespare/xxhash/v2"
	"github.com/dgryski/go-rendezvous"

	"orderstock/pkg/batch"
	"orderstock/pkg/operation"
)

// replica is one stock service, at one address.
type replica struct {
	base          string
	hedge         time.Duration // the hedging delay
	writes, reads breaker
	// shared gathers deductions that share requests; nil if each has its own.
	shared *batch.Group[Deduction, operation.Operation]

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

// fleet is an immutable snapshot of the replicas.
type fleet struct {
	all []*replica
	// ranked holds all replicas for each partition, the preferred first.
	ranked [][]*replica
}

// rank orders the replicas for each partition by rendezvous hashing: when one comes or goes, the others keep their
// order.
func rank(all []*replica, partitions int) *fleet {
	f := &fleet{all: all, ranked: make([][]*replica, partitions)}
	byBase := make(map[string]*replica, len(all))
	var bases []string
	for _, r := range all {
		byBase[r.base] = r
		bases = append(bases, r.base)
	}
	for p := range partitions {
		for left := slices.Clone(bases); len(left) > 0; {
			first := rendezvous.New(left, xxhash.Sum64String).Lookup(fmt.Sprintf("partition-%d", p))
			f.ranked[p] = append(f.ranked[p], byBase[first])
			left = slices.DeleteFunc(left, func(base string) bool { return base == first })
		}
	}
	return f
}

func writes(r *replica) breaker { return r.writes }

func reads(r *replica) breaker { return r.reads }

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

// errNoAnswer is the failure of a replica that does not answer.
var errNoAnswer = errors.New("no answer")

// sender sends a call to one replica, and returns the answer.
type sender[T any] func(ctx context.Context, r *replica) (T, error)

// to sends the call to the replica, and records the result in its breaker and in the replica.
func (send sender[T]) to(ctx context.Context, r *replica, done func(error)) (value T, err error) {
	err = errNoAnswer // of a send that panics
	r.sent()
	defer func() {
		r.ended()
		done(err)
		if unanswered(err) {
			r.eject()
		}
	}()
	return send(ctx, r)
}

// tries is a call in flight to one or more replicas.
type tries[T any] struct {
	order   []*replica // not tried yet
	breaker func(*replica) breaker
	send    sender[T]
	results chan result[T]
	// last is the replica tried last, and give reports the result of that try to its breaker.
	last *replica
	give func(error)
}

type result[T any] struct {
	value T
	err   error
}

// at calls send with the first available replica of the order, and then with the next one while none was reached. If a
// replica is overdue and another is not, the call is hedged: it goes to that one as well, and the first success
// counts. So a call may run twice, under one flag. If all tries fail, the error says whether any of them may have taken
// effect.
func at[T any](ctx context.Context, order []*replica, breaker func(*replica) breaker, send sender[T]) (T, error) {
	var none T
	switch len(order) {
	case 0:
		return none, fmt.Errorf("%w: no stock service is known", operation.ErrUnavailable)
	case 1: // no other to turn to
		done, err := breaker(order[0]).Allow()
		if err != nil {
			return none, breakerOpen(err)
		}
		return send.to(ctx, order[0], done)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	t := &tries[T]{order: promptFirst(order), breaker: breaker, send: send, results: make(chan result[T], len(order))}
	under, refused := t.next(ctx)
	if !under {
		return none, refused
	}
	var failed error
	going := 1
	look := time.NewTimer(t.last.hedgeIn())
	defer look.Stop()
	turn := func() {
		if more, _ := t.next(ctx); more {
			going++
			look.Reset(t.last.hedgeIn())
		}
	}
	for {
		select {
		case r := <-t.results:
			if going--; r.err == nil || !errors.Is(r.err, errUnreached) && going == 0 && failed == nil {
				return r.value, r.err
			}
			if failed == nil || !errors.Is(failed, operation.ErrUnknownOutcome) && !errors.Is(r.err, errUnreached) {
				failed = r.err
			}
			if errors.Is(r.err, errUnreached) {
				turn()
			}
			if going == 0 {
				return none, failed
			}
		case <-look.C:
			switch left := t.last.hedgeIn(); {
			case left > 0:
				look.Reset(left)
			case len(t.order) == 0: // no other to turn to
			case t.order[0].overdue():
				look.Reset(t.last.hedge / 4)
			default:
				t.give(errNoAnswer)
				t.last.eject()
				failed = fmt.Errorf("%w: %w", operation.ErrUnknownOutcome, errNoAnswer)
				turn()
			}
		}
	}
}

// unanswered reports whether a request was sent and not answered, unless its caller gave up.
func unanswered(err error) bool {
	return errors.Is(err, operation.ErrUnknownOutcome) && !errors.Is(err, context.Canceled) && !answered(err)
}

// next begins the try at the next replica whose breaker allows it. If there is none, it returns the reason.
func (t *tries[T]) next(ctx context.Context) (begun bool, refused error) {
	for len(t.order) > 0 {
		r := t.order[0]
		t.order = t.order[1:]
		done, err := t.breaker(r).Allow()
		if err != nil {
			refused = breakerOpen(err)
			continue
		}
		var once sync.Once
		give := func(err error) { once.Do(func() { done(err) }) }
		t.last, t.give = r, give
		go func() {
			value, err := t.send.to(ctx, r, give)
			t.results <- result[T]{value, err}
		}()
		return true, nil
	}
	return false, refused
}

// breakerOpen returns the error of a call that an open breaker refused.
func breakerOpen(err error) error {
	return fmt.Errorf("%w: %w: %w", errBreakerOpen, operation.ErrUnavailable, err)
}

// promptFirst returns the order with the overdue replicas last.
func promptFirst(order []*replica) []*replica {
	if !slices.ContainsFunc(order, (*replica).overdue) {
		return order
	}
	prompt := slices.DeleteFunc(slices.Clone(order), (*replica).overdue)
	for _, r := range order {
		if !slices.Contains(prompt, r) {
			prompt = append(prompt, r)
		}
	}
	return prompt
}
