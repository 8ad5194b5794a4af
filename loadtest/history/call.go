package history

import (
	"fmt"
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
	// ReadOrder reads the order by its id.
	ReadOrder
	// ReadLedger reads the operation and the flow rows under the order's flag.
	ReadLedger
)

var kindNames = [...]string{"place", "twin", "again", "cancel", "read", "ledger"}

func (k Kind) String() string { return kindNames[k] }

// Asks returns the kind of a first call that asks for the same: Place for all that place the order.
func (k Kind) Asks() Kind {
	if k.Places() {
		return Place
	}
	return k
}

// Places reports whether the call places the order.
func (k Kind) Places() bool { return k <= Again }

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

// MarshalText and UnmarshalText are for JSON.
func (s Status) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler. It never fails.
func (s *Status) UnmarshalText(word []byte) error {
	*s = ParseStatus(string(word))
	return nil
}

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
	// Refused: no connection could be made, so the call did not reach a service, unless it was Resent.
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

// MarshalText and UnmarshalText are for the file.
func (f Failure) MarshalText() ([]byte, error) { return []byte(f.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (f *Failure) UnmarshalText(word []byte) error { return parse(f, failureNames[:], word) }

// parse sets a number to the index of its name.
func parse[T ~uint8](to *T, names []string, word []byte) error {
	i := slices.Index(names, string(word))
	if *to = T(max(i, 0)); i < 0 {
		return fmt.Errorf("unknown: %q", word)
	}
	return nil
}

// Call is one call and its answer. Times count from the start of the run. The tags are of its line in the file.
type Call struct {
	// Op is the number of the order in the run; its key is History.Key(Op).
	Op      int32   `json:"op"`
	Kind    Kind    `json:"-"`
	Status  Status  `json:"status,omitzero"`
	Failure Failure `json:"error,omitzero"`
	// Replayed: the answer is marked as a repeat of an earlier one.
	Replayed bool `json:"replayed,omitzero"`
	// Code is the HTTP status; 0 if there was no answer.
	Code uint16 `json:"code,omitzero"`
	// Problem is the code of the error in the answer.
	Problem Problem `json:"problem,omitzero"`
	// Named identifies the items in the answer. History.Named returns them.
	Named NamedItems `json:"-"`
	// Intended is the intended send time, Sent the real one, and Done when the answer was read or given up.
	Intended time.Duration `json:"intended_us,format:micro"`
	Sent     time.Duration `json:"sent_us,format:micro"`
	Done     time.Duration `json:"done_us,format:micro"`
	// Order is the id of the order in the answer, or 0, and Total the order's total.
	Order int64 `json:"order,string,omitzero"`
	Total int64 `json:"total,omitzero"`
	// Created is the date of the order in the answer, in microseconds since 1970; 0 if there is none, and negative if it
	// has parts of a microsecond.
	Created int64 `json:"created_us,omitzero"`
	// Reason is the reason in the answer, as History.Reason returns it.
	Reason Reason `json:"-"`
	// Location is the order in the header of that name.
	Location Location `json:"location,omitzero"`
	// Resent: the call was sent again, as the service closed its connection before it read the call. Something between
	// the client and the service may have read it all the same.
	Resent bool `json:"resent,omitzero"`
	// Postponed: the answer asks for a longer wait than MostWait.
	Postponed bool `json:"postponed,omitzero"`
	// NoHint: a service refused the call for now (503 or 429), and its answer has no header Retry-After.
	NoHint bool `json:"no_retry_after,omitzero"`
	// Rows are the flow rows in the answer to ReadLedger.
	Rows Rows `json:"-"`
}

// MostWait is the longest wait that an answer can ask for. A call that should wait for longer is not repeated.
const MostWait = 4 * time.Minute

// Location is the order that the header Location names.
type Location uint8

const (
	// NotLocated: there was no such header.
	NotLocated Location = iota
	// Located: it was the path of the order in the answer.
	Located
	// Elsewhere: it was anything else.
	Elsewhere
)

var locationNames = [...]string{"", "order", "elsewhere"}

func (l Location) String() string { return locationNames[l] }

// MarshalText and UnmarshalText are for the file.
func (l Location) MarshalText() ([]byte, error) { return []byte(l.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (l *Location) UnmarshalText(word []byte) error { return parse(l, locationNames[:], word) }

// Unserved reports whether a client may repeat the call elsewhere under its key: the answer is 503 or 429, or a proxy's
// 502 or 504, or the connection was refused or broke.
func (c Call) Unserved() bool {
	switch c.Code {
	case http.StatusServiceUnavailable, http.StatusTooManyRequests, http.StatusBadGateway, http.StatusGatewayTimeout:
		return true
	}
	return c.Failure == Refused || c.Failure == Broken
}

// Ended reports whether the call got its end: the order is confirmed, rejected or cancelled, a cancellation is done or
// has nothing to cancel, or what was read is in the answer. A refusal is an end, unless it is 429 or 500 and above.
func (c *Call) Ended() bool {
	switch {
	case !ended(c.Failure, c.Code):
		return false
	case c.Kind == Cancel:
		return c.Status != Pending && c.Status != Cancelling && c.Status != Confirmed
	case c.Kind.Places():
		return c.Status != Pending
	}
	return true
}

func ended(f Failure, code uint16) bool {
	return f == Answered && code < http.StatusInternalServerError && code != http.StatusTooManyRequests
}

// Latency counts from the intended time.
func (c Call) Latency() time.Duration { return c.Done - c.Intended }

// Placed is one more order, of so many pieces of one product, which somebody placed at a process during the run.
type Placed struct {
	Process, Key string
	Goods, Num   int64
	Sent, Done   time.Duration // from the start of the run
	Code         int           // the HTTP status
}
