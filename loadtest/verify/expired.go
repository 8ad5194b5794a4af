package verify

import (
	"bytes"
	"time"
)

// expiry looks for an order that was given up before its time. An order that the books or an answer show as cancelled
// had expired by then. The service counts from the order's insert, after it was sent, by its own clock; that may run a
// twentieth faster than the client's.
func (j *judgement) expiry(e *Entry, o *OrderRow, n int) {
	if !bytes.Equal(o.Reason, expired) || j.h.CancelAfter == 0 {
		return
	}
	at := j.times(n)
	due := at.sent + j.h.CancelAfter
	waited := at.sent != never && !j.calm.away.meet(at.sent, due) && !j.calm.acts.meet(at.sent, due)
	if waited && !j.compared() && j.h.CancelAfter >= hung {
		j.add(Served, e.Flag, n, 0, endAtOnce, "expired after %s", j.h.CancelAfter)
	}
	by := min(at.cancelled, j.readAt)
	if at.sent == never || by-at.sent >= j.h.CancelAfter-j.h.CancelAfter/20 {
		return
	}
	j.add(ExpiredOnlyWhenDue, e.Flag, n, 0, j.h.CancelAfter.String()+" before it expires", "expired within %s",
		(by - at.sent).Round(time.Millisecond))
}
