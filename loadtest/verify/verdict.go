package verify

import (
	"fmt"
	"io"
	"math"
	"strings"
	"text/tabwriter"
	"time"

	"orderstock/loadtest/history"
)

// Outcome is the result of a verdict.
type Outcome string

const (
	// Pass: everything was read, there was traffic, and every invariant holds.
	Pass Outcome = "pass"
	// Violation: an invariant does not hold, even if something else could not be read.
	Violation Outcome = "violation"
	// Unknown: something could not be read, or there was nothing to judge.
	Unknown Outcome = "unknown"
)

// Or returns the worse of two outcomes: violation, unknown, pass.
func (o Outcome) Or(other Outcome) Outcome {
	if o == Violation || other == Pass {
		return o
	}
	return other
}

// Invariant is the result of checking one invariant.
type Invariant struct {
	Name       string `json:"name"`
	Violations int    `json:"violations"`
	// Sample describes the first few violations.
	Sample []string `json:"sample"`
	// Findings are the same violations, field by field.
	Findings []Finding `json:"findings,omitempty"`
	// Says describes the invariant.
	Says string `json:"says"`
}

// Verdict is the judgement on a run and on the databases behind it.
type Verdict struct {
	Outcome Outcome `json:"verdict"`
	// The run's orders in the database by outcome; operations on PathDeduct.
	Orders    int `json:"orders"`
	Confirmed int `json:"confirmed"`
	Rejected  int `json:"rejected"`
	Cancelled int `json:"cancelled"`
	Pending   int `json:"pending"`
	// Oversold counts pieces beyond the stock. DoubleDeducted counts deduct rows after the first of a flag and product,
	// and deduct rows of the run's products that no request of the run explains.
	Oversold       int64 `json:"oversold"`
	DoubleDeducted int64 `json:"double_deducted"`
	// Unlocked counts the run's deductions without a fencing token, or with one that no lock can have given: no lock was
	// held.
	Unlocked int64 `json:"unlocked"`
	// Served counts the calls that got an end, and Repeated those that did not, and had to be repeated.
	Served   int `json:"served"`
	Repeated int `json:"repeated"`
	// Calm is the percentage of the run without a disturbance: there, every call must get its end at once.
	Calm       int     `json:"calm"`
	OrdersPerS float64 `json:"orders_per_s"`
	P50Ms      float64 `json:"p50_ms"`
	P99Ms      float64 `json:"p99_ms"`
	// OddCalls counts the odd calls by the row of the grammar, and NotAsked are the rows that the run was too short for.
	OddCalls   map[string]int `json:"odd_calls,omitempty"`
	NotAsked   []string       `json:"not_asked,omitempty"`
	Invariants []Invariant    `json:"invariants"`
	// ReadFrom is the group member that was read: its primary, as the DSN names it.
	ReadFrom string `json:"read_from,omitempty"`
	// Reasons says why the outcome is unknown.
	Reasons []string `json:"reasons,omitempty"`
}

// Violated returns the names of the invariants that do not hold.
func (v *Verdict) Violated() []string {
	var names []string
	for _, i := range v.Invariants {
		if i.Violations > 0 {
			names = append(names, i.Name)
		}
	}
	return names
}

// ExitCode is 0 for pass, 1 for a violation and 2 for unknown.
func (o Outcome) ExitCode() int {
	switch o {
	case Pass:
		return 0
	case Violation:
		return 1
	case Unknown:
	}
	return 2
}

// String returns the verdict's last line.
func (v *Verdict) String() string {
	line := fmt.Sprintf(
		"VERDICT: %s orders=%d confirmed=%d rejected=%d cancelled=%d pending=%d oversold=%d double_deducted=%d",
		strings.ToUpper(string(v.Outcome)), v.Orders, v.Confirmed, v.Rejected, v.Cancelled, v.Pending,
		v.Oversold, v.DoubleDeducted)
	if v.Unlocked != 0 {
		line += fmt.Sprintf(" unlocked=%d", v.Unlocked)
	}
	return line + fmt.Sprintf(" served=%d repeated=%d calm=%d%%", v.Served, v.Repeated, v.Calm)
}

// Write prints the broken invariants, how many hold, the unknown parts and the verdict's line. With all
// it prints every invariant.
func (v *Verdict) Write(w io.Writer, all bool) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	line := func(format string, args ...any) { _, _ = fmt.Fprintf(t, format+"\n", args...) } // reported by Flush
	violated := len(v.Violated())
	if all || violated > 0 {
		line("INVARIANT\tVIOLATIONS\tWHAT HOLDS, OR THE FIRST VIOLATION")
	}
	for _, i := range v.Invariants {
		switch {
		case len(i.Sample) > 0:
			line("%s\t%d\tVIOLATED: %s", i.Name, i.Violations, i.Sample[0])
		case all:
			line("%s\t%d\t%s", i.Name, i.Violations, i.Says)
		}
	}
	if len(v.Reasons) == 0 {
		line("%d of %d invariants hold", len(v.Invariants)-violated, len(v.Invariants))
	}
	for _, reason := range v.Reasons {
		line("unknown: %s", reason)
	}
	if v.ReadFrom != "" {
		line("read from %s, the group's primary", v.ReadFrom)
	}
	line("%s", v)
	if err := t.Flush(); err != nil {
		return fmt.Errorf("print verdict: %w", err)
	}
	return nil
}

// measured copies the run's figures into the verdict.
func (v *Verdict) measured(r *history.Report) {
	ms := func(d time.Duration) float64 { return math.Round(float64(d.Microseconds())/10) / 100 }
	v.OrdersPerS = math.Round(r.OrdersPerS*10) / 10
	v.P50Ms, v.P99Ms = ms(r.P50), ms(r.P99)
	v.OddCalls, v.NotAsked = r.History.Drawn(), r.History.NotAsked
}
