package verify

import (
	"net/http"
	"time"

	"orderstock/loadtest/history"
)

// slow is how long a call may take before an answer without an end is no surprise in calm: the services give up waiting
// for each other on a machine that is so slow.
const slow = 2 * time.Second

// fails503 are the strategies kept for comparison that answer 503 in calm, each with the reason.
var fails503 = map[string]string{}

// calm reports whether nothing was broken or limited during the run, as far as the client can see: it could connect each
// time, and every call was answered in its time.
func calm(h *history.History) bool {
	for i := range h.Calls {
		if f := h.Calls[i].Failure; f == history.Refused || f == history.TimedOut || f == history.Unsent {
			return false
		}
	}
	for i := range h.Asides {
		if f := h.Asides[i].Failure; f == history.Refused || f == history.TimedOut || f == history.Unsent {
			return false
		}
	}
	return !h.Disturbed
}

// ends judges whether each call of order n got its end: at once in calm, and under faults after repeats.
func (j *judge) ends(n int, calls []int32) {
	var last [4]*history.Call // by what is asked
	for _, i := range calls {
		c := &j.h.Calls[i]
		if l := &last[askOf(c.Kind)]; *l == nil || c.Sent >= (*l).Sent {
			*l = c
		}
		if c.Ended() {
			j.v.Served++
			continue
		}
		j.v.Repeated++
		if j.calm && j.mustServe(c.Code, c.Done-c.Sent) {
			j.add(Served, nil, n, 0, "an end at once, as nothing was broken", "%s", answer(c))
		}
	}
	for _, c := range last {
		if c != nil && !c.Ended() && j.h.Patience > 0 && served(c) && j.h.FormOf(n) != history.Keyless {
			j.add(Served, nil, n, 0, "an end, after all repeats", "%s", answer(c))
		}
	}
}

// mustServe reports whether an answer without an end, or no answer, is a violation in calm.
func (j *judge) mustServe(code uint16, took time.Duration) bool {
	_, compared := fails503[j.h.Strategy]
	switch {
	case code == http.StatusTooManyRequests, code == http.StatusServiceUnavailable && compared, took >= slow:
		return false
	}
	return true
}

// served reports whether a call reached a service that is not limited.
func served(c *history.Call) bool {
	return c.Failure != history.Refused && c.Failure != history.Unsent && c.Code != http.StatusTooManyRequests
}
