package stockapi

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/sony/gobreaker/v2"

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
