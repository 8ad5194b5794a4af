package verify

import (
	"bytes"
	"slices"
	"strconv"

	"orderstock/loadtest/history"
)

// The reasons of the order service for a cancellation. Its others concern products and flags that a run does not have.
var (
	byClient = []byte("cancelled by the client")
	expired  = []byte("expired: the stock service settled nothing in time")
)

// shortOf is the prefix of a rejection's reason; the product follows.
const shortOf = "insufficient_stock: goods "

// end is the outcome in the books of an order or, on PathDeduct, of an operation.
type end struct {
	flag    []byte         // of the order; nil on PathDeduct, where it is the key
	order   int64          // 0 on PathDeduct
	status  history.Status // the operation's state, on PathDeduct
	outcome history.Status // the order's first outcome; the state, on PathDeduct
	state   history.Status // the operation's
	reason  string         // the order's; the operation's, on PathDeduct
	created int64          // the order's date, as in OrderRow
	total   int64          // the order's
}

// ours judges the entry of order n of the run against the order's calls.
func (j *judgement) ours(e *Entry, n int) {
	var did end
	if len(e.Operations) > 0 {
		op := &e.Operations[0]
		did = end{nil, 0, op.State, op.State, op.State, string(op.Reason), 0, 0}
		if (op.State == history.Done || op.State == history.Restored) && j.h.Items(n) != nil {
			d := deduction{n: int32(n)}
			_ = d.token.Scan([]byte(op.Token)) // a text that is none stays zero
			j.deductions = append(j.deductions, d)
		}
		j.operation(e, op, n)
	}
	if j.h.Path == history.PathOrder {
		o := &e.Orders[0]
		j.order(e, o, n)
		did = end{e.Flag, o.ID, o.Status, o.Outcome, did.state, string(o.Reason), o.Created, o.Total}
		j.expiry(e, o, n)
	}
	if len(e.Restocks) > 0 || e.Pruned || j.h.Path == history.PathDeduct && len(e.Orders)+len(e.Items) > 0 ||
		slices.ContainsFunc(e.Flows, func(r FlowRow) bool { return !r.ofOrder() }) {
		j.add(Unexplained, e.Flag, n, 0, "the rows of one order", "%s, listed as pruned: %t", e.summary(), e.Pruned)
	}
	j.v.count(did.status)
	if did.status == history.Rejected {
		item := -1
		if len(e.Operations) > 0 {
			item = shortItem(e.Operations[0].Reason, j.h.Items(n))
		}
		j.rejected = append(j.rejected, rejectedOrder{int32(n), int32(item), did.order})
	}
	placed, cancelled := j.answers(n, did)
	switch {
	case placed:
	case j.h.Path == history.PathDeduct && did.status == history.Cancelled && cancelled: // a tombstone needs no deduction
	case len(j.replies) == 0:
		j.add(Unexplained, e.Flag, n, 0, "nothing: no call of the run placed it", "%s", e.summary())
	default:
		j.add(AnswersTrue, e.Flag, n, 0, "nothing, as each answer promises that nothing has changed", "%s", e.summary())
	}
	gone := did.status == history.Restored || did.status == history.Cancelled &&
		(j.h.Path == history.PathDeduct || did.outcome == history.Confirmed || bytes.Equal(e.Orders[0].Reason, byClient))
	if gone && !cancelled {
		j.add(Unexplained, e.Flag, n, 0, "no cancellation: no call of the run can have asked for it", "%s", did.status)
	}
}

// shortItem returns the index of the item whose product the reason of a rejection names, or -1.
func shortItem(reason []byte, items []history.Item) int {
	goods, is := bytes.CutPrefix(reason, []byte(shortOf))
	return slices.IndexFunc(items, func(it history.Item) bool {
		return is && string(goods) == strconv.FormatInt(it.GoodsID, 10)
	})
}

// operation compares an operation with its request.
func (j *judgement) operation(e *Entry, op *OperationRow, n int) {
	items := j.h.Items(n)
	if op.State == history.Cancelled {
		items = nil
	}
	if !slices.Equal(j.op, items) {
		j.add(OrderAsRequested, e.Flag, n, 0, "the items of the request in the operation", "operation %s, sent %s",
			e.operation(), words(j.h.Items(n)))
	}
	right := len(op.Reason) == 0
	if op.State == history.Rejected {
		right = shortItem(op.Reason, items) >= 0
	}
	if !right {
		j.add(OrderMatchesOperation, e.Flag, n, 0, "the reason of a "+op.State.String()+" operation", "%q", op.Reason)
	}
}

// order compares an order with its request.
func (j *judgement) order(e *Entry, o *OrderRow, n int) {
	items := j.h.Items(n)
	if !j.paidFor(e, n) {
		j.add(OrderAsRequested, e.Flag, n, 0, "the items of the request, at the products' prices", "%s, sent %s",
			words(e.Items), words(items))
	} else {
		j.price(e, n)
	}
	if hash := history.BodyHash(items); !bytes.Equal(hash[:], o.BodyHash) {
		j.add(OrderAsRequested, e.Flag, n, 0, "the hash of the request's items", "%x", o.BodyHash)
	}
	j.dated(e.Flag, n, 0, o.Created)
	var right bool
	switch o.Status {
	case history.Rejected:
		right = len(e.Operations) > 0 && bytes.Equal(o.Reason, e.Operations[0].Reason)
	case history.Cancelled, history.Cancelling:
		right = bytes.Equal(o.Reason, byClient) || bytes.Equal(o.Reason, expired) && o.Outcome != history.Confirmed
	default:
		right = len(o.Reason) == 0
	}
	if !right {
		j.add(OrderMatchesOperation, e.Flag, n, 0, "the reason of an order that is "+o.Status.String(), "%q", o.Reason)
	}
}

func (v *Verdict) count(status history.Status) {
	v.Orders++
	switch status {
	case history.Confirmed, history.Done:
		v.Confirmed++
	case history.Rejected:
		v.Rejected++
	case history.Cancelled, history.Restored:
		v.Cancelled++
	default:
		v.Pending++
	}
}
