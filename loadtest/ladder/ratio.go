package ladder

import (
	"fmt"
	"math"
	"time"

	"orderstock/loadtest/history"
)

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

// compare divides a's sales a second by b's, which must not be 0.
func compare(a, b Row) Ratio {
	value := a.DonePerS / b.DonePerS
	return Ratio{value, value * math.Hypot(a.DoneError/a.DonePerS, b.DoneError/b.DonePerS)}
}

// underLoad are the numbers of clients by whose better row a strategy is compared.
var underLoad = []int{64, 256}

// find returns the row; the zero Row if it was not measured.
func find(rows []Row, strategy, path string, replicas, goods, clients int) Row {
	for _, r := range rows {
		if r.Strategy == strategy && r.Path == path && r.Replicas == replicas && r.Goods == goods && r.Clients == clients &&
			!r.SellOut {
			return r
		}
	}
	return Row{}
}

// most returns the row with the most sales a second of one hot product under load.
func most(rows []Row, strategy, path string, replicas int) (best Row) {
	for _, c := range underLoad {
		if r := find(rows, strategy, path, replicas, 1, c); r.DonePerS > best.DonePerS {
			best = r
		}
	}
	return best
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
	off := make([]float64, len(a))
	for i := range a {
		off[i] = b[i] - ratio*a[i]
	}
	return Ratio{ratio, standardError(off) / mean(a)}
}

// slice is the time over which sales are counted to see how much they differ.
const slice = 250 * time.Millisecond

// doneError returns the standard error of the sales a second, by the slices of all turns.
func doneError(turns []*history.Report) float64 {
	var rates []float64
	for _, turn := range turns {
		h := turn.History
		counts := make([]float64, max(1, (h.Window-h.Warmup)/slice))
		width := (h.Window - h.Warmup) / time.Duration(len(counts))
		for _, c := range h.Calls {
			if c.Kind == history.Place && (c.Status == history.Done || c.Status == history.Confirmed) && c.Done >= h.Warmup &&
				c.Done < h.Warmup+width*time.Duration(len(counts)) {
				counts[(c.Done-h.Warmup)/width]++
			}
		}
		for _, n := range counts {
			rates = append(rates, n/width.Seconds())
		}
	}
	return standardError(rates)
}
