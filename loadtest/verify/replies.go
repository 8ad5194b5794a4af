package verify

import (
	"net/http"
	"slices"

	"orderstock/loadtest/history"
)

// word is the meaning of an answer: the state of the order that it reports.
type word uint8

const (
	// silent: no answer, or one that says nothing about the order.
	silent word = iota
	// The first outcome of an order, in the answer to a call that places it.
	placedPending
	placedConfirmed
	placedRejected
	placedCancelled
	// The current state of the order, in the answer to a cancellation.
	askedPending
	askedConfirmed
	askedCancelling
	askedCancelled
	askedRejected
	// The state of the operation, in any answer on PathDeduct.
	toldDone
	toldRejected
	toldCancelled
	toldRestored
)

// form is an answer that the contract allows for a valid call.
type form struct {
	path    history.Path
	cancel  bool
	code    uint16
	status  history.Status
	problem history.Problem
	says    word
}

// forms are all answers that report a state of the order.
var forms = []form{
	{history.PathOrder, false, http.StatusCreated, history.Confirmed, 0, placedConfirmed},
	{history.PathOrder, false, http.StatusConflict, history.Rejected, 0, placedRejected},
	{history.PathOrder, false, http.StatusConflict, history.Cancelled, 0, placedCancelled},
	{history.PathOrder, false, http.StatusAccepted, history.Pending, 0, placedPending},
	{history.PathOrder, true, http.StatusOK, history.Cancelled, 0, askedCancelled},
	{history.PathOrder, true, http.StatusAccepted, history.Cancelling, 0, askedCancelling},
	{history.PathOrder, true, http.StatusAccepted, history.Pending, 0, askedPending},
	{history.PathOrder, true, http.StatusAccepted, history.Confirmed, 0, askedConfirmed},
	{history.PathOrder, true, http.StatusConflict, history.Rejected, history.OrderRejected, askedRejected},
	{history.PathDeduct, false, http.StatusOK, history.Done, 0, toldDone},
	{history.PathDeduct, false, http.StatusOK, history.Rejected, 0, toldRejected},
	{history.PathDeduct, false, http.StatusOK, history.Cancelled, 0, toldCancelled},
	{history.PathDeduct, false, http.StatusOK, history.Restored, 0, toldRestored},
	{history.PathDeduct, true, http.StatusOK, history.Rejected, 0, toldRejected},
	{history.PathDeduct, true, http.StatusOK, history.Cancelled, 0, toldCancelled},
	{history.PathDeduct, true, http.StatusOK, history.Restored, 0, toldRestored},
}

// refusals are the codes that may refuse a valid call, by HTTP status. A proxy that reaches no service gives none, and
// may answer with any other status of 500 or above.
var refusals = map[uint16][]history.Problem{
	http.StatusTooManyRequests:     {history.NoProblem, history.RateLimited},
	http.StatusInternalServerError: {history.NoProblem, history.Internal},
	http.StatusServiceUnavailable: {
		history.NoProblem, history.Overloaded, history.Unavailable, history.StockUnavailable, history.UnknownOutcome,
	},
}

// saidBy returns the meaning of an answer, and whether its form is one of the contract.
func saidBy(path history.Path, c *history.Call) (says word, wellFormed bool) {
	if c.Code == 0 {
		blank := history.Call{
			Op: c.Op, Kind: c.Kind, Failure: c.Failure, Intended: c.Intended, Sent: c.Sent, Done: c.Done,
		}
		return silent, *c == blank && c.Failure != history.Answered && c.Failure != history.Unreadable
	}
	if c.Failure != history.Answered {
		return silent, false
	}
	if c.Status != history.NoStatus {
		for i := range forms {
			f := &forms[i]
			if f.path == path && f.cancel == (c.Kind == history.Cancel) && f.code == c.Code && f.status == c.Status {
				return f.says, f.problem == c.Problem && (!f.cancel || path != history.PathOrder || !c.Replayed)
			}
		}
		return silent, false
	}
	if c.Order != 0 || c.Total != 0 || c.Told != history.ToldNothing || c.Replayed {
		return silent, false
	}
	if known, listed := refusals[c.Code]; listed {
		return silent, slices.Contains(known, c.Problem)
	}
	return silent, c.Code >= http.StatusInternalServerError && c.Problem == history.NoProblem
}

// mayHaveWorked reports whether a call may have taken effect: no answer, and no failure to connect, promises that
// nothing has changed.
func mayHaveWorked(c *history.Call) bool {
	switch {
	case c.Failure == history.Refused, c.Failure == history.Unsent, c.Problem.NothingChanged():
		return false
	}
	return c.Code != http.StatusTooManyRequests
}

// afterwards lists, for each answer, the answers possible for any call sent after it was received.
var afterwards = map[word][]word{
	placedPending: anyOfOrder,
	askedPending:  anyOfOrder,
	// Every repeat returns the first outcome. A confirmed order can still be cancelled.
	placedConfirmed: {placedConfirmed, askedConfirmed, askedCancelling, askedCancelled},
	askedConfirmed:  {placedConfirmed, askedConfirmed, askedCancelling, askedCancelled},
	placedRejected:  {placedRejected, askedRejected},
	askedRejected:   {placedRejected, askedRejected},
	placedCancelled: {placedCancelled, askedCancelled},
	// A requested cancellation stands until the order is cancelled or turns out to be rejected.
	askedCancelling: {
		placedPending, placedConfirmed, placedRejected, placedCancelled, askedCancelling, askedCancelled, askedRejected,
	},
	askedCancelled: {placedConfirmed, placedCancelled, askedCancelled},

	toldDone:      {toldDone, toldRestored},
	toldRejected:  {toldRejected},
	toldCancelled: {toldCancelled},
	toldRestored:  {toldRestored},
}

var anyOfOrder = []word{
	placedPending, placedConfirmed, placedRejected, placedCancelled,
	askedPending, askedConfirmed, askedCancelling, askedCancelled, askedRejected,
}

// agrees reports whether an order with that outcome may have had this answer at some time.
func (w word) agrees(did end) bool {
	switch w {
	case silent, placedPending, askedPending:
		return true
	case placedConfirmed, askedConfirmed:
		return did.outcome == history.Confirmed
	case placedRejected, askedRejected:
		return did.outcome == history.Rejected
	case placedCancelled:
		return did.outcome == history.Cancelled
	case askedCancelling:
		return did.status == history.Cancelling || did.status == history.Cancelled || did.status == history.Rejected
	case askedCancelled:
		return did.status == history.Cancelled
	case toldDone:
		return did.status == history.Done || did.status == history.Restored
	case toldRejected:
		return did.status == history.Rejected
	case toldCancelled:
		return did.status == history.Cancelled
	case toldRestored:
		return did.status == history.Restored
	}
	return false
}

// made reports whether a call on PathDeduct can have produced the outcome, rather than found it.
func (w word) made(cancel bool) bool {
	if cancel {
		return w == toldCancelled || w == toldRestored
	}
	return w == toldDone || w == toldRejected
}
