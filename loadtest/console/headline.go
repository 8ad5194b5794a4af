package console

import (
	"fmt"
	"strings"

	"golang.org/x/text/language"
	"golang.org/x/text/message"

	"orderstock/loadtest/catalogue"
	"orderstock/loadtest/history"
	"orderstock/loadtest/verify"
)

// english prints numbers with commas.
var english = message.NewPrinter(language.English)

// hero returns the headline that the books make, or nil.
func (s *sale) hero(b Books) *Hero {
	if !s.live || len(b.Rows) == 0 {
		return nil
	}
	h := &Hero{}
	if s.meter != nil {
		h.Word = wordRunning
	}
	h.Sold, h.Stock = b.Sold, b.Stock
	h.Sentence = english.Sprintf("sold %d of %d", h.Sold, h.Stock)
	if b.Scope != "" {
		h.Sentence += " of " + b.Scope
	}
	if b.Wrong != "" {
		h.Word = strings.ToUpper(string(verify.Violation))
	}
	return h
}

// headline returns the headline of a run that was judged: the pieces sold or, if
// something is wrong but nothing is oversold, the first invariant that is broken.
func headline(b Books, v *Verdict) Hero {
	h := Hero{Word: strings.ToUpper(string(v.Outcome))}
	h.Sold, h.Stock = b.Sold, b.Stock
	h.Sentence = english.Sprintf("sold %d of %d", h.Sold, h.Stock)
	if v.Outcome == verify.Violation && h.Sold <= h.Stock {
		for _, i := range v.Invariants {
			if i.Violations > 0 {
				h.Sentence = english.Sprintf("broken %d times: %s", i.Violations, i.Says)
				if i.Violations == 1 {
					h.Sentence = "broken once: " + i.Says
				}
				break
			}
		}
	}
	return h
}

// demands check a run of a published fault.
var demands = map[catalogue.Demand]func(*history.History, *Verdict) verify.Invariant{
	catalogue.NobodyGivenUp: nobodyGivenUp,
	catalogue.NobodyFailed:  nobodyFailed,
}

func nobodyGivenUp(h *history.History, v *Verdict) verify.Invariant {
	asked := map[int32]bool{}
	for _, call := range h.Calls {
		if call.Kind == history.Cancel {
			asked[call.Op] = true
		}
	}
	found := verify.Invariant{
		Name: string(catalogue.NobodyGivenUp), Says: "an order is given up only if a client cancelled it", Sample: []string{},
	}
	if n := v.Cancelled - len(asked); n > 0 {
		found.Violations = n
		found.Sample = append(found.Sample, fmt.Sprintf("%d orders can never be deducted and were given up", n))
	}
	return found
}

func nobodyFailed(h *history.History, _ *Verdict) verify.Invariant {
	found := verify.Invariant{
		Name: string(catalogue.NobodyFailed), Says: "every order is confirmed or rejected by its first answer",
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
