package judge

// Advice explains a violation to people, and names the remedy. README.md has the same.
type Advice struct{ Means, Do string }

// advice is the advice for each invariant.
var advice = map[string]Advice{
	NotOversold: {
		Means: "More was sold than there was. Two buyers stand at one seat",
		Do: "Let one conditional update decide: `UPDATE … SET n = n - ? WHERE id = ? AND n >= ?`, and look " +
			"whether it changed a row.",
	},
	StockMatchesOrders: {
		Means: "The counter and the orders tell different stories: pieces vanish, or are sold again",
		Do: "Change the stock and write the order in one transaction; never write a number that was read " +
			"before.",
	},
	OneOrderPerKey: {
		Means: "A double click buys twice",
		Do:    "Make the key unique in the database, and insert it in the order's transaction.",
	},
	OneAnswerPerKey: {
		Means: "A buyer who has the ticket is told that it is sold out",
		Do:    "Look at the key before the stock, and answer a repeat with the first outcome.",
	},
	AcceptedIsKept: {
		Means: "A confirmed order does not exist",
		Do:    "Answer after the commit, and never ignore its error. One transaction for each request.",
	},
	RejectedIsNotSold: {
		Means: "A refused buyer pays",
		Do:    "Roll back all of a refused order; after a timeout say \"unknown\", not \"failed\".",
	},
	RejectedOnlyWhenShort: {
		Means: "Buyers are sent away while there is stock",
		Do: "Do not turn deadlocks, timeouts and lock failures into \"sold out\": try again, or answer 503. After " +
			"cancels: let each give its pieces back with `SET n = n + ?`, in the transaction that changes its state",
	},
	WithinLimit: {
		Means: "One buyer has more than one may have",
		Do:    "Make buyer and product unique in the database, or lock the buyer's row before you count",
	},
	CancelledIsNotSold: {
		Means: "A buyer who cancelled pays",
		Do:    "Change the state only from one that can be cancelled, and look whether a row was changed",
	},
	Unexplained: {
		Means: "The books have an order that nobody placed, mostly one call executed twice",
		Do:    "As for `one-order-per-key`",
	},
	DeductedOnce: {
		Means: "An item was taken from the stock twice, or never",
		Do:    "One row for each order and product, with both as the key.",
	},
	Settled: {
		Means: "An order is neither sold nor void and stays so",
		Do:    "A process that finds unfinished orders and finishes them.",
	},
	KeepsServing: {
		Means: "After some clicks, nobody can buy",
		Do: "Read the service's last lines. Return each connection to its pool, take locks in one order, give " +
			"each call a deadline",
	},
}

// AdviceOn returns the advice on an invariant that does not hold.
func AdviceOn(invariant string) Advice { return advice[invariant] }
