package trial

import (
	"slices"
	"time"

	"orderstock/loadtest/history"
	"orderstock/loadtest/report"
	"orderstock/loadtest/verify"
)

// Result is what a run leaves.
type Result struct {
	Experiment string `json:"experiment"`
	Seed       uint64 `json:"seed"`
	// Outcome is pass, violation or unknown. Why is the reason if it is not pass.
	Outcome verify.Outcome `json:"outcome"`
	Why     []string       `json:"why,omitempty"`
	// Broken names the failed requirements: the verdict's invariants, and checks.
	Broken []string `json:"broken,omitempty"`
	Counts
	// Traffic is the number of calls in flight while the fault was on, and Cancelled an outcome in the database.
	Traffic   int `json:"traffic"`
	Cancelled int `json:"cancelled"`
	// SettleMS has, for each order that was unfinished at the last heal, the time until it ended.
	SettleMS []float64 `json:"settle_ms"`
	// WritesAgainS is the longest time without an acknowledged write after the cluster could heal, in seconds; nil unless
	// the experiment is on a cluster.
	WritesAgainS *float64      `json:"writes_again_s,omitempty"`
	Took         time.Duration `json:"took"`
	// Says are words of the checks about the run.
	Says   []string           `json:"says,omitempty"`
	checks []verify.Invariant // the failed ones
	// Acts are the experiment's, with what became of them.
	Acts []*Act `json:"-"`
	// Placed are orders that checks have placed.
	Placed []history.Placed `json:"-"`
	// Verdict is nil until the run is judged.
	Verdict *verify.Verdict  `json:"verdict"`
	History *history.History `json:"-"`

	evidence verify.Evidence // that the verdict was made of; empty on a Board
	replaced bool            // it proves nothing, and another run is made in its place
}

// Counts are the figures of a run, or their sums over several runs.
type Counts struct {
	// Fired is how often the fault struck.
	Fired int `json:"fired" col:"Fired"`
	// Orders is the number of orders sent; OK and Rejected are outcomes in the database.
	Orders   int `json:"orders" col:"Orders"`
	OK       int `json:"ok" col:"Confirmed"`
	Rejected int `json:"rejected" col:"Refused"`
	// UnknownToClient counts orders whose outcome no client received.
	UnknownToClient int `json:"unknown_to_client"`
	Violations      int `json:"violations" col:"Violations"`
	Unsettled       int `json:"unsettled" col:"No end"`
	// GivenUp counts orders that were cancelled although no client asked for it.
	GivenUp int `json:"given_up"`
	// Retried503 and RetriedLost count, in a rolling restart, the orders whose first call was answered 503, or whose
	// connection was refused or broke. Clients repeated them under their keys.
	Retried503  int `json:"retried_503,omitempty"`
	RetriedLost int `json:"retried_lost,omitempty"`
}

func (c *Counts) add(other Counts) {
	c.Fired += other.Fired
	c.Orders += other.Orders
	c.OK += other.OK
	c.Rejected += other.Rejected
	c.UnknownToClient += other.UnknownToClient
	c.Violations += other.Violations
	c.Unsettled += other.Unsettled
	c.GivenUp += other.GivenUp
	c.Retried503 += other.Retried503
	c.RetriedLost += other.RetriedLost
}

// forget drops the history and the books of a run that is judged: a table has hundreds of runs, of some 3 MB each.
func (r *Result) forget() {
	r.History, r.evidence = nil, verify.Evidence{}
}

func (r *Result) fail(outcome verify.Outcome, format string, args ...any) {
	r.Outcome = r.Outcome.Or(outcome)
	r.Why = append(r.Why, report.English.Sprintf(format, args...))
}

// Violate fails the run for n violations of a check. It writes numbers as report.English does.
func (r *Result) Violate(check string, n int, format string, args ...any) {
	r.checks = append(r.checks, verify.Invariant{
		Name: check, Says: check, Violations: n, Sample: []string{report.English.Sprintf(format, args...)},
	})
	r.violate(check, n, format, args...)
}

// addToVerdict makes the verdict the run's, with its checks.
func (r *Run) addToVerdict() {
	v := r.Verdict
	for _, c := range r.Experiment.Checks {
		if c.Says == "" {
			continue
		}
		of := verify.Invariant{Name: c.Name, Says: c.Says, Sample: []string{}}
		if i := slices.IndexFunc(r.checks, func(failed verify.Invariant) bool { return failed.Name == c.Name }); i >= 0 {
			r.checks[i].Says = c.Says
			continue
		}
		v.Invariants = append(v.Invariants, of)
	}
	v.Invariants = append(v.Invariants, r.checks...)
	if v.Outcome == verify.Pass && r.Outcome == verify.Unknown {
		v.Reasons = append(v.Reasons, r.Why...)
	}
	v.Outcome = r.Outcome
}

// violate fails the run for n violations of a requirement.
func (r *Result) violate(requirement string, n int, format string, args ...any) {
	r.Violations += n
	if !slices.Contains(r.Broken, requirement) {
		r.Broken = append(r.Broken, requirement)
	}
	r.fail(verify.Violation, format, args...)
}

// judge adds a verdict.
func (r *Result) judge(v *verify.Verdict) {
	r.OK, r.Rejected, r.Cancelled = r.OK+v.Confirmed, r.Rejected+v.Rejected, r.Cancelled+v.Cancelled
	for _, i := range v.Invariants {
		if i.Name == verify.Settled {
			r.Unsettled += i.Violations
		}
		if i.Violations > 0 {
			r.violate(i.Name, i.Violations, "%s: %d, such as %v", i.Name, i.Violations, i.Sample[0])
		}
	}
	for _, reason := range v.Reasons {
		r.fail(verify.Unknown, "%s", reason)
	}
}

// countCalls computes the figures of the clients' side. The fault, if there is one, was on between the two times.
func (r *Result) countCalls(on, healed time.Time) {
	h := r.History
	ended := make([]bool, h.Orders())
	for _, c := range h.Calls {
		if h.Started.Add(c.Done).After(on) && h.Started.Add(c.Sent).Before(healed) {
			r.Traffic++
		}
		switch c.Status {
		case history.Confirmed, history.Rejected, history.Cancelled:
			ended[c.Op] = true
		}
	}
	r.Orders += len(ended)
	for _, e := range ended {
		if !e {
			r.UnknownToClient++
		}
	}
}
