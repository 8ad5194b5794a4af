package faultpoint

import (
	"strconv"
	"strings"
	"time"
)

// The parts of steps that have no point: nothing strikes there, and a process records that it passed them.
const (
	ReadStock     Step = "read-stock"     // the level of a product is read
	AnnounceToken Step = "announce-token" // a fencing token is written before the level is read
	RollBack      Step = "roll-back"
	Deduct        Step = "deduct"      // the whole deduction, without its reply
	MakeParent    Step = "make-parent" // before: the parent of a lock's nodes is missing
	Queue         Step = "queue"       // the queue of a lock is read; a node that stands behind none is the first
	Woken         Step = "woken"       // the node that stood before is gone
	Unlatched     Step = "unlatched"   // the node that stood before is gone, and its event wakes nobody
	DeleteNode    Step = "delete-node" // a node of the queue is deleted
	LeaveNode     Step = "leave-node"  // a waiter gives up, and its node stays
)

// Event is a step that a process has passed, with the values that it had in hand. A build with the tag "faults" keeps
// the last ones of the process in memory.
type Event struct {
	// At is the time of the machine's monotonic clock, which all its processes share, and Clock the time of day.
	At    time.Duration `json:"at"`
	Clock time.Time     `json:"clock"`
	// Process is the name of the service. The reader of the events sets it.
	Process string `json:"process,omitempty"`
	Step    Step   `json:"step"`
	When    When   `json:"when"`
	// Action is what struck or held the process there, and Held for how long.
	Action Action        `json:"action,omitempty"`
	Held   time.Duration `json:"held,omitempty"`
	Values
}

// Values are in the hands of a step. A nil pointer or "" is a value that it does not have.
type Values struct {
	// Flag is the operation's flag, which is the id of its order, or the name of a Group.
	Flag string `json:"flag,omitempty"`
	// Token is the fencing token of the lock, in hex.
	Token string `json:"token,omitempty"`
	Goods int64  `json:"goods,omitempty"`
	// Read and Written are levels of the product. Taken pieces are subtracted from a level that the step does not know.
	Read    *int64 `json:"read,omitempty"`
	Written *int64 `json:"written,omitempty"`
	Taken   *int64 `json:"taken,omitempty"`
	// Rows is how many rows a statement changed.
	Rows *int64 `json:"rows,omitempty"`
	// From and To are statuses of the order.
	From string `json:"from,omitempty"`
	To   string `json:"to,omitempty"`
	// Said is an answer: the state of an operation, or "true" from Redis for a flag that was there.
	Said string `json:"said,omitempty"`
	// Node is the process's place in a lock's queue, Behind the one before it, and Deleted a node that is deleted.
	Node    string `json:"node,omitempty"`
	Behind  string `json:"behind,omitempty"`
	Deleted string `json:"deleted,omitempty"`
	Error   string `json:"error,omitempty"`
}

// EventsEnv is the environment variable with the file that a process writes its events to before it kills itself. The
// next process at its place goes on with them.
const EventsEnv = "FAULTPOINT_EVENTS"

const groupPrefix = "group-"

// Group names the process's nth group of operations, in place of a flag.
func Group(n int64) string { return groupPrefix + strconv.FormatInt(n, 10) }

// IsGroup reports whether the flag is the name of a group.
func IsGroup(flag string) bool { return strings.HasPrefix(flag, groupPrefix) }
