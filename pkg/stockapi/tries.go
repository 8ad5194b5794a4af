package stockapi

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
	"golang.org/x/time/rate"

	"orderstock/pkg/operation"
	"orderstock/pkg/retry"
)

// lockedPause is the pause after a try that met a held row: a transaction that is merely busy ends in that time.
const lockedPause = 300 * time.Millisecond

// write sends a request, repeatable by its flag, until it is answered, the tries or the budget are used up, or ctx
// ends. A held row costs no budget: few calls that want it get past Client.Pass. If any try may have taken effect, the
// error is ErrUnknownOutcome, unless the flag is in conflict. After ErrUnavailable, ErrLocked and ErrUnknownGoods
// nothing was done.
func write[T any](
	ctx context.Context, c *Client, send func(ctx context.Context, tries int) (T, error),
) (T, error) {
	c.counts.calls.Inc()
	c.writes.deposit()
	mayHaveBeenDone, tries := false, 0
	again := retry.Policy{First: 50 * time.Millisecond, Max: time.Second, Tries: c.cfg.Tries, InTime: true}
	answer, err := retry.Do(ctx, again, func() (T, error) {
		answer, err := try(ctx, c, tries, send)
		tries++
		if err == nil {
			return answer, nil
		}
		code := operation.CodeOf(err)
		mayHaveBeenDone = mayHaveBeenDone || code.Scope() == operation.Unknown
		switch {
		case code.Scope() == operation.Final, code == operation.ErrUnauthorized, errors.Is(err, errBreakerOpen):
			return answer, retry.Stop(err)
		case code == operation.ErrLocked:
			return answer, retry.After(err, lockedPause)
		case tries < int(c.cfg.Tries) && !c.writes.withdraw():
			c.counts.noBudget.Inc()
			return answer, retry.Stop(err)
		}
		if refused := (*Error)(nil); errors.As(err, &refused) && refused.RetryAfter > 0 {
			return answer, retry.After(err, refused.RetryAfter)
		}
		return answer, err
	})
	switch code := operation.CodeOf(err); {
	case err == nil, code == operation.ErrFlagConflict:
	case mayHaveBeenDone:
		err = fmt.Errorf("%w: %w", operation.ErrUnknownOutcome, err)
	case code.Scope() == operation.Service || code == (operation.Code{}):
		err = fmt.Errorf("%w: %w", operation.ErrUnavailable, err)
	}
	return answer, err
}

// try sends the request once, for at most the timeout of one try.
func try[T any](
	ctx context.Context, c *Client, tries int, send func(ctx context.Context, tries int) (T, error),
) (T, error) {
	if deadline, ok := ctx.Deadline(); !ok || time.Until(deadline) > c.cfg.Timeout {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, c.cfg.Timeout)
		defer cancel()
	}
	answer, err := send(ctx, tries)
	if errors.Is(err, errBreakerOpen) {
		c.counts.broken.Inc()
		return answer, err
	}
	c.counts.tries.Inc()
	if err != nil && !healthy(err) {
		c.counts.failed.Inc()
	}
	return answer, err
}

// healthy reports whether err is the answer of a stock service that works.
func healthy(err error) bool {
	scope := operation.CodeOf(err).Scope()
	return scope == operation.Final || scope == operation.Row
}

// budget keeps retries a small share of calls, so that a failing service does not get several times its load: each call
// deposits a tenth of a retry, and a few per second are free, so that a quiet client can retry at all. (Finagle's retry
// budget.)
type budget struct {
	mu     sync.Mutex
	tenths int
	free   *rate.Limiter
}

const (
	retryCost = 10
	most      = 200 * retryCost // the maximum balance
)

func newBudget() *budget { return &budget{free: rate.NewLimiter(10, 20)} }

// deposit is called once for each call.
func (b *budget) deposit() {
	b.mu.Lock()
	b.tenths = min(b.tenths+1, most)
	b.mu.Unlock()
}

// withdraw takes one retry and reports whether there was one.
func (b *budget) withdraw() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.tenths < retryCost {
		return b.free.Allow()
	}
	b.tenths -= retryCost
	return true
}

// counts are the counters of calls that change something at the stock service.
type counts struct {
	calls, tries, failed, noBudget, broken prometheus.Counter
}

// newCounts registers the metrics with r, unless r is nil.
func newCounts(r prometheus.Registerer, down func() bool) counts {
	with := promauto.With(r)
	counter := func(name, help string) prometheus.Counter {
		return with.NewCounter(prometheus.CounterOpts{Name: "order_stock_" + name, Help: help})
	}
	with.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "order_stock_breaker_open", Help: "1 while calls are kept from all stock services.",
	}, func() float64 {
		if down() {
			return 1
		}
		return 0
	})
	return counts{
		calls:    counter("calls_total", "Deductions and cancellations asked of the stock service."),
		tries:    counter("tries_total", "Requests sent for deductions and cancellations."),
		failed:   counter("failed_tries_total", "Requests without an answer, or answered by an error that is not final."),
		noBudget: counter("budget_refusals_total", "Retries that the budget refused."),
		broken:   counter("breaker_refusals_total", "Requests that the circuit breakers of all replicas refused."),
	}
}
