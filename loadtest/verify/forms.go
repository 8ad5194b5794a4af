package verify

import (
	"net/http"
	"slices"
	"strconv"
	"strings"

	"orderstock/loadtest/history"
)

// The model of the answers to valid calls has three parts: the forms here, the states of an order, and the order in the
// books. All other parts of an answer follow from them: see judge.owed.

const (
	toPlace      = history.Place // and all that ask for the same
	toCancel     = history.Cancel
	toRead       = history.ReadOrder
	toReadLedger = history.ReadLedger
)

// routes are the calls of a run by method and path, on PathOrder and on PathDeduct.
var routes = map[history.Path]map[history.Kind][2]string{
	history.PathOrder: {
		toPlace: {"POST", "/v1/orders"}, toCancel: {"POST", "/v1/orders/{id}/cancel"}, toRead: {"GET", "/v1/orders/{id}"},
		toReadLedger: {"GET", "/v1/flows"},
	},
	history.PathDeduct: {
		toPlace: {"PUT", "/v1/operations/{flag}"}, toCancel: {"POST", "/v1/operations/{flag}/cancel"},
		toReadLedger: {"GET", "/v1/flows"},
	},
}

// form is an answer that the contract allows for a valid call: the status and the problem in it, the aspect of the
// order that this status shows, and the answer's other parts.
type form struct {
	asks    history.Kind
	code    uint16
	status  history.Status
	problem history.Problem
	shows   aspect
	has     parts
}

// parts are parts of an answer.
type parts uint8

const (
	identity parts = 1 << iota // of an order: its id, its total and its date
	lines                      // its items
	located                    // its path, in the header Location
	marked                     // perhaps the mark of a repeat
	repeated                   // that mark for certain: the call cannot have made the outcome
	inRows                     // flow rows

	whole  = identity | lines
	placed = whole | located | marked
)

// ledgerForms are the forms of a look in the ledger.
var ledgerForms = []form{
	{toReadLedger, http.StatusOK, history.NoStatus, 0, inLedger, inRows},
	{toReadLedger, http.StatusOK, history.Done, 0, inLedger, inRows | lines},
	{toReadLedger, http.StatusOK, history.Restored, 0, inLedger, inRows | lines},
	{toReadLedger, http.StatusOK, history.Rejected, 0, inLedger, inRows | lines},
	{toReadLedger, http.StatusOK, history.Cancelled, 0, inLedger, inRows},
}

// forms are all answers that report a state of the order. An operation that was cancelled before it came has no items.
var forms = map[history.Path][]form{
	history.PathOrder: append([]form{
		{toPlace, http.StatusCreated, history.Confirmed, 0, atFirst, placed},
		{toPlace, http.StatusConflict, history.Rejected, 0, atFirst, placed},
		{toPlace, http.StatusConflict, history.Cancelled, 0, atFirst, placed},
		{toPlace, http.StatusAccepted, history.Pending, 0, atFirst, placed},
		{toCancel, http.StatusOK, history.Cancelled, 0, atPresent, whole},
		{toCancel, http.StatusAccepted, history.Cancelling, 0, atPresent, whole},
		{toCancel, http.StatusAccepted, history.Pending, 0, atPresent, whole},
		{toCancel, http.StatusAccepted, history.Confirmed, 0, atPresent, whole},
		{toCancel, http.StatusConflict, history.Rejected, history.OrderRejected, atPresent, 0},
		{toRead, http.StatusOK, history.Pending, 0, atPresent, whole},
		{toRead, http.StatusOK, history.Confirmed, 0, atPresent, whole},
		{toRead, http.StatusOK, history.Rejected, 0, atPresent, whole},
		{toRead, http.StatusOK, history.Cancelling, 0, atPresent, whole},
		{toRead, http.StatusOK, history.Cancelled, 0, atPresent, whole},
	}, ledgerForms...),
	history.PathDeduct: append([]form{
		{toPlace, http.StatusOK, history.Done, 0, inRecord, lines | marked},
		{toPlace, http.StatusOK, history.Rejected, 0, inRecord, lines | marked},
		{toPlace, http.StatusOK, history.Cancelled, 0, inRecord, repeated},
		{toPlace, http.StatusOK, history.Restored, 0, inRecord, lines | repeated},
		{toCancel, http.StatusOK, history.Rejected, 0, inRecord, lines | repeated},
		{toCancel, http.StatusOK, history.Cancelled, 0, inRecord, marked},
		{toCancel, http.StatusOK, history.Restored, 0, inRecord, lines | marked},
	}, ledgerForms...),
}

// silence is the form of no answer, and of one that refuses a call: it says nothing of the order.
var silence form

// refusals are the problems that may refuse a valid call, by HTTP status.
var refusals = map[uint16][]history.Problem{
	http.StatusTooManyRequests:     {history.RateLimited},
	http.StatusInternalServerError: {history.Internal},
	http.StatusServiceUnavailable: {
		history.Overloaded, history.Unavailable, history.StockUnavailable, history.StockLocked, history.Locked,
		history.UnknownOutcome,
	},
	http.StatusBadGateway:     {history.UnknownOutcome}, // of the front in compose
	http.StatusGatewayTimeout: {history.UnknownOutcome},
}

// refuses reports whether an answer may refuse a valid call for now. A proxy that reaches no service names no problem.
func refuses(code uint16, p history.Problem) bool {
	forNow := code == http.StatusTooManyRequests || code >= http.StatusInternalServerError
	return forNow && (p == history.NoProblem || slices.Contains(refusals[code], p))
}

// rowsOf are the operations' states that the flow rows in the ledger show.
var rowsOf = map[history.Rows]history.Status{
	history.NoRows: history.NoStatus, history.Deducted: history.Done, history.GivenBack: history.Restored,
}

