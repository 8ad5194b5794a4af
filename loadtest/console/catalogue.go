package console

import (
	"context"
	"slices"
	"strings"
)

// Variant is which of the two sides of a published fault is played.
type Variant string

// The variants.
const (
	Broken Variant = "broken"
	Fixed  Variant = "fixed"
)

// fault is a published fault of the case study, A to Q, and how to show it.
type fault struct {
	letter, title, says, idea string
	// scenario is fired at both variants.
	scenario Scenario
	// env is the environment of the services of both variants.
	env map[string]string
	// broken and fixed are how the services run.
	broken, fixed variant
	// strike, if not "", names a cell of the fault matrix that strikes during the run.
	strike string
	// demand, if not nil, is checked in addition to the invariants.
	demand demand
	// rate, if not "", names the rate to compare: the fault costs time, not pieces.
	rate string
	// besides, if not nil, is called while the orders are sent.
	besides func(context.Context, *Console) error
}

// variant is how the services of a run differ from the product as it ships.
type variant struct {
	// mutants are the patches that are switched on, by name, separated by commas.
	mutants  string
	strategy string
	env      map[string]string
	says     string // how they differ; "" if that is what the fault says, or not at all
}

// FaultInfo describes a published fault.
type FaultInfo struct {
	Letter string `json:"letter"`
	Title  string `json:"title"`
	Says   string `json:"says"`
	Idea   string `json:"idea"`
	Kind   string `json:"kind"` // "books" or "time"
	// BrokenSays and FixedSays say what is played, if it is not the fault alone and the product as it ships.
	BrokenSays string `json:"broken_says"`
	FixedSays  string `json:"fixed_says"`

	Playable bool   `json:"playable"`
	WhyNot   string `json:"why_not"`
}

// crowd is the scene of the first fault: 800 buyers want 300 tickets.
func crowd() Scenario {
	return Scenario{Path: "order", Orders: 800, Concurrency: 800, Rate: 400, Goods: 1, Stock: 300, ItemsMax: 1, NumMax: 3}
}

// basket is orders of up to three products that run short one after another.
func basket() Scenario {
	return Scenario{Path: "order", Orders: 300, Concurrency: 64, Rate: 120, Goods: 4, Stock: 120, ItemsMax: 3, NumMax: 3}
}

// plenty has enough stock for every order, so that each refusal is a fault.
func plenty() Scenario {
	return Scenario{Path: "order", Orders: 200, Concurrency: 64, Rate: 80, Goods: 4, Stock: 5000, ItemsMax: 2, NumMax: 2}
}

