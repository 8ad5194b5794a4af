package ladder

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"orderstock/loadtest/history"
	"orderstock/loadtest/trial"
	"orderstock/loadtest/verify"
)

// Result is a whole run.
type Result struct {
	Bench
	// Kind is the measurement: "ladder" or "compare"; "" is a ladder.
	Kind string `json:"kind,omitempty"`
	Rows []Row  `json:"rows"`
	// Survival has the rows under whose load something broke.
	Survival []Row `json:"survival,omitempty"`
}

// Row is one variant under one load, over all its turns. Latencies are in milliseconds.
type Row struct {
	Strategy string `json:"strategy" col:"Strategy"`
	// Variant says what differs from the other rows of the load, if not the strategy.
	Variant string `json:"variant,omitempty" col:"Variant"`
	// Path is "deduct" for the deduction alone, made as the order service makes it: the flag is set in Redis, and the
	// stock service's client lets concurrent calls share requests. It is "order" for whole orders.
	Path history.Path `json:"path" col:"Path"`
	// Goods is the number of products that the clients ask for: 1 is one hot product. With Zipf the first ones are more
	// popular. Items is the most products of one order.
	Goods   int  `json:"goods" col:"Products"`
	Zipf    bool `json:"zipf,omitempty"`
	Items   int  `json:"items,omitempty" col:"Baskets of"`
	Clients int  `json:"clients" col:"Clients"`
	// SellOut says that the stock ends halfway.
	SellOut bool `json:"sell_out,omitempty" col:"Sold out"`
	// Replicas of the stock service.
	Replicas int `json:"replicas" col:"Stock services"`
	// DonePerS counts sales, RejectedPerS refusals for want of stock.
	DonePerS     float64 `json:"done_per_s" col:"Sales a second" fmt:"%.0f"`
	RejectedPerS float64 `json:"rejected_per_s" col:"Refused a second" fmt:"%.0f"`
	P50MS        float64 `json:"p50_ms" col:"p50 ms" fmt:"%.1f"`
	P99MS        float64 `json:"p99_ms" col:"p99 ms" fmt:"%.1f"`
	// Ratio divides the sales by the sales of the load's first row, and P99 divides the 99th percentiles.
	Ratio Ratio `json:"ratio" col:"Ratio"`
	P99   Ratio `json:"p99_ratio" col:"p99, ratio"`
	// Handovers is how often a second a lock went from one stock service to another.
	Handovers float64 `json:"handovers_per_s" col:"Hand-overs a second" fmt:"%.1f"`
	// Legs and P99Legs are the sales a second and the 99th percentile of each turn.
	Legs    []float64 `json:"legs_per_s,omitempty"`
	P99Legs []float64 `json:"legs_p99_ms,omitempty"`
	// Fault is what broke, if something did: one of the faults below.
	Fault string `json:"fault,omitempty" col:"Fault"`
	// Verdict is the verifier's over the row's products, and Broken names the invariants that do not hold.
	Verdict verify.Outcome `json:"verdict" col:"Verdict"`
	Broken  []string       `json:"broken,omitempty" col:"Broken"`
}

// newRow returns the row of an experiment, without figures.
func newRow(e trial.Experiment) Row {
	mix := e.Load.Mix
	return Row{
		Strategy: e.Services.Strategy, Variant: e.Group, Replicas: e.Services.Replicas, Path: e.Load.Path, Goods: mix.Goods,
		Zipf: mix.Zipf > 0, Items: mix.ItemsMax, Clients: e.Load.Concurrency, SellOut: mix.Stock > 0 && mix.Stock < plenty,
	}
}

// load describes the load.
func (r Row) load() string {
	text := string(r.Path) + " of one hot product"
	if r.Goods > 1 {
		text = fmt.Sprintf("%s of 1 to %d of %d products", r.Path, max(1, r.Items), r.Goods)
	}
	if r.SellOut {
		text += ", sold out halfway"
	}
	return fmt.Sprintf("%s, %d clients", text, r.Clients)
}

