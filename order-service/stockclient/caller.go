package stockclient

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"orderstock/order-service/order"
	"orderstock/pkg/batch"
	"orderstock/pkg/operation"
	"orderstock/pkg/stockapi"
)

// Config bounds the calls. The zero value of a field means its default.
type Config struct {
	// Timeout bounds one try. Default 2 s.
	Timeout time.Duration
	// Tries bounds the tries of a deduction or cancellation. Default 3.
	Tries uint
	// Metrics registers the counters of calls. Nil: they are not exported.
	Metrics prometheus.Registerer
}

// Caller calls the stock service. Safe for concurrent use; make one with New.
type Caller struct {
	client *stockapi.Client
	cfg    Config
	budget *budget // of deductions and cancellations
	reads  *budget // of reads, which must not use up the others' retries
	ledger *batch.Group[string, record]
	counts counts
	held   operation.Held
}

var _ order.Stock = (*Caller)(nil)

// New returns a Caller that uses client. Callers must Close it before the client.
func New(client *stockapi.Client, cfg Config) *Caller {
	if cfg.Timeout <= 0 {
		cfg.Timeout = 2 * time.Second
	}
	if cfg.Tries == 0 {
		cfg.Tries = 3
	}
	c := &Caller{client: client, cfg: cfg, budget: newBudget(), reads: newBudget(), counts: newCounts(cfg.Metrics)}
	promauto.With(cfg.Metrics).NewGaugeFunc(prometheus.GaugeOpts{
		Name: "order_stock_breaker_open", Help: "1 while calls are kept from all stock services.",
	}, func() float64 {
		if c.Refuses(nil) != nil {
			return 1
		}
		return 0
	})
	c.ledger = batch.Func(c.readLedger, batch.WithMaxSize(maxFlags), batch.WithTimeout(cfg.Timeout))
	return c
}

// Close waits for the reads in flight.
func (c *Caller) Close() { c.ledger.Close() }

// Refuses implements order.Stock. An order that it refuses would only be written and left to the reconciler.
func (c *Caller) Refuses(items []order.Item) error {
	if c.client.Down() {
		return fmt.Errorf("%w: no replica may be called", order.ErrStockUnavailable)
	}
	return c.held.Pass(unpriced(items))
}

// checkLimit bounds CheckToken: a stock service that does not answer is no reason to keep a caller waiting.
const checkLimit = 500 * time.Millisecond

// CheckToken returns an error if a stock service answers that it refuses the service token. A stock service that does
// not answer is not an error: orders wait for it.
func (c *Caller) CheckToken(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, checkLimit)
	defer cancel()
	if err := c.client.CheckToken(ctx); errors.Is(err, stockapi.ErrUnauthorized) {
		return fmt.Errorf("SERVICE_TOKEN is not the stock service's: %w", err)
	}
	return nil
}

// breakerOpen reports whether nothing was sent because the circuit breaker of every replica is open.
func breakerOpen(err error) bool { return errors.Is(err, stockapi.ErrBreakerOpen) }

// unknown reports whether the call that failed with err may have taken effect.
func unknown(err error) bool {
	return errors.Is(err, stockapi.ErrUnknownOutcome) || errors.Is(err, stockapi.ErrInternal)
}

// domain maps the error of a call's last try to the port's. If any try may have taken effect, that is
// ErrOutcomeUnknown, unless the flag is in conflict.
func domain(err error, mayHaveBeenDone bool) error {
	switch {
	case errors.Is(err, operation.ErrLocked) && !mayHaveBeenDone:
		return err
	case errors.Is(err, stockapi.ErrFlagConflict):
		return fmt.Errorf("%w: %w", order.ErrFlagConflict, err)
	case errors.Is(err, stockapi.ErrUnknownGoods) && !mayHaveBeenDone:
		return fmt.Errorf("%w: %w", order.ErrUnknownGoods, err)
	case mayHaveBeenDone:
		return fmt.Errorf("%w: %w", order.ErrOutcomeUnknown, err)
	}
	return fmt.Errorf("%w: %w", order.ErrStockUnavailable, err)
}
