// Package operation holds the terms shared by the order service and the stock service, without a network between them:
// the items of an operation and their rules, and its final states. Both domains import it, and the API of package
// stockapi carries it. It does no I/O.
package operation

// State is the final state of an operation.
type State string

const (
	// Done: every item was deducted.
	Done State = "DONE"
	// Rejected: the stock of an item was short. Nothing was deducted, and nothing
	// will ever be deducted under this flag.
	Rejected State = "REJECTED"
	// Cancelled: the flag was cancelled before anything was deducted. A late
	// deduction does nothing.
	Cancelled State = "CANCELLED"
	// Restored: the items were deducted and then returned, once.
	Restored State = "RESTORED"
)

// Kind is the cause of a flow row.
type Kind string

// The kinds of flow rows.
const (
	KindRestock Kind = "restock"
	KindDeduct  Kind = "deduct"
	KindRestore Kind = "restore"
)
