package verify

import (
	"fmt"
	"strings"
)

// The names of the invariants in verdicts. invariants describes them.
const (
	StockBalances         = "stock-balances"
	NotOversold           = "not-oversold"
	DeductedOnce          = "deducted-once"
	OperationComplete     = "operation-complete"
	OrderMatchesOperation = "order-matches-operation"
	OrderAsRequested      = "order-as-requested"
	Unexplained           = "unexplained"
	Settled               = "settled"
	Served                = "served"
	AnswerWellFormed      = "answer-well-formed"
	AnswersTrue           = "answers-true"
	AnswersOverTime       = "answers-over-time"
	RejectedOnlyWhenShort = "rejected-only-when-short"
	ExpiredOnlyWhenDue    = "expired-only-when-due"
	PriceInForce          = "price-in-force"
)

// invariants holds every invariant, in the order of the verdict's table.
var invariants = []struct{ name, says string }{
	{StockBalances, "each stock level is the sum of the product's flow rows, and not below zero"},
	{NotOversold, "no more pieces are deducted and not restored, or acknowledged to clients, than were restocked"},
	{DeductedOnce, "a flag has one operation, and one deduct and one restore row for each of its products"},
	{OperationComplete, "the flow rows under a flag match its operation's state and items"},
	{
		OrderMatchesOperation,
		"an order's status, first outcome, reason and items agree with its operation; each has the other",
	},
	{OrderAsRequested, "an order has the items, prices, total and body hash of the request that placed it"},
	{Unexplained, "every row under the run's keys or of its products has exactly one request that explains it"},
	{Settled, "no order is still PENDING or CANCELLING after the time to settle"},
	{Served, "every call gets an end: at once where nothing was broken, and else when it is repeated after the heal"},
	{AnswerWellFormed, "answers obey the contract, and no valid call is refused"},
	{AnswersTrue, "every answer agrees with the books: order, end, items and total; or that nothing has changed"},
	{AnswersOverTime, "no answer contradicts an earlier one, and of all answers to a key one is the first"},
	{RejectedOnlyWhenShort, "an order is rejected only while the stock of the product that its reason names is short"},
	{ExpiredOnlyWhenDue, "by the client's clock, an order expires only `CANCEL_AFTER` after it was first sent"},
	{PriceInForce, "an order's prices were in force at some time from `PRICE_TTL` before it was sent until its answer"},
}

// Invariants returns the names of all invariants that Judge checks.
func Invariants() []string {
	names := make([]string, len(invariants))
	for i, c := range invariants {
		names[i] = c.name
	}
	return names
}

// Says returns the description of an invariant, or "" if there is none of that name.
func Says(name string) string {
	for _, c := range invariants {
		if c.name == name {
			return c.says
		}
	}
	return ""
}

// Finding is one violation of an invariant.
type Finding struct {
	// Flag is the flag of the operation or restock: an order's id. Empty if there is none.
	Flag string `json:"flag,omitempty"`
	// Key is the order's idempotency key, if it is one of the run's.
	Key string `json:"key,omitempty"`
	// Product is the id of the product, or 0.
	Product int64 `json:"product,string,omitempty"`
	// Expected and Found describe the state that should be there and the state that is.
	Expected string `json:"expected"`
	Found    string `json:"found"`
}

func (f Finding) String() string {
	var where []string
	if f.Flag != "" {
		where = append(where, "flag "+f.Flag)
	}
	if f.Key != "" {
		where = append(where, "key "+f.Key)
	}
	if f.Product != 0 {
		where = append(where, fmt.Sprintf("product %d", f.Product))
	}
	text := fmt.Sprintf("want %s, found %s", f.Expected, f.Found)
	if len(where) == 0 {
		return text
	}
	return strings.Join(where, ", ") + ": " + text
}
