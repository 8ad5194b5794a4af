package catalogue

import (
	"fmt"

	"orderstock/loadtest/history"
	"orderstock/loadtest/verify"
)

// Demand checks a run in addition to the verdict.
type Demand func(*history.History, *verify.Verdict) verify.Invariant

// NobodyGivenUp demands that an order is cancelled only if a client cancelled it.
func NobodyGivenUp(h *history.History, v *verify.Verdict) verify.Invariant {
	asked := map[int32]bool{}
	for _, call := range h.Calls {
		if call.Kind == history.Cancel {
			asked[call.Op] = true
		}
	}
	found := verify.Invariant{
		Name: "not-given-up", Says: "an order is given up only if a client cancelled it", Sample: []string{},
	}
	if n := v.Cancelled - len(asked); n > 0 {
		found.Violations = n
		found.Sample = append(found.Sample, fmt.Sprintf("%d orders can never be deducted and were given up", n))
	}
	return found
}

// NobodyFailed demands that the first answer to each order confirms or rejects it.
func NobodyFailed(h *history.History, _ *verify.Verdict) verify.Invariant {
	found := verify.Invariant{
		Name: "first-answer-is-an-end", Says: "every order is confirmed or rejected by its first answer",
		Sample: []string{},
	}
	for _, call := range h.Calls {
		if call.Kind != history.Place {
			continue
		}
		if call.Status != history.Confirmed && call.Status != history.Rejected && call.Status != history.Done {
			found.Violations++
			if len(found.Sample) < 5 {
				found.Sample = append(found.Sample, fmt.Sprintf("order %d was answered %d %s", call.Op, call.Code, call.Status))
			}
		}
	}
	return found
}
