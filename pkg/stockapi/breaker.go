package stockapi

import (
	"context"
	"errors"
	"time"

	"github.com/sony/gobreaker/v2"
)

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

// closed is the breaker of a client without breakers.
type closed struct{}

func (closed) Allow() (func(error), error) { return func(error) {}, nil }
func (closed) Counts() gobreaker.Counts    { return gobreaker.Counts{} }
func (closed) State() gobreaker.State      { return gobreaker.StateClosed }
