package verify

import "fmt"

// The names of the invariants in verdicts. catalogue has them in words.
const (
	StockNotNegative        = "stock-not-negative"
	StockEqualsFlows        = "stock-equals-flows"
	FlowSigns               = "flow-signs"
	OneOperation            = "one-operation"
	OneDeductRow            = "one-deduct-row"
	OneRestoreRow           = "one-restore-row"
	DoneHasItsFlows         = "done-has-its-flows"
	RestoredHasItsFlows     = "restored-has-its-flows"
	NoDeductUnlessDone      = "no-deduct-unless-done"
	NoRestoreWithoutDeduct  = "no-restore-without-deduct"
	FlowHasOrder            = "flow-has-order"
	FlowMatchesOrder        = "flow-matches-order"
	OrderMatchesOperation   = "order-matches-operation"
	OrderOutcomeKept        = "order-outcome-kept"
	OrderSettled            = "order-settled"
	OrderItemsValid         = "order-items-valid"
	OrderTotalRight         = "order-total-right"
	OrderPricesRight        = "order-prices-right"
	OneOrderPerKey          = "one-order-per-key"
	GoodsRestocked          = "goods-restocked"
	NotOversold             = "not-oversold"
	AcknowledgedNotOversold = "acknowledged-not-oversold"
	AcknowledgedOrderKept   = "acknowledged-order-kept"
	AcknowledgedOrderSame   = "acknowledged-order-same"
	AcknowledgedEndKept     = "acknowledged-end-kept"
	OneEndTold              = "one-end-told"
	OneOrderTold            = "one-order-told"
	AnswerWellFormed        = "answer-well-formed"
	ToldTotalRight          = "told-total-right"
	RejectedOnlyWhenShort   = "rejected-only-when-short"
)

// catalogue is every invariant, in the order of the verdict's table.
var catalogue = []struct{ name, says string }{
	{StockNotNegative, "no stock level is below zero"},
	{StockEqualsFlows, "each stock level is the sum of the product's flow rows"},
	{FlowSigns, "restock and restore rows add, deduct rows take away"},
	{OneOperation, "one operation for one flag"},
	{OneDeductRow, "one deduct row for one flag and product"},
	{OneRestoreRow, "one restore row for one flag and product"},
	{DoneHasItsFlows, "a DONE operation has a deduct row for each of its items, and no other row"},
	{RestoredHasItsFlows, "a RESTORED operation has a deduct and a restore row for each of its items"},
	{NoDeductUnlessDone, "no deduct row without an operation that is DONE or RESTORED"},
	{NoRestoreWithoutDeduct, "no restore row without its deduct row, nor unless the operation is RESTORED"},
	{FlowHasOrder, "no flow row and no operation without its order"},
	{FlowMatchesOrder, "flow rows and operation have the order's items"},
	{OrderMatchesOperation, "an order's status agrees with its operation's state"},
	{OrderOutcomeKept, "an order's first outcome agrees with its status"},
	{OrderSettled, "no order is still PENDING or CANCELLING after the time to settle"},
	{OrderItemsValid, "every order has items, and each item at least one piece"},
	{OrderTotalRight, "an order's total is the sum of price times pieces"},
	{OrderPricesRight, "an order has the prices of its products"},
	{OneOrderPerKey, "one order for one idempotency key"},
	{GoodsRestocked, "each product of the run has the restock row that the run was promised"},
	{NotOversold, "no more pieces deducted and not restored than were restocked"},
	{AcknowledgedNotOversold, "no more pieces acknowledged to clients than were restocked"},
	{AcknowledgedOrderKept, "every order that a client was told of is in the database"},
	{AcknowledgedOrderSame, "and it is under the client's key, with the client's items"},
	{AcknowledgedEndKept, "the end that a client was told is the order's"},
	{OneEndTold, "no client was told two different ends of one order"},
	{OneOrderTold, "no client was told two orders for one key"},
	{AnswerWellFormed, "answers are what the contract says, and no valid call is refused"},
	{ToldTotalRight, "totals told to clients are the sum of price times pieces"},
	{RejectedOnlyWhenShort, "an order is rejected only while the stock of one of its products is short"},
}

// Invariants returns the names of all invariants that Run checks.
func Invariants() []string {
	names := make([]string, len(catalogue))
	for i, c := range catalogue {
		names[i] = c.name
	}
	return names
}

// findings counts violations, and keeps the first few of each kind.
type findings struct {
	keep   int
	byName map[string]*Invariant
}

func newFindings(keep int) *findings {
	f := &findings{keep: keep, byName: map[string]*Invariant{}}
	for _, c := range catalogue {
		f.byName[c.name] = &Invariant{Name: c.name, Says: c.says, Sample: []string{}}
	}
	return f
}

// add notes one violation of the invariant.
func (f *findings) add(name, format string, args ...any) {
	i := f.byName[name]
	i.Violations++
	if len(i.Sample) < f.keep {
		i.Sample = append(i.Sample, fmt.Sprintf(format, args...))
	}
}

func (f *findings) list() []Invariant {
	all := make([]Invariant, len(catalogue))
	for i, c := range catalogue {
		all[i] = *f.byName[c.name]
	}
	return all
}

// Says returns an invariant in words, or "" if there is none of that name.
func Says(name string) string {
	for _, c := range catalogue {
		if c.name == name {
			return c.says
		}
	}
	return ""
}
