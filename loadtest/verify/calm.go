package verify

import (
	"cmp"
	"fmt"
	"slices"
	"sort"
	"time"

	"orderstock/loadtest/history"
)

const (
	// slow is how long a call may take in calm, unless the services' own limits of its steps are shorter. If one takes
	// longer, the machine stands still, or somebody does.
	slow = time.Second
	// aftermath is how long after a disturbance a call may begin and be excused: a circuit breaker rests for a second, and
	// Retry-After asks for one.
	aftermath = 2 * time.Second
	// mostExcused is the percentage of a run that disturbances by accident may take, if they excuse calls.
	mostExcused = 50
)

// span is a time of a run. After says that a call was excused by its aftermath.
type span struct {
	from, to time.Duration
	after    bool
}

// spans are apart from each other, and sorted.
type spans []span

// merged joins the spans that overlap.
func merged(all []span) (apart spans) {
	slices.SortFunc(all, func(a, b span) int { return cmp.Compare(a.from, b.from) })
	for _, s := range all {
		if last := len(apart) - 1; last >= 0 && s.from <= apart[last].to {
			apart[last].to = max(apart[last].to, s.to)
		} else {
			apart = append(apart, s)
		}
	}
	return apart
}

// meet reports whether one of the spans overlaps that time.
func (all spans) meet(from, to time.Duration) bool {
	i := sort.Search(len(all), func(i int) bool { return all[i].to >= from })
	return i < len(all) && all[i].from <= to
}

// excuse reports whether a call overlaps a span, or begins in the aftermath of one.
func (all spans) excuse(sent, done time.Duration) bool {
	if all.meet(sent, done) {
		return true
	}
	i := sort.Search(len(all), func(i int) bool { return all[i].to >= sent }) - 1
	if i < 0 || all[i].to+aftermath < sent {
		return false
	}
	all[i].after = true
	return true
}

// whole returns the spans with the aftermaths that excused a call.
func (all spans) whole() []span {
	whole := slices.Clone(all)
	for i := range whole {
		if whole[i].after {
			whole[i].to += aftermath
		}
	}
	return whole
}

// calm says which calls of a run must get their end at once.
type calm struct {
	// acts are the times with something broken on purpose: all of a run that was meant so. They excuse everything.
	acts spans
	// accidents are the times in which a service was away, a connection could not be made or broke, or a call was slow.
	accidents spans
	// away are the accidents without a service, or a connection to it. Apart from acts, they alone excuse an order that
	// expires.
	away spans
	// leaving are the times without a service that had announced it. At the end of its stop, Go's server may close a
	// connection just when a call arrives there, so that these times excuse calls whose connection broke.
	leaving spans
	// slow is how long a call may take in calm.
	slow time.Duration
	// excused counts the calls that got no end at once and were excused by accidents.
	excused int
}

func findCalm(h *history.History) (c calm) {
	var acts, accidents, away, leaving []span
	if h.Disturbed {
		acts = []span{{to: never}}
	}
	for _, a := range h.Acts {
		acts = append(acts, span{from: a.From, to: a.To})
	}
	for _, a := range h.Away {
		away = append(away, span{from: a.From, to: a.To})
		if a.Announced {
			leaving = append(leaving, span{from: a.From, to: a.To})
		}
	}
	if c.slow = slow; h.StepLimit > 0 {
		c.slow = min(slow, h.StepLimit)
	}
	look := func(f history.Failure, sent, done time.Duration) {
		switch at := (span{from: sent, to: done}); {
		case f == history.Refused || f == history.Unsent:
			away = append(away, at)
		case done-sent >= c.slow || f == history.TimedOut || f == history.Broken:
			accidents = append(accidents, at)
		}
	}
	for i := range h.Calls {
		look(h.Calls[i].Failure, h.Calls[i].Sent, h.Calls[i].Done)
	}
	for i := range h.Asides {
		look(h.Asides[i].Failure, h.Asides[i].Sent, h.Asides[i].Done)
	}
	c.accidents = merged(append(accidents, away...))
	c.acts, c.away, c.leaving = merged(acts), merged(away), merged(leaving)
	return c
}

// excuses reports whether a call overlaps a disturbance, or begins in the aftermath of one.
func (c *calm) excuses(sent, done time.Duration) bool {
	return c.acts.excuse(sent, done) || c.accidents.excuse(sent, done)
}

// percent returns how much of the run was calm. An aftermath was not, if it excused a call.
func (c *calm) percent(h *history.History) int {
	return outside(h, c.acts.whole(), c.accidents.whole())
}

// outside returns how much of the run lies outside of spans, in percent.
func outside(h *history.History, of ...[]span) int {
	whole, left, upTo := h.Elapsed, h.Elapsed, time.Duration(0)
	for _, s := range merged(slices.Concat(of...)) {
		s.from, s.to = max(s.from, upTo), min(s.to, whole)
		left, upTo = left-max(0, s.to-s.from), max(upTo, s.to)
	}
	return int(100 * left / max(whole, 1))
}

// tooLittleCalm reports whether calls are excused in a run that was hardly calm by accident, and returns the verdict's
// reason. A run that is made to be broken is about that, also on a slow machine; but services that are away for most of
// the rest show nothing.
func (j *judgement) tooLittleCalm() (reason string, is bool) {
	acts, accidents := j.calm.acts.whole(), j.calm.accidents
	if j.h.Breakable {
		accidents = j.calm.away
	}
	excused := outside(j.h, acts) - outside(j.h, acts, accidents.whole())
	is = j.calm.excused > 0 && excused > mostExcused
	return fmt.Sprintf("%d%% of the run was calm, too little to tell: %d calls got no end at once, and are excused by "+
		"services that were away, connections that broke, and calls slower than %s (if that was meant so, fire with "+
		"--disturbed)", j.v.Calm, j.calm.excused, j.calm.slow), is
}
