package verify

import (
	"net/http"
	"time"

	"orderstock/loadtest/history"
)

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

// endAtOnce is what every run demands of the calls in calm.
const endAtOnce = "an end at once, as nothing was broken (if something was, fire with --disturbed)"

// endAtLast is what every run demands of each call.
const endAtLast = "an end, after all repeats"

// hung is how long a call may go without an answer in calm. The services bound each, on the slowest machine, too.
const hung = 10 * time.Second

// ends judges whether each call of order n got its end: at once in calm, and under faults after repeats.
func (j *judgement) ends(n int, calls []int32) {
	var last [history.ReadLedger + 1]*history.Call // by Kind.Asks
	// A call was excused: the others of its order may wait for the reconciler.
	unfinished := false
	for _, i := range calls {
		c := &j.h.Calls[i]
		if l := &last[c.Kind.Asks()]; *l == nil || c.Sent >= (*l).Sent {
			*l = c
		}
		if c.Ended() {
			j.v.Served++
			continue
		}
		j.v.Repeated++
		if j.owesEnd(c.Failure, c.Code, c.Sent, c.Done, unfinished) {
			j.add(Served, nil, n, 0, endAtOnce, "%s", answer(c))
		} else {
			unfinished = true
		}
	}
	for _, c := range last {
		owed := c != nil && !c.Postponed && served(c.Failure) && j.h.Patience > 0 && j.h.FormOf(n) != history.Keyless
		if owed && !c.Ended() {
			j.add(Served, nil, n, 0, endAtLast, "%s", answer(c))
		}
	}
}

// owesEnd reports whether a call without an end, or without an answer, should have had one at once. Unfinished: its
// order may not have ended for an earlier call that is excused. A service answers each call that it has read: a broken
// connection is excused only while a service leaves that has announced it, see calm.leaving.
func (j *judgement) owesEnd(f history.Failure, code uint16, sent, done time.Duration, unfinished bool) bool {
	took := done - sent
	switch {
	case j.calm.acts.excuse(sent, done):
		return false
	case took >= hung && code == 0:
		return !j.compared()
	case f == history.Broken && took < j.calm.slow && !j.calm.leaving.meet(sent, done):
		return true
	case (code == http.StatusAccepted || code == http.StatusServiceUnavailable) && j.compared():
		return false
	case code == http.StatusTooManyRequests && j.h.Limited:
		return false
	case unfinished || j.calm.accidents.excuse(sent, done):
		j.calm.excused++
		return false
	}
	return true
}

// compared reports whether the services' strategy is one that may leave calls without an end.
func (j *judgement) compared() bool {
	_, is := unserving[j.h.Strategy]
	return is
}

// served reports whether a call reached a service.
func served(f history.Failure) bool { return f != history.Refused && f != history.Unsent }
