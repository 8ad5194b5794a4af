package console

import (
	"time"

	"orderstock/loadtest/act"
)

// RunRow is a run in the table of runs.
type RunRow struct {
	ID         string    `json:"id"`
	At         time.Time `json:"at"`
	Title      string    `json:"title"`
	Fault      string    `json:"fault"`
	Variant    string    `json:"variant"`
	Strategy   string    `json:"strategy"`
	Seed       string    `json:"seed"`
	Orders     int       `json:"orders"`
	OrdersPerS float64   `json:"orders_per_s"`
	P99MS      float64   `json:"p99_ms"`
	Verdict    string    `json:"verdict"`
	Oversold   int64     `json:"oversold"`
	Faults     []string  `json:"faults"`
	HasReport  bool      `json:"has_report"`
	Command    string    `json:"command"` // the command line of the same run
}

// Record is a run as it is kept.
type Record struct {
	Row     RunRow       `json:"row"`
	Samples []Sample     `json:"samples"`
	Log     []Entry      `json:"log"`
	Verdict *Judged      `json:"verdict"`
	Faults  []act.Strike `json:"faults"`
	Compare *Compare     `json:"compare"`
	Hero    *Hero        `json:"hero"`
	Books   *Books       `json:"books"`

	attempt int // which one of its plan
}

// Judged is a verdict with its invariants in words, which verdict.json leaves out.
type Judged struct {
	*Verdict
	Invariants []Invariant `json:"invariants"`
}

// Invariant has the findings about one invariant.
type Invariant struct {
	Name       string   `json:"name"`
	Violations int      `json:"violations"`
	Sample     []string `json:"sample"`
	Says       string   `json:"says"`
}

func inWords(v *Verdict) *Judged {
	j := &Judged{Verdict: v}
	for _, i := range v.Invariants {
		j.Invariants = append(j.Invariants, Invariant{i.Name, i.Violations, i.Sample, i.Says})
	}
	return j
}
