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
	// The current state of the order, in the answer to a cancellation or a read.
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
	// The state of the operation in the ledger, and its flow rows. They are read one after the other.
	ledgerNone
	ledgerDone
	ledgerRejected
	ledgerCancelled
	ledgerRestored
	rowsNone
	rowsDeducted
	rowsRestored
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
	says    word
}

// forms are all answers that report a state of the order.
var forms = []form{
	{history.PathOrder, toPlace, http.StatusCreated, history.Confirmed, 0, placedConfirmed},
	{history.PathOrder, toPlace, http.StatusConflict, history.Rejected, 0, placedRejected},
	{history.PathOrder, toPlace, http.StatusConflict, history.Cancelled, 0, placedCancelled},
	{history.PathOrder, toPlace, http.StatusAccepted, history.Pending, 0, placedPending},
	{history.PathOrder, toCancel, http.StatusOK, history.Cancelled, 0, askedCancelled},
	{history.PathOrder, toCancel, http.StatusAccepted, history.Cancelling, 0, askedCancelling},
	{history.PathOrder, toCancel, http.StatusAccepted, history.Pending, 0, askedPending},
	{history.PathOrder, toCancel, http.StatusAccepted, history.Confirmed, 0, askedConfirmed},
	{history.PathOrder, toCancel, http.StatusConflict, history.Rejected, history.OrderRejected, askedRejected},
	{history.PathOrder, toRead, http.StatusOK, history.Pending, 0, askedPending},
	{history.PathOrder, toRead, http.StatusOK, history.Confirmed, 0, askedConfirmed},
	{history.PathOrder, toRead, http.StatusOK, history.Rejected, 0, askedRejected},
	{history.PathOrder, toRead, http.StatusOK, history.Cancelling, 0, askedCancelling},
	{history.PathOrder, toRead, http.StatusOK, history.Cancelled, 0, askedCancelled},
	{history.PathDeduct, toPlace, http.StatusOK, history.Done, 0, toldDone},
	{history.PathDeduct, toPlace, http.StatusOK, history.Rejected, 0, toldRejected},
	{history.PathDeduct, toPlace, http.StatusOK, history.Cancelled, 0, toldCancelled},
	{history.PathDeduct, toPlace, http.StatusOK, history.Restored, 0, toldRestored},
	{history.PathDeduct, toCancel, http.StatusOK, history.Rejected, 0, toldRejected},
	{history.PathDeduct, toCancel, http.StatusOK, history.Cancelled, 0, toldCancelled},
	{history.PathDeduct, toCancel, http.StatusOK, history.Restored, 0, toldRestored},
}

// ledgerWords are the meanings of a state in the ledger, and rowWords of the flow rows there.
var (
	ledgerWords = map[history.Status]word{
		history.NoStatus: ledgerNone, history.Done: ledgerDone, history.Rejected: ledgerRejected,
		history.Cancelled: ledgerCancelled, history.Restored: ledgerRestored,
	}
	rowWords = map[history.Rows]word{
		history.NoRows: rowsNone, history.Deducted: rowsDeducted, history.GivenBack: rowsRestored,
	}
)

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
		return silent, *c == blank && c.Failure != history.Answered && c.Failure != history.Unreadable
	}
	if c.Failure != history.Answered || c.Kind != history.ReadLedger && c.Rows != history.NoRows {
		return silent, false
	}
	if c.Kind == history.ReadLedger && c.Code == http.StatusOK {
		says, known := ledgerWords[c.Status]
		_, rowsKnown := rowWords[c.Rows]
		blank := c.Problem == history.NoProblem && c.Order == 0 && c.Total == 0 && !c.Replayed
		return says, known && rowsKnown && blank
	}
	if c.Status != history.NoStatus {
		for i := range forms {
			f := &forms[i]
			if f.path == path && f.ask == askOf(c.Kind) && f.code == c.Code && f.status == c.Status {
				return f.says, f.problem == c.Problem && (f.ask == toPlace || path != history.PathOrder || !c.Replayed)
			}
		}
		return silent, false
	}
	if c.Order != 0 || c.Total != 0 || c.Told != history.ToldNothing || c.Replayed || c.Created != 0 || c.Reason != 0 ||
		c.Location != history.NotLocated {
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
	case c.Failure == history.Refused && !c.Resent, c.Failure == history.Unsent, c.Problem.NothingChanged():
		return false
	}
	return c.Code != http.StatusTooManyRequests
}