var published = []fault{
	{
		letter: "A", title: "The lock is released before the commit",
		says: "The lock is given back while the transaction is still open. " +
			"The next buyer reads the old level: two buyers read 7 left, and both write 6.",
		idea: "lock(goods)\nbegin; n = read level\n" +
			"unlock(goods)          // in a finally, too early\n" +
			"write level = n - 1\n" +
			"commit                 // the next holder has read n, too",
		scenario: crowd(),
		env:      unhurried,
		broken:   variant{mutants: "release-early,read-modify-write,no-fencing", strategy: "sequential"},
	},
	{
		letter: "B", title: "An error is caught inside the transaction",
		says: "The third product of an order is sold out, the error is caught, and the transaction commits. " +
			"The first two products are gone, and the order is refused.",
		idea: "begin\nfor each item:\n  try: level -= num; write ledger\n" +
			"  catch: result = failed   // nothing rolls back\ncommit",
		scenario: basket(),
		env:      unhurried,
		broken:   variant{mutants: "swallow-item-error", strategy: "sequential"},
	},
	{
		letter: "C", title: "The flag is deleted, then the process dies",
		says: "The flag in Redis is gone, and the transaction never committed. " +
			"Every retry is told \"repeat\", and the order can never be deducted.",
		idea: "if redis.del(flag) == 0:\n" +
			"  return repeat          // believed without a look at the ledger\n" +
			"☠ the process dies here\nbegin; deduct; commit",
		scenario: plenty(), strike: "take-flag/after/kill", demand: nobodyGivenUp,
		env:    unhurried,
		broken: variant{mutants: "absent-is-repeat", strategy: "sequential"},
	},
	{
		letter: "D", title: "A repeat is answered with nothing",
		says: "The first answer gets lost, and the retry is told only that it is a repeat. " +
			"The caller cannot tell \"done\" from \"refused\" and guesses.",
		idea:     "if seen(flag):\n  return                 // no outcome\n…\ncaller: empty answer → the order fails",
		scenario: plenty(), strike: "around/during/requests-duplicated",
		env:    unhurried,
		broken: variant{mutants: "repeat-untold", strategy: "sequential"},
	},
	{
		letter: "E", title: "A timeout counts as a failure",
		says: "The stock service is slow, and the order is told \"failed\" while the deduction lands later. " +
			"The stock is gone, and nobody owns it.",
		idea: "answer = call(stock, timeout)\nif answer == timeout:\n" +
			"  order.status = FAILED  // the deduction may still commit\n  return false",
		scenario: plenty(), strike: "commit/after/delay",
		broken: variant{mutants: "error-is-failed", strategy: "sequential"},
	},
	{
		letter: "F", title: "Nothing settles an order after a crash",
		says:     "The process dies between two steps, and no one looks for the order afterwards. It hangs for ever.",
		idea:     "insert order\n☠ the process dies here\ncall stock\nset status\n// no reconciler",
		scenario: plenty(), strike: "insert-order/after/kill",
		broken: variant{mutants: "no-reconciler", strategy: "sequential"},
	},
	{
		letter: "G", title: "A new ZooKeeper session for each lock",
		says: "Each lock connects, and each release closes the session. " +
			"That is three more round trips and two synced writes for each order.",
		idea:     "deduct:\n  zk = connect()         // a session for this call alone\n  lock; work; unlock\n  zk.close()",
		scenario: Scenario{Path: "order", Orders: 300, Concurrency: 32, Goods: 1, Stock: 100_000, ItemsMax: 1, NumMax: 1},
		env:      unhurried,
		broken:   variant{strategy: "case-study", says: "a session for each lock"},
		fixed:    variant{strategy: "sequential", says: "one session for the process"},
		rate:     "orders per second",
	},
	{
		letter: "H", title: "One lock for all products",
		says: "The lock is named after the method. " +
			"Orders for different products wait for each other, although they touch different rows.",
		idea:     "lock(\"reduceStock\")     // the name of the method\nlevel(goods) -= num\nunlock(\"reduceStock\")",
		scenario: Scenario{Path: "order", Orders: 400, Concurrency: 64, Goods: 64, Stock: 10_000, ItemsMax: 1, NumMax: 1},
		env:      unhurried,
		broken:   variant{mutants: "one-lock", strategy: "sequential", says: "one lock for all products"},
		fixed:    variant{strategy: "sequential", says: "a lock for each product"},
		rate:     "orders per second",
	},
	{
		letter: "I", title: "The parent node: first look, then create",
		says: "Two newcomers look for the parent node and find none. Both create it; one of them crashes.",
		idea: "if !exists(parent):\n  // another process creates it here\n" +
			"  create(parent)         // NodeExists: the order fails\ncreate(parent + \"/lock-\")",
		scenario: firstComers(), demand: nobodyFailed,
		env:    unhurried,
		broken: variant{mutants: "published-parent", strategy: "sequential"},
		fixed:  variant{strategy: "sequential"},
	},
	{
		letter: "J", title: "The waiter looks, then starts to listen",
		says: "The predecessor goes away between the look and the moment at which the waiter listens. " +
			"Nobody wakes the waiter.",
		idea: "there = exists(predecessor, watch)\n" +
			"// the node is deleted here; the event finds no latch\n" +
			"latch = new Latch()\nlatch.await()            // for ever",
		scenario: lockCrowd(), demand: nobodyFailed,
		env:    unhurried,
		broken: variant{mutants: "published-latch", strategy: "sequential"},
		fixed:  variant{strategy: "sequential"},
	},
	{
		letter: "K", title: "A vanished predecessor counts as one's turn",
		says: "The predecessor was a waiter that gave up, not the holder. " +
			"The next in line takes the lock without a second look: two hold it.",
		idea: "await deleted(predecessor)\n// it gave up; the holder still works\n" +
			"return locked            // without reading the queue again",
		scenario: lockCrowd(),
		env:      impatient,
		broken:   variant{mutants: "published-no-second-look,read-modify-write,no-fencing", strategy: "sequential"},
		fixed:    variant{strategy: "sequential"},
	},
	{
		letter: "L", title: "A waiter that gives up leaves its node behind",
		says: "The wait times out, and the node stays in the queue. " +
			"Everybody behind it waits for a node that nobody serves.",
		idea: "node = create(\"lock-\", sequential)\nif !await(predecessor, timeout):\n" +
			"  return false           // the node is still there",
		scenario: lockCrowd(),
		env:      impatient,
		broken:   variant{mutants: "published-left-behind", strategy: "sequential", says: "leaves its node behind"},
		fixed:    variant{strategy: "sequential", says: "removes its node"},
		rate:     "orders per second",
	},
	{
		letter: "M", title: "Release deletes the first child",
		says: "After a lost session the first child is somebody else's. " +
			"Release deletes the node of the one who holds the lock now.",
		idea:     "release:\n  first = min(children(parent))\n  delete(first)          // not necessarily one's own",
		scenario: sleeper(),
		env:      patient,
		strike:   "update-stock/before/pause",
		broken:   variant{mutants: "published-first-child,read-modify-write,no-fencing", strategy: "sequential"},
		fixed:    variant{strategy: "sequential"},
	},
	{
		letter: "N", title: "Nodes are sorted by a piece of their name",
		says: "The name is split at \"-\", and a fixed piece is taken for the number. " +
			"A GUID holds dashes too: the order is wrong, and two hold the lock.",
		idea: "name = \"_c_3f1a-77…-lock-0000000012\"\nnumber = name.split(\"-\")[1]\n" +
			"sort(children, by number)  // by a piece of the GUID",
		scenario: lockCrowd(),
		env:      unhurried,
		broken:   variant{mutants: "published-split-name,read-modify-write,no-fencing", strategy: "sequential"},
		fixed:    variant{strategy: "sequential"},
	},
	{
		letter: "O", title: "Nothing tells the holder that its session expired",
		says: "The holder sleeps, and its session expires. When it wakes up it goes on writing beside the next holder.",
		idea: "lock(goods); n = read level\n⏸ a pause longer than the session\n" +
			"// another holder sells meanwhile\nwrite level = n - 1; commit   // nothing refuses it",
		scenario: sleeper(),
		strike:   "update-stock/before/pause",
		broken: variant{
			mutants: "read-modify-write,loss-untold,no-fencing", strategy: "sequential", env: patient,
			says: "no fencing token is compared",
		},
		fixed: variant{
			mutants: "read-modify-write,loss-untold", strategy: "sequential", env: patient,
			says: "not the plain product, which guards the stock twice more, but the broken one with the fencing token compared",
		},
	},
	{
		letter: "P", title: "The request sleeps through the confirmation",
		says: "The request waits 3, 5 and 10 seconds in its thread for the confirmation. " +
			"A few hundred slow orders use up the server, and everybody waits.",
		idea: "deduct(flag)\nfor pause in 3 s, 5 s, 10 s:\n" +
			"  sleep(pause)           // with the thread and its slot\n  if flow(flag): return ok",
		scenario: Scenario{Path: "order", Orders: 200, Concurrency: 64, Goods: 1, Stock: 100_000, ItemsMax: 1, NumMax: 1},
		env:      unhurried,
		broken:   variant{mutants: "sleeping-confirmation", says: "sleeps before it reads the ledger"},
		fixed:    variant{says: "reads at once; the reconciler does the rest"},
		rate:     "orders per second",
	},
	{
		letter: "Q", title: "Price and quantity are taken from the client unchecked",
		says:     "Nobody checks the quantity. An order for minus five tickets puts five tickets on the shelf.",
		idea:     "POST {\"goods_id\": 4711, \"num\": -5}\nUPDATE stock SET num = num - (-5)",
		scenario: plenty(), besides: orderMinusFive,
		broken: variant{mutants: "any-quantity", strategy: "sequential"},
	},
}

