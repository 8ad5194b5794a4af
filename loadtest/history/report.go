package history

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// Outcomes counts the first calls of orders.
type Outcomes struct {
	// Orders is their number. Confirmed counts the orders confirmed (on PathDeduct: deductions done) by the answer,
	// Rejected the orders refused for lack of stock, Pending the orders without an outcome yet, and Unknown the rest: no
	// answer, or an error.
	Orders, Confirmed, Rejected, Pending, Unknown int
}

// Add counts the first call of one more order, by the status in its answer.
func (o *Outcomes) Add(s Status) {
	o.Orders++
	switch s {
	case Confirmed, Done:
		o.Confirmed++
	case Rejected:
		o.Rejected++
	case Pending:
		o.Pending++
	default:
		o.Unknown++
	}
}

func (o *Outcomes) merge(of Outcomes) {
	o.Orders += of.Orders
	o.Confirmed += of.Confirmed
	o.Rejected += of.Rejected
	o.Pending += of.Pending
	o.Unknown += of.Unknown
}

// Report is the measurement of a run, from the client's side. Rates and latencies leave out the warm-up.
type Report struct {
	History *History

	Outcomes
	// Calls includes repeats and cancellations.
	Calls   int
	Elapsed time.Duration

	// OrdersPerS counts orders with an outcome, confirmed or rejected; DonePerS and RejectedPerS are its parts.
	OrdersPerS, DonePerS, RejectedPerS float64
	// Latency of the answered first calls, from the intended send time.
	P50, P90, P99, Max time.Duration

	// The inputs of the rates and latencies: the outcomes within the measured time, and the latencies in µs.
	within    Outcomes
	measured  time.Duration
	latencies *hdrhistogram.Histogram
}

// Measure returns the report of the history.
func (h *History) Measure() *Report {
	r := &Report{History: h, Calls: len(h.Calls), Elapsed: h.Elapsed}
	r.latencies = newLatencies()
	for _, c := range h.Calls {
		if c.Kind != Place {
			continue
		}
		r.Add(c.Status)
		if c.Done >= h.Warmup && c.Done <= h.Window {
			r.within.Add(c.Status)
		}
		if c.Code != 0 && c.Intended >= h.Warmup {
			_ = r.latencies.RecordValue(min(c.Latency().Microseconds(), 10*60*1e6)) // clamped to the histogram's bounds
		}
	}
	r.measured = max(h.Window-h.Warmup, 0)
	r.derive()
	return r
}

// newLatencies covers 1 µs to 10 min, to three digits.
func newLatencies() *hdrhistogram.Histogram { return hdrhistogram.New(1, 10*60*1e6, 3) }

// derive computes the rates and the latencies.
func (r *Report) derive() {
	if seconds := r.measured.Seconds(); seconds > 0 {
		r.DonePerS, r.RejectedPerS = float64(r.within.Confirmed)/seconds, float64(r.within.Rejected)/seconds
		r.OrdersPerS = r.DonePerS + r.RejectedPerS
	}
	at := func(q float64) time.Duration {
		return time.Duration(r.latencies.ValueAtQuantile(q)) * time.Microsecond
	}
	r.P50, r.P90, r.P99, r.Max = at(50), at(90), at(99), time.Duration(r.latencies.Max())*time.Microsecond
}

// Sum merges the reports of several runs: the counts added up, the rates over the total time, all latencies. It has no
// History, which Write needs.
func Sum(reports ...*Report) *Report {
	sum := &Report{latencies: newLatencies()}
	for _, r := range reports {
		sum.merge(r.Outcomes)
		sum.within.merge(r.within)
		sum.Calls += r.Calls
		sum.Elapsed += r.Elapsed
		sum.measured += r.measured
		sum.latencies.Merge(r.latencies)
	}
	sum.derive()
	return sum
}

// Write prints the report as text.
func (r *Report) Write(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	row := func(name, format string, args ...any) {
		_, _ = fmt.Fprintf(t, name+"\t"+format+"\n", args...) // reported by Flush
	}
	row("orders", "%d in %.1f s (%d calls with repeats and cancellations)", r.Orders, r.Elapsed.Seconds(), r.Calls)
	row("first answers", "confirmed %d, rejected %d, pending %d, other %d", r.Confirmed, r.Rejected, r.Pending, r.Unknown)
	row("rate", "%.0f orders/s (confirmed %.0f, rejected %.0f)", r.OrdersPerS, r.DonePerS, r.RejectedPerS)
	row("latency", "p50 %s, p90 %s, p99 %s, max %s", round(r.P50), round(r.P90), round(r.P99), round(r.Max))
	if drawn := r.History.Drawn(); len(drawn) > 0 {
		calls := 0
		for _, n := range drawn {
			calls += n
		}
		row("odd calls", "%d, of %d kinds%s", calls, len(drawn), r.History.notAsked())
	}
	if failed := r.failures(); failed != "" {
		row("without an end", "%s", failed)
	}
	if err := t.Flush(); err != nil {
		return fmt.Errorf("print report: %w", err)
	}
	return nil
}

// Drawn counts the odd calls by the row of the grammar.
func (h *History) Drawn() map[string]int {
	drawn := map[string]int{}
	for i := range h.Asides {
		if row := h.Asides[i].Row; row != RowLevel && row != RowPage {
			drawn[row]++
		}
	}
	return drawn
}

// notAsked says what the run was too short to ask.
func (h *History) notAsked() string {
	const shown = 3
	switch n := len(h.NotAsked); {
	case n == 0:
		return ""
	case n > shown:
		return fmt.Sprintf("; too short a run for %d more, such as %q", n, h.NotAsked[0])
	}
	return "; too short a run for " + strings.Join(h.NotAsked, "; ")
}

func round(d time.Duration) time.Duration {
	if d < 10*time.Millisecond {
		return d.Round(10 * time.Microsecond)
	}
	return d.Round(time.Millisecond / 10)
}

// failures counts the calls of any kind without a state in the answer, by reason.
func (r *Report) failures() string {
	counts := map[string]int{}
	var names, texts []string
	for _, c := range r.History.Calls {
		if c.Status != NoStatus && c.Status != Unheard || c.Kind == ReadLedger && c.Ended() {
			continue
		}
		name := c.Failure.String()
		if c.Failure == Answered {
			name = fmt.Sprintf("code %d", c.Code)
		}
		if counts[name] == 0 {
			names = append(names, name)
		}
		counts[name]++
	}
	for _, name := range names {
		texts = append(texts, fmt.Sprintf("%s %d", name, counts[name]))
	}
	return strings.Join(texts, ", ")
}