// addLeg adds a row that was measured with new services as one leg.
func (r *Row) addLeg(leg Row) {
	legs, p99, handovers := append(r.Legs, leg.DonePerS), append(r.P99Legs, leg.P99MS), r.Handovers
	if len(r.Legs) == 0 {
		*r = leg
	}
	r.Legs, r.P99Legs, r.Verdict = legs, p99, r.Verdict.Or(leg.Verdict)
	r.DonePerS, r.P99MS = mean(legs), mean(p99)
	r.Handovers = handovers + (leg.Handovers-handovers)/float64(len(legs))
}

// errNothingSold is why there is no ratio.
var errNothingSold = errors.New("nothing was sold")

// relate sets the rows' ratios to the first.
func relate(rows []Row) error {
	for i := range rows {
		r := &rows[i]
		if rows[0].DonePerS <= 0 {
			return fmt.Errorf("%s, %s: %w", rows[0].load(), rows[0].Variant, errNothingSold)
		}
		r.Ratio, r.P99 = overLegs(rows[0].Legs, r.Legs), overLegs(rows[0].P99Legs, r.P99Legs)
	}
	return nil
}

// distinct returns the values of key in the order of their first appearance.
func distinct[K comparable](rows []Row, key func(Row) K) []K {
	var keys []K
	for _, row := range rows {
		if k := key(row); !slices.Contains(keys, k) {
			keys = append(keys, k)
		}
	}
	return keys
}

// find returns the row; the zero Row if it was not measured.
func find(rows []Row, strategy string, path history.Path, replicas, goods, clients int) Row {
	for _, r := range rows {
		if r.Strategy == strategy && r.Path == path && r.Replicas == replicas && r.Goods == goods && r.Clients == clients &&
			!r.SellOut {
			return r
		}
	}
	return Row{}
}

// underLoad are the numbers of clients by whose better row a strategy is compared.
var underLoad = []int{64, 256}

// most returns the row with the most sales a second of one hot product under load.
func most(rows []Row, strategy string, path history.Path, replicas int) (best Row) {
	for _, c := range underLoad {
		if r := find(rows, strategy, path, replicas, 1, c); r.DonePerS > best.DonePerS {
			best = r
		}
	}
	return best
}

// Ratio compares two measurements of one run.
type Ratio struct {
	Value float64 `json:"ratio"`
	// Error is the standard error of Value; 0 if that is not known.
	Error float64 `json:"error,omitempty"`
}

func (r Ratio) String() string {
	if r.Error == 0 {
		return fmt.Sprintf("%.2f", r.Value)
	}
	return fmt.Sprintf("%.2f ± %.2f", r.Value, r.Error)
}

func mean(values []float64) (m float64) {
	for _, v := range values {
		m += v / float64(len(values))
	}
	return m
}

// standardError returns the standard error of the mean of independent values, or 0 for fewer than two.
func standardError(values []float64) float64 {
	n := float64(len(values))
	if n < 2 {
		return 0
	}
	m, squares := mean(values), 0.0
	for _, v := range values {
		squares += (v - m) * (v - m)
	}
	return math.Sqrt(squares / (n - 1) / n)
}

// overLegs returns mean(b) / mean(a), if leg i measured a[i] and b[i]. Its error is by the formula for a ratio
// estimator, by how far each b is from the ratio times its a (W. G. Cochran, Sampling Techniques, chapter 6).
func overLegs(a, b []float64) Ratio {
	ratio := mean(b) / mean(a)
	if len(a) != len(b) { // in a file of an earlier version
		return Ratio{Value: ratio}
	}
	off := make([]float64, len(a))
	for i := range a {
		off[i] = b[i] - ratio*a[i]
	}
	return Ratio{ratio, standardError(off) / mean(a)}
}