// firstComers rush at new products, whose locks do not exist yet. They ask the stock service itself: an order
// service would repeat a deduction that failed, and nobody would see the failure.
func firstComers() Scenario {
	return Scenario{Path: "deduct", Orders: 300, Concurrency: 96, Goods: 30, Stock: 100, ItemsMax: 1, NumMax: 1}
}

// lockCrowd is a crowd at one product that meets at its lock.
func lockCrowd() Scenario {
	return Scenario{Path: "order", Orders: 300, Concurrency: 96, Rate: 150, Goods: 1, Stock: 200, ItemsMax: 1, NumMax: 2}
}

// sleeper is a slow sale, so that others buy while a holder sleeps.
func sleeper() Scenario {
	return Scenario{Path: "order", Orders: 150, Concurrency: 48, Rate: 30, Goods: 4, Stock: 60, ItemsMax: 3, NumMax: 3}
}

// unhurried has timeouts that are longer than the queue for the lock, so that an
// order is lost by the fault and not by a timeout.
var unhurried = map[string]string{
	"LOCK_TIMEOUT": "8s", "STOCK_TIMEOUT": "9s", "REQUEST_TIMEOUT": "9s",
	"CONFIRM_BUDGET": "10s", "PENDING_LIMIT": "11s", "CANCEL_AFTER": "30s",
	"ZOOKEEPER_SESSION_TIMEOUT": "4s",
}

