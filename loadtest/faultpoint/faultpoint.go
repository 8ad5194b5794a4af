// Package faultpoint names the steps of the protocol and makes a process die, stop, fail or dawdle before or after one
// of them.
//
// The product does not call it. A build with the tag "faults" puts decorators between the product and its ports
// (cmd/order-service and cmd/stock-service, faults.go), and those call At. They also record each step as an Event.
// The process is controlled over HTTP: see Handler in that build, and Events.
package faultpoint

import "encoding/json"

// Step is a step of the order/stock protocol.
type Step string

// The steps, in the order that an order passes them.
const (
	InsertOrder Step = "insert-order"
	SetFlag     Step = "set-flag"
	CallStock   Step = "call-stock"
	TakeFlag    Step = "take-flag"
	LookupFlow  Step = "lookup-flow"
	AcquireLock Step = "acquire-lock"
	UpdateStock Step = "update-stock"
	InsertFlow  Step = "insert-flow"
	Commit      Step = "commit"
	ReleaseLock Step = "release-lock"
	Reply       Step = "reply"
	Confirm     Step = "confirm"
	SetStatus   Step = "set-status"
	CancelFlag  Step = "cancel-flag"
	CancelOrder Step = "cancel-order"
	Reconcile   Step = "reconcile"
)

// InsertItems lies inside the transaction that inserts orders, between the rows of orders and the commit. It is part of
// InsertOrder, and therefore not in Steps.
const InsertItems Step = "insert-items"

// NextLock lies before the acquisition of a lock by a process that holds another. It is a part of AcquireLock, and so
// not one of Steps.
const NextLock Step = "next-lock"

// GiveUp is the end of a wait for a lock that was not granted. It is a part of AcquireLock, too.
const GiveUp Step = "give-up"

// Steps lists all steps.
var Steps = []Step{
	InsertOrder, SetFlag, CallStock, TakeFlag, LookupFlow, AcquireLock, UpdateStock, InsertFlow,
	Commit, ReleaseLock, Reply, Confirm, SetStatus, CancelFlag, CancelOrder, Reconcile,
}

// When is the side of a step where a point lies.
type When string

const (
	// Before: the step has not begun. An error here means that it never ran.
	Before When = "before"
	// After: the step is done, and its effect stands. An error here is a lost reply: the caller does not know.
	After When = "after"
)

// Action is the effect of an armed point on a step that reaches it.
type Action string

// The actions.
const (
	Kill  Action = "kill"  // SIGKILL from inside: no deferred call runs
	Stop  Action = "stop"  // SIGSTOP: the process sleeps until it is continued
	Error Action = "error" // the step fails (before) or its reply is lost (after)
	Delay Action = "delay" // the step takes DelayMS longer
	Hold  Action = "hold"  // the step stands still until the process is disarmed, for at most DelayMS
	Call  Action = "call"  // POST to URL and wait for the answer, so that the harness can cut a connection
	Meet  Action = "meet"  // of AlwaysEnv: each arrival waits for the next
	Until Action = "until" // of AlwaysEnv: the first arrival waits until the point Other is passed
)

// AlwaysEnv is the environment variable with the delays, meetings and waits that happen from the start of the process
// on, to each arrival, whatever is armed. They bring about defects that would otherwise need a slow machine, or a fast
// one.
const AlwaysEnv = "FAULTPOINT_ALWAYS"

// Always returns an environment with these rules as AlwaysEnv.
func Always(rules ...Rule) map[string]string {
	text, _ := json.Marshal(rules) // it holds nothing that could fail
	return map[string]string{AlwaysEnv: string(text)}
}

// ImpatienceEnv is the environment variable with the time after which every eighth that waits for a lock gives up.
const ImpatienceEnv = "FAULTPOINT_IMPATIENCE"

// LogEnv is the environment variable with the file that gets a line for each strike, before it can kill the process.
const LogEnv = "FAULTPOINT_LOG"

// IdleEnv is the environment variable with the number of seconds for which the database server lets a transaction stand
// still. Default: as in the product, where a holder that wakes up late has lost its transaction.
const IdleEnv = "FAULTPOINT_IDLE"

// Point names one side of a step.
func Point(step Step, when When) string { return string(step) + "/" + string(when) }

// Rule arms one point.
type Rule struct {
	Step   Step   `json:"step"`
	When   When   `json:"when"`
	Action Action `json:"action"`
	// Skip is the number of arrivals that pass before it fires.
	Skip int `json:"skip"`
	// Times is the maximum number of times that it fires; 0 means once.
	Times   int `json:"times"`
	DelayMS int `json:"delay_ms"`
	// Outlast makes a Delay last until the caller has given up, and the step go on then.
	Outlast bool `json:"outlast,omitempty"`
	// URL is called when a Call strikes.
	URL string `json:"url,omitempty"`
	// Other is the Point that ends an Until.
	Other string `json:"other,omitempty"`

	// Fired counts how often it fired. It is output only.
	Fired int `json:"fired"`
	// Reached counts the arrivals.
	Reached int `json:"reached"`
}
