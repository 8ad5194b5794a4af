package verify

import (
	"net/http"
	"slices"

	"orderstock/loadtest/history"
)

// ask is what a call asks for.
type ask uint8

const (
	toPlace ask = iota
	toCancel
	toRead
	toReadLedger
)

func askOf(k history.Kind) ask {
	switch k {
	case history.Cancel:
		return toCancel
	case history.ReadOrder:
		return toRead
	case history.ReadLedger:
		return toReadLedger
	case history.Place, history.Twin, history.Again:
	}
	return toPlace
}

// form is an answer that the contract allows for a valid call.
type form struct {
	path    history.Path
	ask     ask
	code    uint16
	status  history.Status
	problem history.Problem
}

// forms are all answers that report a state of the order.
var forms = []form{
	{history.PathOrder, toPlace, http.StatusCreated, history.Confirmed, 0},
	{history.PathOrder, toPlace, http.StatusConflict, history.Rejected, 0},
	{history.PathOrder, toPlace, http.StatusConflict, history.Cancelled, 0},
	{history.PathOrder, toPlace, http.StatusAccepted, history.Pending, 0},
	{history.PathOrder, toCancel, http.StatusOK, history.Cancelled, 0},
	{history.PathOrder, toCancel, http.StatusAccepted, history.Cancelling, 0},
	{history.PathOrder, toCancel, http.StatusAccepted, history.Pending, 0},
	{history.PathOrder, toCancel, http.StatusAccepted, history.Confirmed, 0},
	{history.PathOrder, toCancel, http.StatusConflict, history.Rejected, history.OrderRejected},
	{history.PathOrder, toRead, http.StatusOK, history.Pending, 0},
	{history.PathOrder, toRead, http.StatusOK, history.Confirmed, 0},
	{history.PathOrder, toRead, http.StatusOK, history.Rejected, 0},
	{history.PathOrder, toRead, http.StatusOK, history.Cancelling, 0},
	{history.PathOrder, toRead, http.StatusOK, history.Cancelled, 0},
	{history.PathDeduct, toPlace, http.StatusOK, history.Done, 0},
	{history.PathDeduct, toPlace, http.StatusOK, history.Rejected, 0},
	{history.PathDeduct, toPlace, http.StatusOK, history.Cancelled, 0},
	{history.PathDeduct, toPlace, http.StatusOK, history.Restored, 0},
	{history.PathDeduct, toCancel, http.StatusOK, history.Rejected, 0},
	{history.PathDeduct, toCancel, http.StatusOK, history.Cancelled, 0},
	{history.PathDeduct, toCancel, http.StatusOK, history.Restored, 0},
}

// says returns the meaning of the form.
func (f *form) says() word {
	switch {
	case f.path == history.PathDeduct:
		return word{inRecord, f.status}
	case f.ask == toPlace:
		return word{atFirst, f.status}
	}
	return word{atPresent, f.status}
}

// rowsOf are the operations' states that the flow rows in the ledger show.
var rowsOf = map[history.Rows]history.Status{
	history.NoRows: history.NoStatus, history.Deducted: history.Done, history.GivenBack: history.Restored,
}

// refusals are the codes that may refuse a valid call, by HTTP status. A proxy that reaches no service may give none,
// and answer with any other status of 500 or above.
var refusals = map[uint16][]history.Problem{
	http.StatusTooManyRequests:     {history.NoProblem, history.RateLimited},
	http.StatusInternalServerError: {history.NoProblem, history.Internal},
	http.StatusServiceUnavailable: {
		history.NoProblem, history.Overloaded, history.Unavailable, history.StockUnavailable, history.StockLocked,
		history.Locked, history.UnknownOutcome,
	},
	http.StatusBadGateway:     {history.NoProblem, history.UnknownOutcome}, // of the front in compose
	http.StatusGatewayTimeout: {history.NoProblem, history.UnknownOutcome},
}

// saidBy returns the meaning of an answer, and whether its form is one of the contract.
func saidBy(path history.Path, c *history.Call) (says word, wellFormed bool) {
	if c.Code == 0 {
		blank := history.Call{
			Op: c.Op, Kind: c.Kind, Failure: c.Failure, Resent: c.Resent, Intended: c.Intended, Sent: c.Sent, Done: c.Done,
		}
		return word{}, *c == blank && c.Failure != history.Answered && c.Failure != history.Unreadable
	}
	if c.Failure != history.Answered || c.Kind != history.ReadLedger && c.Rows != history.NoRows {
		return word{}, false
	}
	if c.Kind == history.ReadLedger && c.Code == http.StatusOK {
		says := word{inLedger, c.Status}
		_, rowsKnown := rowsOf[c.Rows]
		blank := c.Problem == history.NoProblem && c.Order == 0 && c.Total == 0 && !c.Replayed
		return says, slices.ContainsFunc(states, says.shows) && rowsKnown && blank
	}
	if c.Status != history.NoStatus {
		for i := range forms {
			f := &forms[i]
			if f.path == path && f.ask == askOf(c.Kind) && f.code == c.Code && f.status == c.Status {
				return f.says(), f.problem == c.Problem && (f.ask == toPlace || path != history.PathOrder || !c.Replayed)
			}
		}
		return word{}, false
	}
	if c.Order != 0 || c.Total != 0 || c.Told != history.ToldNothing || c.Replayed || c.Created != 0 || c.Reason != 0 ||
		c.Location != history.NotLocated {
		return word{}, false
	}
	if known, listed := refusals[c.Code]; listed {
		return word{}, slices.Contains(known, c.Problem)
	}
	return word{}, c.Code >= http.StatusInternalServerError && c.Problem == history.NoProblem
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
