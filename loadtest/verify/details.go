package verify

import (
	"strconv"

	"orderstock/loadtest/history"
)

// details judges the reason, the date and the header Location of an answer that names the order's state.
func (j *judge) details(n int, r *reply, did end, flag []byte) {
	if r.listed != nil && r.listed.AsAnswered || j.h.Library && r.Kind == history.Place { // no such fields are kept
		return
	}
	if reason := j.h.Reason(r.Call); !r.hasReason(did, reason) {
		j.add(AnswersTrue, flag, n, 0,
			"the reason in the books, "+strconv.Quote(did.reason), "%q: %s", reason, answer(r.Call))
	}
	named := r.Order != 0
	if named && r.Created != did.created || !named && r.Created != 0 {
		j.add(AnswersTrue, flag, n, 0, "the date of the order in the books, "+strconv.FormatInt(did.created, 10)+" µs",
			"%d µs: %s", r.Created, answer(r.Call))
	}
	location := history.NotLocated
	if named && r.Kind.Places() {
		location = history.Located
	}
	if r.Location != location {
		j.add(AnswersTrue, flag, n, 0, "the header Location of the order that is in the answer to a call that places it, "+
			"and no other", "%q: %s", r.Location, answer(r.Call))
	}
}

// hasReason reports whether an answer may give that reason. Only an order or an operation that did not succeed has one.
// A cancellation that is under way has its own, also if the order turns out to be rejected.
func (r *reply) hasReason(did end, reason string) bool {
	switch {
	case r.says == word{atPresent, history.Rejected} && r.Order == 0: // a refused cancellation names no order
		return reason == ""
	case r.says.is == history.Rejected, r.says.is == history.Cancelled && r.says.of < inRecord:
		return reason == did.reason
	case r.says.is == history.Cancelling:
		return reason == did.reason || reason == string(byClient) || reason == string(expired)
	default:
		return reason == ""
	}
}
