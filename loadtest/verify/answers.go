package verify

import (
	"slices"
	"strconv"
	"time"

	"orderstock/loadtest/history"
)

// reply is a call together with the meaning of its answer.
type reply struct {
	*history.Call
	says word
	// listed is the order on a page, if it was there.
	listed *history.Listed
}

func (r *reply) cancels() bool { return r.Kind == history.Cancel }

// answers reports whether it says something about the order, as the answer to a call that places it or, with cancels,
// to one that cancels it.
func (r *reply) answers(cancels bool) bool {
	return r.says.of != nothing && r.cancels() == cancels && (cancels || r.Kind.Places())
}

// answers judges all calls of order n against its outcome in the books, and against each other. Placed and cancelled
// report whether any call may have placed the order, and asked to cancel it.
func (j *judge) answers(n int, did end) (placed, cancelled bool) {
	j.replies = j.replies[:0]
	calls := j.callsOf(n)
	for _, i := range calls {
		c := &j.h.Calls[i]
		says, wellFormed := j.said(n, c)
		if !wellFormed {
			j.add(AnswerWellFormed, nil, n, 0, "an answer to a valid "+c.Kind.String()+" by the contract", "%s", answer(c))
		}
		if mayHaveWorked(c) || j.h.Library && c.Kind == history.Place {
			placed, cancelled = placed || c.Kind.Places(), cancelled || c.Kind == history.Cancel
		}
		j.replies = append(j.replies, reply{c, says, nil})
		if wellFormed && c.Kind == history.ReadLedger && c.Code != 0 && c.Ended() {
			j.replies = append(j.replies, reply{c, word{inFlows, rowsOf[c.Rows]}, nil})
		}
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
		j.sell(n)
	}
	j.overTime(n)
	j.repeats(n, false)
	if j.h.Path == history.PathDeduct {
		j.repeats(n, true)
	}
	return placed, cancelled
}

// answer judges one answer against the outcome of its order.
func (j *judge) answer(n int, r *reply, did end) {
	if r.says.of == nothing {
		return
	}
	var flag []byte
	if did.order != 0 {
		flag = strconv.AppendInt(nil, did.order, 10)
	}
	if did.status == history.NoStatus {
		if r.says == (word{of: inLedger}) || r.says == (word{of: inFlows}) {
			return
		}
		j.add(AnswersTrue, flag, n, 0, "the order that a client was told of", "%s, and no such order", answer(r.Call))
		return
	}
	if !r.says.agrees(did, j.h.Path) {
		j.add(AnswersTrue, flag, n, 0, "answers that agree with the books: "+did.status.String()+", first outcome "+
			did.outcome.String(), "%s", answer(r.Call))
	}
	byAsking := j.h.Path == history.PathDeduct || did.reason == string(byClient)
	if byAsking && r.says.undone() && !r.cancels() && !j.askedBefore(r) {
		j.add(AnswersOverTime, flag, n, 0, "an answer from before the cancellation", "%s", answer(r.Call))
	}
	if r.says.of != inFlows {
		j.contents(n, r, did, flag)
		j.details(n, r, did, flag)
	}
}

// contents judges what an answer says of the order besides its state.
func (j *judge) contents(n int, r *reply, did end, flag []byte) {
	told := did.told
	if r.says.of >= inRecord && (r.says.is == history.Cancelled || r.says.is == history.NoStatus) {
		told = history.ToldNothing // a cancellation arrived first; its record has no items
	}
	order, total := did.order, did.total
	switch {
	case r.Kind == history.ReadLedger:
		order, total = 0, 0
	case r.says == word{atPresent, history.Rejected} && r.cancels():
		order, total, told = 0, 0, history.ToldNothing
	case j.h.Path == history.PathDeduct:
		total = 0
	case j.h.Library && r.Kind == history.Place:
		told = r.Told
	}
	if r.Order != order || r.Total != total {
		j.add(AnswersTrue, flag, n, 0, "order "+strconv.FormatInt(order, 10)+" with a total of "+
			strconv.FormatInt(total, 10), "%s", answer(r.Call))
	}
	items := j.paid
	if told != history.ToldPaid {
		items = j.h.Named(told, r.Kind, n)
	} else if r.Kind == history.ReadLedger {
		items = j.h.Named(history.ToldAsSent, r.Kind, n)
	}
	if r.Told != told && !slices.Equal(j.h.ToldItems(r.Call), items) {
		j.add(AnswersTrue, flag, n, 0, "the items that were sent, at the order's prices, in every answer", "%s, not %s",
			words(j.h.ToldItems(r.Call)), words(items))
	}
}

// askedBefore reports whether a cancellation was sent before a call was answered.
func (j *judge) askedBefore(r *reply) bool {
	for i := range j.replies {
		if other := &j.replies[i]; other.cancels() && other.Sent < r.Done && mayHaveWorked(other.Call) {
			return true
		}
	}
	return false
}

// overTime compares each answer with the answers received before its call was sent.
func (j *judge) overTime(n int) {
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

// repeats checks the answers marked as repeats of an earlier one, among the calls that place the order or, on
// PathDeduct, the calls that cancel it.
func (j *judge) repeats(n int, cancels bool) {
	first, answered := (*reply)(nil), never // the call marked as the first, and when any of them was answered
	for i := range j.replies {
		r := &j.replies[i]
		if !r.answers(cancels) {
			continue
		}
		if r.says.recorded(j.h.Path, cancels) {
			answered = min(answered, r.Done)
		}
		if r.Replayed {
			continue
		}
		switch {
		case first != nil:
			j.add(AnswersOverTime, nil, n, 0, "one answer that is no repeat", "%s and %s", answer(first.Call), answer(r.Call))
		case j.h.Path == history.PathDeduct && !r.says.made(cancels):
			j.add(AnswersOverTime, nil, n, 0, "a repeat: the call cannot have made that outcome", "%s", answer(r.Call))
		}
		first = r
	}
	for i := range j.replies {
		r := &j.replies[i]
		if !r.answers(cancels) {
			continue
		}
		switch {
		case !r.Replayed && answered < r.Sent:
			j.add(AnswersOverTime, nil, n, 0, "a repeat: an earlier call was answered", "%s", answer(r.Call))
		case r.Replayed && j.h.Path == history.PathOrder && !j.h.Library && !r.Resent && !j.preceded(r) &&
			!j.calm.acts.excuse(r.Sent, r.Done):
			if j.between++; j.between == 1 {
				j.firstBetween = "key " + j.h.Key(n) + ": " + answer(r.Call)
			}
		}
	}
}

// recorded reports whether an answer shows that the outcome is recorded: its makers are counted.
func (w word) recorded(path history.Path, cancels bool) bool {
	return path == history.PathOrder || !cancels || w.made(true)
}

// preceded reports whether a call other than r can have placed the order that r repeats.
func (j *judge) preceded(r *reply) bool {
	for i := range j.replies {
		other := &j.replies[i]
		if other.Call != r.Call && other.Kind.Places() && other.Sent < r.Done && mayHaveWorked(other.Call) &&
			(other.says.of == nothing || !other.Replayed) {
			return true
		}
	}
	return false
}

// never is later than any time.
const never = time.Duration(1<<63 - 1)

// answer describes the answer to a call.
func answer(c *history.Call) string {
	text := c.Kind.String() + " at " + c.Sent.Round(time.Millisecond).String() + ": "
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