// formOf returns the form of the answer to a valid call of order n, or nil if the contract has none.
func (j *judgement) formOf(n int, c *history.Call) *form {
	asks := c.Kind.Asks()
	switch {
	case c.NoHint, c.Failure == history.Unreadable, (c.Code == 0) == (c.Failure == history.Answered),
		c.Rows > history.GivenBack: // other rows than the items require
		return nil
	case c.Code == 0:
		if c.Status != history.NoStatus || c.Problem != history.NoProblem || c.Postponed {
			return nil
		}
		return &silence
	case !j.named(asks, c):
		return nil
	}
	for i := range j.forms {
		if f := &j.forms[i]; f.asks == asks && f.code == c.Code && f.status == c.Status && f.problem == c.Problem {
			return f
		}
	}
	missing := c.Code == http.StatusBadRequest && c.Problem == history.KeyMissing // the service wants a key of each order
	if c.Status == history.NoStatus && (refuses(c.Code, c.Problem) || missing && j.h.FormOf(n) == history.Keyless) {
		return &silence
	}
	return nil
}

// named reports whether the OpenAPI documents name the status of an answer. In a disturbance, a proxy that reaches
// no service may answer 502 and 504.
func (j *judgement) named(asks history.Kind, c *history.Call) bool {
	proxy := c.Code == http.StatusBadGateway || c.Code == http.StatusGatewayTimeout
	return j.routes[asks] != nil && slices.Contains(j.routes[asks].Statuses, int(c.Code)) ||
		proxy && j.calm.excuses(c.Sent, c.Done)
}

// mayHaveWorked reports whether a call may have taken effect: no answer, and no failure to connect, promises that
// nothing has changed.
func mayHaveWorked(c *history.Call) bool {
	switch {
	case c.Failure == history.Refused && !c.Resent, c.Failure == history.Unsent, c.Problem.NothingChanged():
		return false
	}
	return c.Code != http.StatusTooManyRequests
}

// facts are the parts of an answer other than the state of the order.
type facts struct {
	order, total, created int64
	named                 history.NamedItems
	reason                string
	location              history.Location
	replayed              bool
	rows                  history.Rows
}

// shown returns the facts in an answer.
func (j *judgement) shown(r *reply) facts {
	return facts{r.Order, r.Total, r.Created, r.Named, j.h.Reason(r.Call), r.Location, r.Replayed, r.Rows}
}

// owed returns the facts that an answer must have, as its form and the order in the books require. A fact that either
// leaves open is as in the answer.
func (j *judgement) owed(r *reply, did end) (f facts) {
	says, has := j.shown(r), r.form.has
	if has&identity != 0 {
		f.order, f.total, f.created = did.order, did.total, did.created
	}
	if has&lines != 0 {
		if f.named = paid; j.h.Says(says.named, r.Kind, j.h.Items(int(r.Op)), j.itemsOf(paid, r)) {
			f.named = says.named
		}
	}
	if has&located != 0 {
		f.location = history.Located
	}
	if has&inRows != 0 {
		f.rows = says.rows
	}
	f.replayed = has&repeated != 0 || has&marked != 0 && says.replayed
	switch f.reason = ""; {
	case has == 0: // a refused cancellation
	case r.says.is == history.Rejected, r.says.is == history.Cancelled && has&identity != 0:
		f.reason = did.reason
	case r.says.is == history.Cancelling: // it has its own reason, also if the order turns out to be rejected
		if f.reason = says.reason; f.reason != string(byClient) && f.reason != string(expired) {
			f.reason = did.reason
		}
	}
	if r.listed != nil && r.listed.AsAnswered { // the page has the date and the reason of the earlier answers
		f.created, f.reason = says.created, says.reason
	}
	if j.h.Library && r.Kind == history.Place { // a library keeps little of an answer
		f.created, f.reason, f.location = says.created, says.reason, says.location
		if j.h.Path == history.PathOrder {
			f.named = says.named
		}
	}
	return f
}

// paid stands for the items in the books. No answer has it.
const paid = ^history.NoItems

// itemsOf returns the items that an answer named. The ledger, and PathDeduct, have no prices.
func (j *judgement) itemsOf(named history.NamedItems, r *reply) []history.PricedItem {
	switch {
	case named != paid:
		return j.h.Named(named, r.Kind, int(r.Op))
	case r.Kind == history.ReadLedger || j.h.Path == history.PathDeduct:
		return j.h.Named(history.ItemsAsSent, r.Kind, int(r.Op))
	}
	return j.paid
}

// differing describes the facts that differ from others.
func (j *judgement) differing(f, others facts, r *reply) string {
	var texts []string
	say := func(differs bool, text string) {
		if differs {
			texts = append(texts, text)
		}
	}
	say(f.order != others.order || f.total != others.total,
		"order "+strconv.FormatInt(f.order, 10)+" with a total of "+strconv.FormatInt(f.total, 10))
	date := "the date " + strconv.FormatInt(f.created, 10) + " µs"
	if f.created < 0 { // see history.Call
		date = "the date " + strconv.FormatInt(-f.created, 10) + " µs and a part of one"
	}
	say(f.created != others.created, date)
	say(f.named != others.named, words(j.itemsOf(f.named, r)))
	say(f.reason != others.reason, "the reason "+strconv.Quote(f.reason))
	say(f.location != others.location, "the header Location: "+strconv.Quote(f.location.String()))
	say(f.replayed != others.replayed, map[bool]string{true: "a repeat", false: "no repeat"}[f.replayed])
	say(f.rows != others.rows, "the flow rows: "+words(j.h.FlowRows(&history.Call{Op: r.Op, Rows: f.rows})))
	return strings.Join(texts, ", ")
}
