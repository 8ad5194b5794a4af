package ladder

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"orderstock/loadtest/fire"
	"orderstock/loadtest/history"
	"orderstock/loadtest/trial"
	"orderstock/loadtest/verify"
)

// FailingRow is a minute of whole orders, during which a stock service that holds locks fails.
type FailingRow struct {
	// Fault is killed or paused, for twenty seconds.
	Fault string `json:"fault"`
	// Answers counts the answers to first calls, and Other the ones that are none of 201, 202 and 409.
	Answers    int     `json:"answers"`
	Other      int     `json:"other"`
	OtherShare float64 `json:"other_share"`
	// FirstSuccessS is how long after the fault every product was sold again: the longest of the products' times until
	// the first confirmation of an order that was sent after the fault; -1 if a product was never sold again.
	FirstSuccessS float64        `json:"first_success_s"`
	Verdict       verify.Outcome `json:"verdict"`
}

const (
	failAfter  = 20 * time.Second
	failingFor = 20 * time.Second
	failingEnd = time.Minute
	// failingProducts are enough for every partition, and so few that each is asked for several times in a second.
	failingProducts = 32
)

// MeasureFailing fires whole orders of one product each, for many products, and lets one of three stock services fail,
// once for each fault.
func MeasureFailing(ctx context.Context, cfg Config, clients int) (rows []FailingRow, err error) {
	for _, fault := range []string{Killed, paused} {
		cfg.say("a minute of orders, with a holder %s", fault)
		row, err := measureFailing(ctx, cfg, fault, clients)
		if err != nil {
			return rows, fmt.Errorf("holder %s: %w", fault, err)
		}
		cfg.say("holder %s: every product sold again after %.2f s", fault, row.FirstSuccessS)
		rows = append(rows, row)
	}
	return rows, nil
}

func measureFailing(ctx context.Context, cfg Config, fault string, clients int) (row FailingRow, err error) {
	row.Fault = fault
	c, err := open(ctx, cfg, variant{shape: shape{Default, 3}, impatient: true}, PathOrder)
	if err != nil {
		return row, err
	}
	defer func() { err = errors.Join(err, c.close(ctx)) }()
	t := trial.On(c.system, fire.Config{
		Path: history.PathOrder, Concurrency: clients, Duration: failingEnd, Timeout: 15 * time.Second,
		Mix: fire.Mix{Goods: failingProducts, Stock: plenty, ItemsMax: 1, NumMax: 1, Seed: cfg.Seed},
	})
	t.Load.Target.StockURLs = t.Load.Target.StockURLs[1:] // the others make the products
	act := c.act(fault)
	act.For = failingFor
	t.Acts = []trial.Timed{{At: failAfter, Act: act}}
	r, err := t.Run(ctx)
	if err != nil {
		return row, err
	}
	row.count(r.History, r.Strikes[0].Armed)
	row.Verdict = r.Verdict.Outcome
	return row, nil
}

// count takes in the answers to clients. Each order is of one product.
func (f *FailingRow) count(h *history.History, struck time.Time) {
	total := h.Measure()
	f.Answers, f.Other = total.Orders, total.Unknown
	f.OtherShare = float64(f.Other) / float64(max(1, f.Answers))
	at := struck.Sub(h.Started)
	sold := map[int64]time.Duration{} // when each product was first sold again
	for _, c := range h.Calls {
		if c.Kind != history.Place || c.Status != history.Confirmed || c.Sent < at {
			continue
		}
		product := h.Items(int(c.Op))[0].GoodsID
		if first, some := sold[product]; !some || c.Done < first {
			sold[product] = c.Done
		}
	}
	f.FirstSuccessS = -1
	if len(sold) == len(h.Goods) {
		f.FirstSuccessS = (slices.Max(slices.Collect(maps.Values(sold))) - at).Seconds()
	}
}
