package stockapi

import (
	"context"
	"errors"
	"fmt"
	"slices"
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
	c.writeRetries.deposit()
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
		case tries < int(c.cfg.Tries) && !c.writeRetries.withdraw():
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
	if ends, ok := ctx.Deadline(); !ok || time.Until(ends) > c.cfg.Timeout {
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
func newCounts(r prometheus.Registerer, down func() float64) counts {
	with := promauto.With(r)
	counter := func(name, help string) prometheus.Counter {
		return with.NewCounter(prometheus.CounterOpts{Name: "order_stock_" + name, Help: help})
	}
	with.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "order_stock_breaker_open", Help: "1 while calls are kept from all stock services.",
	}, down)
	return counts{
		calls:    counter("calls_total", "Deductions and cancellations asked of the stock service."),
		tries:    counter("tries_total", "Requests sent for deductions and cancellations."),
		failed:   counter("failed_tries_total", "Requests without an answer, or answered by an error that is not final."),
		noBudget: counter("budget_refusals_total", "Retries that the budget refused."),
		broken:   counter("breaker_refusals_total", "Requests that the circuit breakers of all replicas refused."),
	}
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

// race is a call in flight to one or more replicas.
type race[T any] struct {
	order   []*replica // not tried yet
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

// at calls send with the first available replica of the order, and then with the next one while none was reached. If
// all refuse and one is being probed, it waits for the outcome. If a replica is overdue and another is not, the call is
// hedged: it goes to that one as well, and the first success counts. So a call may run twice, under one flag. If all
// tries fail, the error says whether any of them may have taken effect.
func at[T any](ctx context.Context, order []*replica, of func(*replica) *breaker, send sender[T]) (T, error) {
	var none T
	order = promptFirst(order)
	first, done, err := admitted(ctx, order, of)
	switch {
	case err != nil:
		return none, err
	case len(order) == 1: // no other to turn to
		return send.to(ctx, order[0], done)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	running := &race[T]{order: order, send: send, results: make(chan result[T], len(order))}
	running.begin(ctx, first, done)
	var failed error
	going := 1
	look := time.NewTimer(running.last.hedgeIn())
	defer look.Stop()
	turn := func() {
		next, done, _, err := admit(running.order, of)
		if err != nil {
			running.order = nil
			return
		}
		running.begin(ctx, next, done)
		going++
		look.Reset(running.last.hedgeIn())
	}
	for {
		select {
		case r := <-running.results:
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
			switch left := running.last.hedgeIn(); {
			case left > 0:
				look.Reset(left)
			case len(running.order) == 0: // no other to turn to
			case running.order[0].overdue():
				look.Reset(running.last.hedge / 4)
			default:
				running.give(errNoAnswer)
				running.last.eject()
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

// begin begins the try at that replica of the order, whose breaker has let it through. Later tries come after it.
func (t *race[T]) begin(ctx context.Context, index int, done func(error)) {
	r := t.order[index]
	t.order = t.order[index+1:]
	var once sync.Once
	give := func(err error) { once.Do(func() { done(err) }) }
	t.last, t.give = r, give
	go func() {
		value, err := t.send.to(ctx, r, give)
		t.results <- result[T]{value, err}
	}()
}

// promptFirst returns the order with the overdue replicas last.
func promptFirst(order []*replica) []*replica {
	if !slices.ContainsFunc(order, (*replica).overdue) {
		return order
	}
	prompt, overdue := make([]*replica, 0, len(order)), []*replica(nil)
	for _, r := range order {
		if r.overdue() {
			overdue = append(overdue, r)
		} else {
			prompt = append(prompt, r)
		}
	}
	return append(prompt, overdue...)
}
