package history

import (
	"net/http"
	"slices"
	"time"
)

// Kind is the reason for a call.
type Kind uint8

const (
	// Place is the first call of an order.
	Place Kind = iota
	// Twin is the same order under the same key, sent at the same time.
	Twin
	// Again is the same order under the same key, sent later.
	Again
	// Cancel cancels the order.
	Cancel
)

var kindNames = [...]string{"place", "twin", "again", "cancel"}

func (k Kind) String() string { return kindNames[k] }

// Status is the state in an answer: of the order or, if the stock service was called directly, of the
// operation.
type Status uint8

const (
	// NoStatus: no answer, or one without a state.
	NoStatus Status = iota
	Pending
	Confirmed
	Rejected
	Cancelling
	Cancelled
	Done
	Restored
	// Unheard stands for an unknown state.
	Unheard
)

var statusNames = [...]string{
	"", "PENDING", "CONFIRMED", "REJECTED", "CANCELLING", "CANCELLED", "DONE", "RESTORED",
	"?",
}

func (s Status) String() string { return statusNames[s] }

// ParseStatus returns the status of that name, or Unheard.
func ParseStatus(word string) Status {
	if i := slices.Index(statusNames[:Unheard], word); i >= 0 {
		return Status(i)
	}
	return Unheard
}

// Failure is the reason why a call has no readable answer.
type Failure uint8

const (
	Answered Failure = iota
	// Refused: no connection could be made, so the call did not reach a service.
	Refused
	// Broken: the connection ended before the answer was whole.
	Broken
	// TimedOut: no answer within the call's timeout.
	TimedOut
	// Unreadable: the answer violates the service's contract.
	Unreadable
	// Unsent: the client had no file descriptor or port left for a connection, so the call did not leave it.
	Unsent
)

var failureNames = [...]string{"", "refused", "broken", "timeout", "unreadable", "unsent"}

func (f Failure) String() string { return failureNames[f] }

// Call is one call and its answer. Times count from the start of the run.
type Call struct {
	// Op is the number of the order in the run; its key is History.Key(Op).
	Op      int32
	Kind    Kind
	Status  Status
	Failure Failure
	// Replayed: the answer is marked as a repeat of an earlier one.
	Replayed bool
	// Code is the HTTP status; 0 if there was no answer.
	Code uint16
	// Problem is the code of the error in the answer.
	Problem Problem
	// Told identifies the items in the answer. History.ToldItems returns them.
	Told Told
	// Intended is the intended send time, Sent the real one, and Done when the answer was read or given up.
	Intended, Sent, Done time.Duration
	// Order is the id of the order in the answer, or 0, and Total the order's total.
	Order, Total int64
}

// Unserved reports whether a client may repeat the call elsewhere under its key: the answer is 503 or 429, or a proxy's
// 502 or 504, or the connection was refused or broke.
func (c Call) Unserved() bool {
	switch c.Code {
	case http.StatusServiceUnavailable, http.StatusTooManyRequests, http.StatusBadGateway, http.StatusGatewayTimeout:
		return true
	}
	return c.Failure == Refused || c.Failure == Broken
}

// Latency counts from the intended time.
func (c Call) Latency() time.Duration { return c.Done - c.Intended }
