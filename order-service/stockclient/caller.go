package stockclient

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/sony/gobreaker/v2"

	"orderstock/order-service/order"
	"orderstock/pkg/batch"
	"orderstock/pkg/stockapi"
)

// Config bounds the calls. The zero value of a field means its default.
type Config struct {
	// Timeout bounds one try. Default 2 s.
	Timeout time.Duration
	// Tries bounds the tries of a deduction or cancellation. Default 3.
	Tries uint
	// Rest is how long the circuit breaker leaves the stock service alone. Default 1 s.
	Rest time.Duration
	// Metrics registers the counters of calls. Nil: they are not exported.
	Metrics prometheus.Registerer
}

// Caller calls the stock service. Safe for concurrent use; make one with New.
type Caller struct {
	client *stockapi.Client
	cfg    Config
	budget *budget
	writes *gobreaker.CircuitBreaker[stockapi.Operation]
	reads  *gobreaker.CircuitBreaker[any]
	ledger *batch.Group[string, record]
	counts counts
}

var _ order.Stock = (*Caller)(nil)

// New returns a caller that uses client. It logs to log when the breaker opens and closes.
func New(client *stockapi.Client, cfg Config, log *slog.Logger) *Caller {
	if cfg.Timeout <= 0 {
		cfg.Timeout = 2 * time.Second
	}
	if cfg.Tries == 0 {
		cfg.Tries = 3
	}
	if cfg.Rest <= 0 {
		cfg.Rest = time.Second
	}
	c := &Caller{
		client: client, cfg: cfg, budget: newBudget(), counts: newCounts(cfg.Metrics),
		writes: gobreaker.NewCircuitBreaker[stockapi.Operation](breakerSettings("stock writes", cfg.Rest, log)),
		reads:  gobreaker.NewCircuitBreaker[any](breakerSettings("stock reads", cfg.Rest, log)),
	}
	c.ledger = batch.Func(c.readLedger, batch.WithMaxSize(maxFlags), batch.WithTimeout(cfg.Timeout))
	return c
}

// Close waits for the reads under way.
func (c *Caller) Close() { c.ledger.Close() }

// Down implements order.Stock: the breaker for writes is open, or has let
// through all the calls by which it tries whether the service is back. Orders
// beyond those would be written and then left to the reconciler.
func (c *Caller) Down() bool {
	switch c.writes.State() {
	case gobreaker.StateOpen:
		return true
	case gobreaker.StateHalfOpen:
		return counted(c.writes.Counts()) >= probes
	default:
		return false
	}
}

// counted is how many calls the breaker counts: those that were withdrawn say
// nothing about the service.
func counted(n gobreaker.Counts) uint32 { return n.Requests - n.TotalExclusions }

// probes is how many calls a breaker that was open lets through to try.
const probes = 5

// breakerSettings opens a breaker when, within a second or two, at least ten
// calls and six of ten failed. Refusals that a healthy service gives do not count.
func breakerSettings(name string, rest time.Duration, log *slog.Logger) gobreaker.Settings {
	return gobreaker.Settings{
		Name:        name,
		MaxRequests: probes,
		Interval:    2 * time.Second,
		Timeout:     rest,
		ReadyToTrip: func(n gobreaker.Counts) bool {
			return n.TotalFailures >= 10 && 10*n.TotalFailures >= 6*counted(n)
		},
		IsSuccessful: func(err error) bool { return err == nil || final(err) },
		IsExcluded:   func(err error) bool { return errors.Is(err, context.Canceled) },
		OnStateChange: func(name string, from, to gobreaker.State) {
			log.Warn("circuit breaker", "name", name, "from", from.String(), "to", to.String())
		},
	}
}

// final reports whether a healthy stock service said no, and would say so again.
func final(err error) bool {
	return errors.Is(err, stockapi.ErrFlagConflict) || errors.Is(err, stockapi.ErrUnknownGoods) ||
		errors.Is(err, stockapi.ErrInvalid)
}

// broken reports whether err is the breaker's refusal: nothing was sent.
func broken(err error) bool {
	return errors.Is(err, gobreaker.ErrOpenState) || errors.Is(err, gobreaker.ErrTooManyRequests)
}

// unknown reports whether the call that failed with err may have been carried out.
func unknown(err error) bool {
	return errors.Is(err, stockapi.ErrUnknownOutcome) || errors.Is(err, stockapi.ErrInternal)
}

// domain turns a failed call's error into the port's. A call of which any try
// may have been carried out is unknown, whatever the last one said.
func domain(err error, mayHaveBeenDone bool) error {
	switch {
	case errors.Is(err, stockapi.ErrFlagConflict):
		return fmt.Errorf("%w: %w", order.ErrFlagConflict, err)
	case errors.Is(err, stockapi.ErrUnknownGoods) && !mayHaveBeenDone:
		return fmt.Errorf("%w: %w", order.ErrUnknownGoods, err)
	case mayHaveBeenDone:
		return fmt.Errorf("%w: %w", order.ErrOutcomeUnknown, err)
	}
	return fmt.Errorf("%w: %w", order.ErrStockUnavailable, err)
}
