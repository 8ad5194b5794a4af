package verify

import (
	"net/http"
	"time"

	"orderstock/loadtest/history"
)

// slow is how long a call may take before an answer without an end is no surprise in calm: the services give up waiting
// for each other on a machine that is so slow.
const slow = time.Second

// unserving are the strategies kept for comparison that leave calls without an end in calm (202 and 503), each with the
// reason.
var unserving = map[string]string{
	"sequential":  "each deduction waits in ZooKeeper for a lock of each of its products, longer than its caller",
	"zk-lock":     "as sequential",
	"case-study":  "one lock for all products, in a new session each time",
	"single-node": "all waiters wake up for each release",
	"redis-lock":  "each deduction waits for a lock of each of its products, and has so many tries",
	"optimistic":  "a deduction that meets others has so many tries",
}

// endAtOnce is what a calm run demands of each call.
const endAtOnce = "an end at once, as nothing was broken (if something was, fire with --disturbed)"

// calm reports whether nothing was broken or limited during the run, as far as the client can see: it could connect
// each time, and every call was answered in its time.
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
			j.add(Served, nil, n, 0, endAtOnce, "%s", answer(c))
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
	_, compared := unserving[j.h.Strategy]
	switch code {
	case http.StatusTooManyRequests:
		return false
	case http.StatusAccepted, http.StatusServiceUnavailable:
		return !compared && took < slow
	}
	return took < slow
}

// served reports whether a call reached a service that is not limited.
func served(c *history.Call) bool {
	return c.Failure != history.Refused && c.Failure != history.Unsent && c.Code != http.StatusTooManyRequests
}
