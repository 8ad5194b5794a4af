package verify

import (
	"math"
	"net/http"
	"time"

	"orderstock/loadtest/history"
)

// told is what the clients of a run were told, order by order.
type told struct {
	ops []toldOp
	// answered counts orders of which a client was told an end other than a cancellation.
	answered int
}

// never is a time after all others.
const never = time.Duration(math.MaxInt64)

type toldOp struct {
	// order is the first order id told, or 0.
	order int64
	// sent is when the first call that places the order was sent.
	sent time.Duration
	// rejected and cancelled are when the first answer with that state had come.
	rejected, cancelled time.Duration
	// ends are the ends that were told, and placed those told to calls that place the order.
	ends, placed ends
	// cancel: a call to cancel the order was made, whatever came of it.
	cancel bool
}

// ends is a set of states.
type ends uint16

func (e ends) has(s history.Status) bool { return e&(1<<s) != 0 }

func (e *ends) add(s history.Status) { *e |= 1 << s }

func (e ends) String() string {
	text := ""
	for s := range history.Unheard {
		if e.has(s) {
			if text != "" {
				text += " and "
			}
			text += s.String()
		}
	}
	return text
}

// isEnd reports whether an order or operation in that state has ended.
func isEnd(s history.Status) bool {
	switch s {
	case history.Confirmed, history.Rejected, history.Cancelled, history.Done, history.Restored:
		return true
	case history.NoStatus, history.Pending, history.Cancelling, history.Unheard:
	}
	return false
}

// sumUp goes through the calls of a run once, and checks each by itself.
func sumUp(h *history.History, found *findings) *told {
	t := &told{ops: make([]toldOp, h.Orders())}
	for i := range t.ops {
		t.ops[i].sent, t.ops[i].rejected, t.ops[i].cancelled = never, never, never
	}
	prices := prices(h)
	for i := range h.Calls {
		c := &h.Calls[i]
		op := &t.ops[c.Op]
		if c.Kind == history.Cancel {
			op.cancel = true
		} else {
			op.sent = min(op.sent, c.Sent)
		}
		checkForm(h, c, found)
		if c.Order != 0 {
			if op.order != 0 && op.order != c.Order {
				found.add(OneOrderTold, "key %s: told order %d, then %d", h.Key(int(c.Op)), op.order, c.Order)
			}
			op.order = c.Order
			if want := total(h.Items(int(c.Op)), prices); c.Total != want {
				found.add(ToldTotalRight, "order %d: told a total of %d, want %d", c.Order, c.Total, want)
			}
		}
		if !isEnd(c.Status) {
			continue
		}
		if c.Kind != history.Cancel {
			if op.ends == 0 && c.Status != history.Cancelled {
				t.answered++
			}
			op.placed.add(c.Status)
		}
		op.ends.add(c.Status)
		switch c.Status {
		case history.Rejected:
			op.rejected = min(op.rejected, c.Done)
		case history.Cancelled, history.Restored:
			op.cancelled = min(op.cancelled, c.Done)
		default:
		}
	}
	return t
}

func total(items []history.Item, prices map[int64]int64) (sum int64) {
	for _, it := range items {
		sum += it.Num * prices[it.GoodsID]
	}
	return sum
}

// checkForm checks that an answer has the form of the contract. The calls of a
// run are all valid, so a refusal is a fault, too. An answer of 429 or 5xx, which
// tells no outcome, is no fault.
func checkForm(h *history.History, c *history.Call, found *findings) {
	if c.Failure == history.Unreadable || c.Status == history.Unheard {
		found.add(AnswerWellFormed, "%s of %s: code %d with a body that is not the contract's", c.Kind, h.Key(int(c.Op)),
			c.Code)
		return
	}
	if c.Code == 0 || c.Status == history.NoStatus && (c.Code >= 500 || c.Code == http.StatusTooManyRequests) {
		return
	}
	var ok bool
	switch {
	case h.Path == history.PathDeduct:
		ok = c.Code == http.StatusOK && isEnd(c.Status) && c.Status != history.Confirmed
	case c.Kind == history.Cancel:
		ok = c.Status != history.NoStatus && (c.Code == http.StatusOK || c.Code == http.StatusAccepted ||
			c.Code == http.StatusConflict)
	default:
		switch c.Status {
		case history.Confirmed:
			ok = c.Code == http.StatusCreated
		case history.Rejected, history.Cancelled:
			ok = c.Code == http.StatusConflict
		case history.Pending, history.Cancelling:
			ok = c.Code == http.StatusAccepted
		default:
		}
	}
	if !ok {
		found.add(AnswerWellFormed, "%s of %s: code %d with status %q", c.Kind, h.Key(int(c.Op)), c.Code, c.Status)
	}
}

// check looks for orders of which clients were told different ends. A
// cancellation may follow another end if a client asked for it, but all calls that
// place the order are told the first end.
func (t *told) check(h *history.History, found *findings) {
	for n := range t.ops {
		op := &t.ops[n]
		if !oneEnd(op.ends, op.cancel) || h.Path == history.PathOrder && !oneEnd(op.placed, false) {
			found.add(OneEndTold, "%s: told %s", h.Key(n), op.ends)
		}
	}
	if h.Path != history.PathDeduct {
		return
	}
	for i := range h.Calls {
		if c := &h.Calls[i]; c.Status == history.Done && c.Sent > t.ops[c.Op].cancelled {
			found.add(OneEndTold, "%s: told DONE by a call that was sent after it was told RESTORED or CANCELLED",
				h.Key(int(c.Op)))
		}
	}
}

func oneEnd(e ends, cancelled bool) bool {
	if e&(e-1) == 0 {
		return true
	}
	if !cancelled {
		return false
	}
	var confirmedThenCancelled, doneThenRestored ends
	confirmedThenCancelled.add(history.Confirmed)
	confirmedThenCancelled.add(history.Cancelled)
	doneThenRestored.add(history.Done)
	doneThenRestored.add(history.Restored)
	return e == confirmedThenCancelled || e == doneThenRestored
}