// afterwards lists, for each answer, the answers possible for any call sent after it was received. Every repeat returns
// the first outcome. A confirmed order can still be cancelled, and the order service learns of an outcome after it is
// in the ledger.
var afterwards = func() map[word][]word {
	inLedger := []word{ledgerNone, ledgerDone, ledgerRejected, ledgerCancelled, ledgerRestored}
	rows := []word{rowsNone, rowsDeducted, rowsRestored}
	anything := slices.Concat(inLedger, rows, []word{
		placedPending, placedConfirmed, placedRejected, placedCancelled,
		askedPending, askedConfirmed, askedCancelling, askedCancelled, askedRejected,
		toldDone, toldRejected, toldCancelled, toldRestored,
	})
	taken := []word{ledgerDone, ledgerRestored, rowsDeducted, rowsRestored}
	gone := []word{ledgerCancelled, ledgerRestored, rowsNone, rowsRestored}
	confirmed := append([]word{placedConfirmed, askedConfirmed, askedCancelling, askedCancelled}, taken...)
	rejected := []word{placedRejected, askedRejected, ledgerRejected, rowsNone}

	open := []word{placedPending, askedPending, askedCancelling}
	done := slices.Concat(open, taken, []word{
		placedConfirmed, placedCancelled, askedConfirmed, askedCancelled, toldDone, toldRestored,
	})
	restored := slices.Concat(open, []word{
		placedConfirmed, placedCancelled, askedCancelled, toldRestored, ledgerRestored, rowsRestored,
	})
	refused := slices.Concat(open, rejected, []word{toldRejected})
	tombstone := slices.Concat(open, []word{placedCancelled, askedCancelled, toldCancelled, ledgerCancelled, rowsNone})

	return map[word][]word{
		placedPending: anything, askedPending: anything, ledgerNone: anything, rowsNone: anything,
		placedConfirmed: confirmed, askedConfirmed: confirmed, placedRejected: rejected, askedRejected: rejected,
		placedCancelled: append([]word{placedCancelled, askedCancelled}, gone...),
		// A requested cancellation stands until the order is cancelled or turns out to be rejected.
		askedCancelling: slices.DeleteFunc(slices.Clone(anything), func(w word) bool {
			return w == askedPending || w == askedConfirmed
		}),
		askedCancelled: append([]word{placedConfirmed, placedCancelled, askedCancelled}, gone...),
		toldDone:       done, ledgerDone: done, rowsDeducted: done,
		toldRestored: restored, ledgerRestored: restored, rowsRestored: restored,
		toldRejected: refused, ledgerRejected: refused,
		toldCancelled: tombstone, ledgerCancelled: tombstone,
	}
}()

// undone are the answers that show a cancellation.
var undone = []word{
	placedCancelled, askedCancelling, askedCancelled, toldCancelled, toldRestored, ledgerCancelled, ledgerRestored,
	rowsRestored,
}

// agrees reports whether an order with that outcome may have had this answer at some time.
func (w word) agrees(did end) bool {
	switch w {
	case silent, placedPending, askedPending, ledgerNone, rowsNone:
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
	case toldDone, ledgerDone, rowsDeducted:
		return did.state == history.Done || did.state == history.Restored
	case toldRejected, ledgerRejected:
		return did.state == history.Rejected
	case toldCancelled, ledgerCancelled:
		return did.state == history.Cancelled
	case toldRestored, ledgerRestored, rowsRestored:
		return did.state == history.Restored
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
