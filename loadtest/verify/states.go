package verify

import (
	"slices"

	"orderstock/loadtest/history"
)

// state is what an order can be: its status, its first outcome, and what the ledger has of it. On PathDeduct there is
// only the ledger.
type state struct{ status, outcome, ledger history.Status }

// states are all states of an order, and next are the steps between them, as indices.
var states, next = func() (all []state, next map[int][]int) {
	const (
		none      = history.NoStatus
		pending   = history.Pending
		confirmed = history.Confirmed
		rejected  = history.Rejected
		leaving   = history.Cancelling
		cancelled = history.Cancelled
		done      = history.Done
		restored  = history.Restored
	)
	index, next := map[state]int{}, map[int][]int{}
	at := func(s state) int {
		if _, known := index[s]; !known {
			index[s] = len(all)
			all = append(all, s)
		}
		return index[s]
	}
	step := func(from, to state) {
		a, b := at(from), at(to)
		next[a] = append(next[a], b)
	}
	// The ledger's steps come while the order has no outcome.
	for _, status := range []history.Status{none, pending, leaving} {
		for _, end := range []history.Status{done, rejected, cancelled} {
			step(state{status, none, none}, state{status, none, end})
		}
		step(state{status, none, done}, state{status, none, restored})
	}
	// A client, or its age, asks to cancel an order that is pending.
	for _, ledger := range []history.Status{none, done, rejected, cancelled, restored} {
		step(state{pending, none, ledger}, state{leaving, none, ledger})
	}
	step(state{none, none, none}, state{pending, none, none})
	// The order follows the ledger. A cancellation that was asked for stands until the ledger says otherwise.
	step(state{pending, none, done}, state{confirmed, confirmed, done})
	for _, status := range []history.Status{pending, leaving} {
		step(state{status, none, rejected}, state{rejected, rejected, rejected})
		step(state{status, none, cancelled}, state{cancelled, cancelled, cancelled})
		step(state{status, none, restored}, state{cancelled, cancelled, restored})
	}
	// A confirmed order can still be cancelled. Its first outcome stays.
	step(state{confirmed, confirmed, done}, state{leaving, confirmed, done})
	step(state{leaving, confirmed, done}, state{leaving, confirmed, restored})
	step(state{leaving, confirmed, restored}, state{cancelled, confirmed, restored})
	return all, next
}()

// aspect is the side of an order that an answer shows.
type aspect uint8

const (
	nothing aspect = iota
	// Its first outcome, in the answer to a call that places it, and its status, in any other.
	atFirst
	atPresent
	// The operation in an answer on PathDeduct, the operation in the ledger, and its flow rows there: none, those of Done,
	// or those of Restored. The last two are read one after the other.
	inRecord
	inLedger
	inFlows
)

// word is the meaning of an answer. The zero word says nothing.
type word struct {
	of aspect
	is history.Status
}

// shows reports whether an order in a state is what the word says.
func (w word) shows(s state) bool {
	switch w.of {
	case atFirst:
		pending := w.is == history.Pending && s.outcome == history.NoStatus && s.status != history.NoStatus
		return pending || w.is != history.Pending && s.outcome == w.is
	case atPresent:
		return s.status == w.is
	case inRecord, inLedger:
		return s.ledger == w.is
	case inFlows:
		given := s.ledger == history.Done || s.ledger == history.Restored
		return s.ledger == w.is || w.is == history.NoStatus && !given
	case nothing:
	}
	return true
}

// set is some of the states, a bit for each.
type set uint32

// follow returns a state and all that can come after it.
func follow(i int) set {
	all := set(1) << i
	for _, to := range next[i] {
		all |= follow(to)
	}
	return all
}

// meanings are the states that each word shows, and those with all that can come after them.
var meanings = func() (all [inFlows + 1][history.Unheard]struct{ shown, reached set }) {
	for of := nothing; of <= inFlows; of++ {
		for is := range history.Unheard {
			m := &all[of][is]
			for i, s := range states {
				if (word{of, is}).shows(s) {
					m.shown |= 1 << i
					m.reached |= follow(i)
				}
			}
		}
	}
	return all
}()

// mayFollow reports whether an answer with the word may come to a call that was sent after an earlier answer.
func (w word) mayFollow(earlier word) bool {
	return meanings[earlier.of][earlier.is].reached&meanings[w.of][w.is].shown != 0
}

// agrees reports whether an order with that end may have had this answer at some time.
func (w word) agrees(did end, path history.Path) bool {
	last := state{did.status, did.outcome, did.state}
	if path == history.PathDeduct {
		last = state{ledger: did.state}
	}
	i := slices.Index(states, last)
	return w.of == nothing || i >= 0 && meanings[w.of][w.is].reached>>i&1 == 1
}

// kept are the states of an order that nobody cancels.
var kept = func() (all set) {
	for i, s := range states {
		gone := s.status == history.Cancelling || s.status == history.Cancelled || s.ledger == history.Cancelled ||
			s.ledger == history.Restored
		if !gone {
			all |= 1 << i
		}
	}
	return all
}()

// undone reports whether the word shows a cancellation.
func (w word) undone() bool { return meanings[w.of][w.is].shown&kept == 0 }
