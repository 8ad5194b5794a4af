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

// endAtLast is what every run demands of each call.
const endAtLast = "an end, after all repeats"

// hung is how long a call may go without an answer in calm. The services bound each, on the slowest machine, too.
const hung = 10 * time.Second

// calm reports whether nothing was broken or limited during the run, as far as the client can see: it could connect
// each time, and gave up no call that was not hung.
func calm(h *history.History) bool {
	for i := range h.Calls {
		if c := &h.Calls[i]; disturbs(c.Failure, c.Done-c.Sent) {
			return false
		}
	}
	for i := range h.Asides {
		if a := &h.Asides[i]; disturbs(a.Failure, a.Done-a.Sent) {
			return false
		}
	}
	return !h.Disturbed
}

func disturbs(f history.Failure, took time.Duration) bool {
	return f == history.Refused || f == history.Unsent || f == history.TimedOut && took < hung
}

// ends judges whether each call of order n got its end: at once in calm, and under faults after repeats.
func (j *judge) ends(n int, calls []int32) {
	var last [4]*history.Call // by what is asked
	late := never             // when the first slow call was sent: it may hold up the others
	for _, i := range calls {
		if c := &j.h.Calls[i]; c.Done-c.Sent >= slow {
			late = min(late, c.Sent)
		}
	}
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
		took := c.Done - c.Sent
		if late < c.Done {
			took = max(took, slow)
		}
		if j.calm && j.mustServe(c.Code, took) {
			j.add(Served, nil, n, 0, endAtOnce, "%s", answer(c))
		}
	}
	for _, c := range last {
		if c != nil && !c.Ended() && j.h.Patience > 0 && served(c.Failure) && j.h.FormOf(n) != history.Keyless {
			j.add(Served, nil, n, 0, endAtLast, "%s", answer(c))
		}
	}
}

// mustServe reports whether an answer without an end, or no answer, is a violation in calm.
func (j *judge) mustServe(code uint16, took time.Duration) bool {
	switch code {
	case http.StatusTooManyRequests:
		return false
	case http.StatusAccepted, http.StatusServiceUnavailable:
		return !j.compared() && took < slow
	case 0:
		return took < slow || took >= hung && !j.compared()
	}
	return took < slow
}

// compared reports whether the services' strategy is one that may leave calls without an end.
func (j *judge) compared() bool {
	_, is := unserving[j.h.Strategy]
	return is
}

// served reports whether a call reached a service.
func served(f history.Failure) bool { return f != history.Refused && f != history.Unsent }
