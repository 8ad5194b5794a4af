package stockapi

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

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
