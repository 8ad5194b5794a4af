package ladder

import (
	"math"
	"time"

	"orderstock/loadtest/history"
)

// Ratio compares two measurements of one run.
type Ratio struct {
	Name  string  `json:"name"`
	Value float64 `json:"value"`
	// Error is the standard error of Value; 0 if that is not known.
	Error float64 `json:"error,omitempty"`
	// Want is the least that Value should be.
	Want float64 `json:"want"`
	OK   bool    `json:"ok"`
}

// compare divides a's sales a second by b's, which must not be 0.
func compare(name string, a, b Row, want float64) Ratio {
	value := a.DonePerS / b.DonePerS
	return Ratio{
		Name: name, Value: value, Error: value * math.Hypot(a.DoneError/a.DonePerS, b.DoneError/b.DonePerS),
		Want: want, OK: value >= want,
	}
}

// withinError reports whether the ratio reaches its target within its error. It is for two rows that do
// the same work, and so differ by errors alone.
func (r *Ratio) withinError() bool { return r.Value+r.Error >= r.Want }

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

// overLegs returns mean(b) / mean(a) and its standard error, if leg i measured a[i] and b[i]. It uses the formula for a
// ratio estimator, by how far each b is from the ratio times its a (W. G. Cochran, Sampling Techniques, chapter 6).
func overLegs(a, b []float64) (ratio, err float64) {
	ratio = mean(b) / mean(a)
	off := make([]float64, len(a))
	for i := range a {
		off[i] = b[i] - ratio*a[i]
	}
	return ratio, standardError(off) / mean(a)
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
