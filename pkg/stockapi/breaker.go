package stockapi

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/sony/gobreaker/v2"

	"orderstock/pkg/operation"
)

// ErrBreakerOpen is returned, with ErrUnavailable, if nothing was sent because the circuit breaker of every replica is
// open.
var ErrBreakerOpen = errors.New("circuit breaker open")

// breaker is a circuit breaker. Allow returns an error while it is open.
type breaker interface {
	Allow() (done func(error), err error)
	Counts() gobreaker.Counts
	State() gobreaker.State
}

// probes is the number of calls that a half-open breaker lets through.
const probes = 5

// WithBreakers opens a replica's circuit breaker for openFor if, within a second or two, at least ten calls and six of
// ten failed; calls for it go to the next one. A healthy service's refusals are no failures. Writes and reads are
// counted separately. Each change of a breaker's state is logged to log. Default: no breakers.
func WithBreakers(openFor time.Duration, log *slog.Logger) Option {
	return func(c *Client) {
		c.newBreaker = func(name string) breaker {
			return gobreaker.NewTwoStepCircuitBreaker[any](gobreaker.Settings{
				Name:        name,
				MaxRequests: probes,
				Interval:    2 * time.Second,
				Timeout:     openFor,
				ReadyToTrip: func(n gobreaker.Counts) bool {
					return n.TotalFailures >= 10 && 10*n.TotalFailures >= 6*counted(n)
				},
				IsSuccessful: func(err error) bool { return err == nil || Final(err) || errors.Is(err, operation.ErrLocked) },
				IsExcluded:   func(err error) bool { return errors.Is(err, context.Canceled) },
				OnStateChange: func(name string, from, to gobreaker.State) {
					log.Warn("circuit breaker", "name", name, "from", from.String(), "to", to.String())
				},
			})
		}
	}
}

// counted returns the number of calls that the breaker counts. Withdrawn calls say nothing about the service.
func counted(n gobreaker.Counts) uint32 { return n.Requests - n.TotalExclusions }

// Final reports whether a healthy stock service refused the call, and would refuse it again.
func Final(err error) bool {
	return errors.Is(err, ErrFlagConflict) || errors.Is(err, ErrUnknownGoods) || errors.Is(err, ErrInvalid)
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

// closed is the breaker of a client without breakers.
type closed struct{}

func (closed) Allow() (func(error), error) { return func(error) {}, nil }
func (closed) Counts() gobreaker.Counts    { return gobreaker.Counts{} }
func (closed) State() gobreaker.State      { return gobreaker.StateClosed }