// impatient has a lock timeout that is shorter than the queue: some waiters give up.
var impatient = map[string]string{
	"LOCK_TIMEOUT": "150ms", "STOCK_TIMEOUT": "9s", "REQUEST_TIMEOUT": "9s",
	"CONFIRM_BUDGET": "10s", "PENDING_LIMIT": "11s", "CANCEL_AFTER": "30s",
}

// patient has timeouts that outlast a pause. Otherwise the deadline of the request
// turns the paused holder's write away before the fencing token can.
var patient = map[string]string{
	"ZOOKEEPER_SESSION_TIMEOUT": "1s", "STOCK_TIMEOUT": "7s", "CONFIRM_BUDGET": "9s",
	"PENDING_LIMIT": "9s", "CANCEL_AFTER": "14s",
}

// stop is a stop of the tour.
type stop struct {
	Stop    int     `json:"stop"`
	Title   string  `json:"title"`
	Says    string  `json:"says"`
	Jargon  string  `json:"jargon"`
	Fault   string  `json:"fault"`
	Variant Variant `json:"variant"`
}

var tour = []stop{
	{
		1, "The shelf and the two buyers",
		"Two buyers read 7 left; both write 6. One ticket is sold twice.",
		"lost update", "A", Broken,
	},
	{
		2, "The lock",
		"Only one at a time may touch the shelf, and the lock is kept until the sale is written down.",
		"mutual exclusion", "A", Fixed,
	},
	{
		3, "The holder that sleeps",
		"The holder falls asleep, and the lock goes to the next. " +
			"When the first wakes up, its number is old, and its sale is refused.",
		"fencing token", "O", Fixed,
	},
	{
		4, "The answer that got lost",
		"The sale went through, but the answer did not arrive. " +
			"The order service asks again under the same number and gets the same answer.",
		"idempotency key", "E", Fixed,
	},
	{
		5, "The process that dies",
		"A process dies in the middle of a sale. " +
			"The ledger says how far it got, and another process finishes it.",
		"ledger and reconciler", "F", Fixed,
	},
	{
		6, "The crowd",
		"800 buyers come within two seconds. If each took the lock alone, most of the time would be spent passing it on. " +
			"The holder serves all who wait in one go.",
		"batching", "A", Fixed,
	},
}

// Known returns an error that lists the published faults if letter is none of them.
func Known(letter string) error {
	_, err := find(letter)
	return err
}

// Letters returns the letters of the published faults.
func Letters() []string {
	letters := make([]string, len(published))
	for i, f := range published {
		letters[i] = f.letter
	}
	return letters
}

func find(letter string) (fault, error) {
	i := slices.IndexFunc(published, func(f fault) bool { return f.letter == strings.ToUpper(letter) })
	if i < 0 {
		return fault{}, invalid("there is no fault %q; there are A to Q", letter)
	}
	return published[i], nil
}

// kind says what the fault costs: the books, or only time.
func (f fault) kind() string {
	if f.rate != "" {
		return "time"
	}
	return "books"
}
