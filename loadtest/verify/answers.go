package verify

import (
	"strconv"
	"time"

	"orderstock/loadtest/history"
)

// reply is a call together with the form and the meaning of its answer.
type reply struct {
	*history.Call
	// form is nil for the flow rows in an answer, which have a separate meaning.
	form *form
	says word
	// listed is the order on a page, if it was there.
	listed *history.Listed
}

func (r *reply) cancels() bool { return r.Kind == history.Cancel }

// take adds the answer to a call of order n to its replies. An answer that the contract does not have says nothing.
func (j *judgement) take(n int, c *history.Call, listed *history.Listed) {
	f := j.formOf(n, c)
	if f == nil {
		j.add(AnswerWellFormed, nil, n, 0, "an answer by the contract to a valid "+c.Kind.String()+
			" of an order of "+words(j.h.Items(n)), "%s", answer(c))
		return
	}
	j.replies = append(j.replies, reply{c, f, word{f.shows, c.Status}, listed})
	if f.has&inRows != 0 {
		j.replies = append(j.replies, reply{c, nil, word{inFlows, rowsOf[c.Rows]}, nil})
	}
}

// answers judges all calls of order n against its outcome in the books, and against each other. Placed and cancelled
// report whether any call may have placed the order, and asked to cancel it.
func (j *judgement) answers(n int, did end) (placed, cancelled bool) {
	j.replies = j.replies[:0]
	calls := j.callsOf(n)
	for _, i := range calls {
		c := &j.h.Calls[i]
		if mayHaveWorked(c) || j.h.Library && c.Kind == history.Place {
			placed, cancelled = placed || c.Kind.Places(), cancelled || c.Kind == history.Cancel
		}
		j.take(n, c, nil)
	}
	j.ends(n, calls)
	j.onPages(n, did)
	sold, asked := false, false
	for i := range j.replies {
		r := &j.replies[i]
		j.answer(n, r, did)
		sold = sold || r.says == word{atFirst, history.Confirmed} || r.says == word{inRecord, history.Done}
		asked = asked || r.cancels()
	}
	if sold && !asked {
		for _, it := range j.h.Items(n) {
			if p := j.product(it.GoodsID); p != nil {
				p.acknowledged += it.Num
			}
		}
	}
	j.overTime(n)
	j.firsts(n, false)
	j.firsts(n, true)
	return placed, cancelled
}

// answer judges one answer against the outcome of its order.
func (j *judgement) answer(n int, r *reply, did end) {
	if r.says.of != nothing {
		if did.status == history.NoStatus && r.says.is != history.NoStatus {
			j.add(AnswersTrue, did.flag, n, 0, "the order that a client was told of", "%s, and no such order", answer(r.Call))
			return
		}
		if !r.says.agrees(did, j.h.Path) {
			j.add(AnswersTrue, did.flag, n, 0, "answers that agree with the books: "+did.status.String()+", first outcome "+
				did.outcome.String(), "%s", answer(r.Call))
		}
		byAsking := j.h.Path == history.PathDeduct || did.reason == string(byClient)
		if byAsking && r.says.undone() && !r.cancels() && !j.mayFollow(r, (*reply).cancels) {
			j.add(AnswersOverTime, did.flag, n, 0, "an answer from before the cancellation", "%s", answer(r.Call))
		}
	}
	if r.form == nil {
		return
	}
	name := AnswersTrue
	if r.form == &silence {
		name = AnswerWellFormed
	}
	if says, owed := j.shown(r), j.owed(r, did); says != owed {
		j.add(name, did.flag, n, 0, j.differing(owed, says, r), "%s: %s", j.differing(says, owed, r), answer(r.Call))
	}
}

// mayFollow reports whether an answer came when another call, for which is holds, may have worked already.
func (j *judgement) mayFollow(r *reply, is func(*reply) bool) bool {
	for i := range j.replies {
		other := &j.replies[i]
		if other.Call != r.Call && other.Sent < r.Done && mayHaveWorked(other.Call) && is(other) {
			return true
		}
	}
	return false
}

// madeIt reports whether a call can have placed the order that another repeats.
func (r *reply) madeIt() bool { return r.Kind.Places() && (r.says.of == nothing || !r.Replayed) }

// overTime compares each answer with the answers received before its call was sent.
func (j *judgement) overTime(n int) {
	for i := range j.replies {
		for k := range j.replies {
			earlier, later := &j.replies[i], &j.replies[k]
			if earlier.says.of == nothing || later.says.of == nothing || earlier.Done >= later.Sent ||
				later.says.mayFollow(earlier.says) {
				continue
			}
			j.add(AnswersOverTime, nil, n, 0, "an answer that can follow "+answer(earlier.Call), "%s", answer(later.Call))
		}
	}
}

// firsts judges which answers are no repeats, among the calls that place the order or, with cancels, the ones that
// cancel it: one call makes the outcome, and the others, and all that come later, find it.
func (j *judgement) firsts(n int, cancels bool) {
	counts := func(r *reply) bool {
		return r.form != nil && r.form.has&(marked|repeated) != 0 && r.cancels() == cancels
	}
	first, answered := (*reply)(nil), never // the call that is no repeat, and when any of them was answered
	for i := range j.replies {
		if r := &j.replies[i]; counts(r) {
			answered = min(answered, r.Done)
		}
	}
	for i := range j.replies {
		switch r := &j.replies[i]; {
		case !counts(r):
		case r.Replayed:
			if j.h.Path == history.PathOrder && !j.h.Library && !r.Resent && !j.mayFollow(r, (*reply).madeIt) &&
				!j.calm.acts.excuse(r.Sent, r.Done) {
				if j.between++; j.between == 1 {
					j.firstBetween = "key " + j.h.Key(n) + ": " + answer(r.Call)
				}
			}
		case first != nil:
			j.add(AnswersOverTime, nil, n, 0, "one answer that is no repeat", "%s and %s", answer(first.Call), answer(r.Call))
		case answered < r.Sent:
			j.add(AnswersOverTime, nil, n, 0, "a repeat: an earlier call was answered", "%s", answer(r.Call))
		default:
			first = r
		}
	}
}

// never is later than any time.
const never = time.Duration(1<<63 - 1)

// answer describes the answer to a call.
func answer(c *history.Call) string {
	text := c.Kind.String() + " at " + c.Sent.Round(time.Millisecond).String() + ", after " +
		(c.Done - c.Sent).Round(time.Millisecond).String() + ": "
	if c.Code == 0 {
		return text + c.Failure.String()
	}
	text += strconv.Itoa(int(c.Code))
	for _, word := range []string{c.Status.String(), c.Problem.String(), c.Failure.String()} {
		if word != "" {
			text += " " + word
		}
	}
	if c.Order != 0 {
		text += " order " + strconv.FormatInt(c.Order, 10) + " total " + strconv.FormatInt(c.Total, 10)
	}
	if c.Replayed {
		text += " (a repeat)"
	}
	return text
}
