package mutants

import (
	"net/http"
	"strings"
	"time"

	"orderstock/loadtest/catalogue"
	"orderstock/loadtest/faults"
	"orderstock/loadtest/faults/faultpoint"
	"orderstock/loadtest/fire"
	"orderstock/loadtest/history"
	"orderstock/loadtest/verify"
)

// Mutant is one broken variant of the services.
type Mutant struct {
	// Name describes the defect.
	Name string
	// Switches are the patches that break it; none if the other fields do.
	Switches string
	// Strategy of deduction. Default: sequential.
	Strategy string
	// Env is added to the services' environment.
	Env map[string]string
	// Schema is run on the stock database before the traffic.
	Schema []string
	// Cell is the fault that exposes it, as faults.Cell.Name.
	Cell string
	// Outage, if not 0, replaces the cell's.
	Outage time.Duration
	// Probe, if not nil, sends requests that the traffic does not.
	Probe probe
	// Front, if not nil, makes what stands between the clients and the services, and breaks what passes.
	Front func(fire.Target) front
	// Change, if not nil, is made to the databases or the history after the traffic.
	Change *change
	// Load is the traffic. Default: usual with a cell, and little without.
	Load fire.Config
	// Strict also demands that no order is given up, and raises the time after which orders are.
	Strict bool
	// Expected is the invariant that must catch it; empty if it is absorbed.
	Expected string
	// AbsorbedBy is the layer that compensates for the missing one; empty if the mutant is caught.
	AbsorbedBy string
}

// kinds are the tables of mutants, in the order of their runs.
var kinds = []struct {
	name    string
	mutants []Mutant
}{{"mutant", mutants}, {"front", fronts}, {"layer", layers}, {"input", inputs}}

// Names returns the names of all rows, in their order.
func Names() (all []string) {
	for _, kind := range kinds {
		for _, m := range kind.mutants {
			all = append(all, m.Name)
		}
	}
	return all
}

// Control is the layer that "absorbs" a mutant with nothing broken.
const Control = "nothing to absorb"

// The unique keys, as plain ones.
var (
	noOperationKey = []string{"ALTER TABLE operations DROP PRIMARY KEY, ADD KEY (flag)"}
	noFlowKey      = []string{"ALTER TABLE stock_flow DROP PRIMARY KEY, ADD KEY (flag)"}
	noUniqueKeys   = append(append([]string{}, noOperationKey...), noFlowKey...)
)

const (
	// quiet is a cell with hardly any fault: the traffic alone exposes the mutant.
	quiet      = "set-flag/before/error"
	duplicated = "around/during/requests-duplicated"
	redisDown  = "around/during/redis-down"
	paused     = "update-stock/before/pause"

	flagInHand   = "take-flag/after/kill"
	redisFlushed = "around/during/redis-flushed"
	createLost   = "acquire-lock/after/reply-lost"
)

// mutants is the one table of the broken variants.
var mutants = []Mutant{
	{
		Name: "nothing broken, requests duplicated", Cell: duplicated, Load: slow, Strict: true,
		AbsorbedBy: Control,
	},
	{
		Name: "nothing broken, killed with the flag in hand", Cell: flagInHand, Load: slow, Strict: true,
		AbsorbedBy: Control,
	},
	{Name: "nothing broken, Redis flushed", Cell: redisFlushed, Load: slow, Strict: true, AbsorbedBy: Control},
	{
		Name: "nothing broken, create reply lost", Cell: createLost, Outage: longOutage, Env: longSession, Load: slow,
		Strict: true, AbsorbedBy: Control,
	},
	{Name: "nothing broken, holder paused", Cell: paused, AbsorbedBy: Control},
	{Name: "nothing broken, a deduction after its cancellation", Probe: lateDeduction, AbsorbedBy: Control},

	{
		Name: "nothing broken, baskets", Strategy: "grouped", Load: baskets, AbsorbedBy: Control,
	},
	{
		Name: "the locks of the first partition only", Switches: "first-lock-only", Strategy: "grouped", Load: baskets,
		Expected: unlockedDeductions,
	},
	{
		Name: "locks taken in the order of the basket", Switches: "locks-in-basket-order", Strategy: "grouped",
		Load: baskets, Env: betweenLocks, Expected: unlockedDeductions,
	},

	{
		Name: "no lock, read-modify-write", Load: dense, Env: gap, Strategy: "unsafe", Cell: quiet,
		Expected: verify.StockBalances,
	},
	{
		Name: "the condition dropped from the update", Switches: "no-condition", Cell: quiet,
		Expected: verify.StockBalances,
	},
	{
		Name: "both unique keys dropped", Schema: noUniqueKeys, Env: gap, Cell: duplicated,
		Expected: verify.DeductedOnce,
	},
	published("released before the commit, read-modify-write", "A", catalogue.Broken, verify.StockBalances),
	published("an item's error swallowed", "B", catalogue.Broken, verify.StockBalances),
	{
		Name: "a statement outside the transaction", Switches: "flow-outside", Cell: "commit/before/error",
		Expected: verify.OperationComplete,
	},
	published("flag absent = repeat", "C", catalogue.Broken, faults.NotGivenUp),
	{
		Name: "Redis as the only dedupe, flushed", Switches: "absent-is-repeat", Env: flagsUntaken, Cell: redisFlushed,
		Strict: true, Expected: faults.NotGivenUp,
	},
	{
		Name: "commit error = failed", Switches: "unknown-is-failed,error-is-failed", Cell: "commit/after/error",
		Expected: verify.OrderMatchesOperation,
	},
	published("a repeat gets no outcome", "D", catalogue.Broken, verify.OrderMatchesOperation),
	published("timeout = failed", "E", catalogue.Broken, verify.OrderMatchesOperation),
	{
		Name: "read before the lock, absolute write", Load: dense, Env: gap, Switches: "read-before-lock", Cell: quiet,
		Expected: verify.StockBalances,
	},
	{
		Name: "cancel without a tombstone", Switches: "no-tombstone", Probe: lateDeduction,
		Expected: verify.OrderMatchesOperation,
	},
	published("no reconciler", "F", catalogue.Broken, verify.Settled),
	{
		Name: "the client library's lock, create reply lost", Strategy: "zk-lock", Cell: createLost, Outage: longOutage,
		Env: longSession, Strict: true, Expected: faults.NotGivenUp,
	},
	published("quantities of zero and less accepted", "Q", catalogue.Broken, verify.OrderAsRequested),
	{
		Name: "a repeat makes a second order without a key", Switches: "order-again", Load: traffic,
		Expected: verify.Unexplained,
	},
	{
		Name: "a cancellation books a restock as well", Switches: "restock-on-cancel", Load: traffic,
		Expected: verify.Unexplained,
	},
	{
		Name: "a cancellation answered 200 CONFIRMED, and nothing cancelled", Switches: "cancel-nothing", Load: traffic,
		Expected: verify.AnswerWellFormed,
	},
	{
		Name: "sold orders answered 503 unavailable", Switches: "sold-unavailable", Load: traffic,
		Expected: verify.AnswersTrue,
	},
	{Name: "answers name another product", Switches: "other-items", Load: traffic, Expected: verify.AnswersTrue},
	{
		Name: "neighbours in a group get each other's items", Switches: "neighbours-items", Strategy: "grouped",
		Load: deductions, Env: lateCommits, Expected: verify.OrderAsRequested,
	},
	{
		Name: "the reconciler gives up what it meets", Switches: "expires-early", Cell: "insert-order/after/kill",
		Env: longLived, Expected: verify.ExpiredOnlyWhenDue,
	},
	{
		Name: "orders given up before they are tried", Switches: "expires-at-once", Load: traffic, Env: longLived,
		Expected: verify.ExpiredOnlyWhenDue,
	},
	{
		Name: "a shortage told as a cancellation by the client", Switches: "reason-of-client", Load: traffic,
		Expected: verify.AnswersTrue,
	},
	{
		Name: "answers send the client to another order", Switches: "other-location", Load: traffic,
		Expected: verify.AnswersTrue,
	},
	{
		Name: "a rejection names a product that was there", Switches: "names-the-last", Load: popular,
		Expected: verify.RejectedOnlyWhenShort,
	},
	{
		Name: "nothing broken, prices kept for 100 ms", Strategy: "grouped", Load: repriced, Env: briefPrices,
		AbsorbedBy: Control,
	},
	{
		Name: "the first price kept for ever", Switches: "first-price", Strategy: "grouped", Load: repriced,
		Env: briefPrices, Expected: verify.PriceInForce,
	},
	{
		Name: "an order answered at the price of its confirmation", Switches: "price-at-end", Strategy: "grouped",
		Load: repriced, Env: longPrices, Expected: verify.AnswersTrue,
	},
	{Name: "nothing broken, a lock for each product", Load: fewBaskets, AbsorbedBy: Control},
	{
		Name: "one lock for all products", Switches: "one-lock", Load: fewBaskets,
		AbsorbedBy: "the queue for it, which costs time alone",
	},
	{
		Name: "a lock that each process has for itself", Switches: "own-lock", Load: fewBaskets,
		Expected: unlockedDeductions,
	},
	{
		Name: "a token that somebody made up", Switches: "made-up-token", Load: fewBaskets, Expected: unlockedDeductions,
	},
	{
		Name: "a changed body accepted under a used flag", Switches: "changed-body", Probe: changedBody,
		Expected: flagConflict,
	},
}

// The loads are lighter than the fault matrix's: most mutants break the strategies that take a ZooKeeper lock for each
// deduction.
var (
	usual = fire.Config{Orders: 150, Rate: 50, Concurrency: 48, Mix: fire.Mix{Cancel: 0.15}}
	// uncancelled has no cancellations. They return stock without the lock, by a relative update, which a concurrent
	// absolute write would overwrite. It has no restock in its middle, either, for the same reason.
	uncancelled = fire.Config{Orders: 150, Rate: 50, Concurrency: 48, Plain: true}
	// dense makes many orders meet within the gap.
	dense = fire.Config{Orders: 400, Rate: 200, Concurrency: 64}
	// slow is light enough that no order is given up on a busy machine, and that the orders behind a paused holder are
	// done before the holder wakes up.
	slow = fire.Config{Orders: 60, Rate: 30, Concurrency: 48}

	little = fire.Config{Orders: 200, Concurrency: 20, Mix: fire.Mix{Goods: 3, Stock: 80, Repeat: 0.1, Seed: 1}}
	// traffic has repeats and cancellations, and deductions is the same with deductions alone.
	traffic    = fire.Config{Orders: 200, Concurrency: 20, Mix: repeated}
	deductions = fire.Config{Path: history.PathDeduct, Orders: 200, Concurrency: 20, Mix: repeated}
	repeated   = fire.Mix{Goods: 3, Stock: 120, Repeat: 0.3, Cancel: 0.3, Seed: 1}
	// repriced goes on for longer than briefPrices lets an old price live.
	repriced = fire.Config{Orders: 150, Rate: 75, Concurrency: 20, Mix: fire.Mix{Goods: 3, Repeat: 0.3, Seed: 1}}
	// popular sells out one product after the other, so that few are short.
	popular = fire.Config{
		Orders: 150, Concurrency: 12, Mix: fire.Mix{Goods: 4, Stock: 50, Zipf: 2.5, ItemsMax: 2, Several: 1, Seed: 1},
	}
	// fewBaskets is baskets for a strategy that takes each product's lock in ZooKeeper.
	fewBaskets = fire.Config{
		Orders: 80, Concurrency: 8, Mix: fire.Mix{Goods: 6, Stock: 2000, ItemsMax: 3, Several: 1, Seed: 1},
	}
	// baskets is orders of several products, at replicas that take turns.
	baskets = fire.Config{
		Orders: 600, Concurrency: 60, Mix: fire.Mix{Goods: 6, Stock: 2000, ItemsMax: 3, Several: 1, Cancel: 0.1, Seed: 1},
	}
)

var (
	// In gap, each deduction stands still between the read of a level and its write, so that others come in between.
	gap = slowly(faultpoint.UpdateStock, faultpoint.Before, 50*time.Millisecond)
	// In flagsUntaken, a flag lies in Redis for a while before it is taken, so that a flush meets some.
	flagsUntaken = slowly(faultpoint.SetFlag, faultpoint.After, 200*time.Millisecond)
	// In betweenLocks, a process with one lock stands still before it asks for the next, so that others take that.
	betweenLocks = slowly(faultpoint.NextLock, faultpoint.Before, 50*time.Millisecond)
	// In lateCommits, a group stands still before its commit, so that the next one is large.
	lateCommits = slowly(faultpoint.Commit, faultpoint.Before, 20*time.Millisecond)
)

func slowly(step faultpoint.Step, when faultpoint.When, delay time.Duration) map[string]string {
	return map[string]string{faultpoint.SlowEnv: faultpoint.Slow(step, when, delay)}
}

// unlockedDeductions is found broken if a deduction of baskets went without the locks of its products, as none does in
// calm.
const unlockedDeductions = "unlocked"

// longOutage is longer than the client library's reconnect delay of one second. If the reconnect fails, the library
// fails the calls that wait for a connection, among them the search for a node whose create was not answered. The
// session, and its node, survive longOutage.
const longOutage = 1500 * time.Millisecond

// longLived leaves no order time to expire.
var longLived = map[string]string{"CANCEL_AFTER": "5m"}

// briefPrices lets a price be used for a short time.
var briefPrices = map[string]string{"PRICE_TTL": "100ms"}

// longPrices lets a price be used for longer than a run.
var longPrices = map[string]string{"PRICE_TTL": "30s"}

var longSession = map[string]string{"ZOOKEEPER_SESSION_TIMEOUT": "30s"}

// layers removes each layer of safety alone, and then the pairs that must be caught.
var layers = []Mutant{
	{Name: "without the lock", Strategy: "conditional-update", Cell: quiet, AbsorbedBy: "the condition of the update"},
	{Name: "without the condition", Switches: "no-condition", Cell: quiet, Expected: verify.StockBalances},
	{
		Name: "without the lock and the condition", Strategy: "conditional-update", Switches: "no-condition", Cell: quiet,
		Expected: verify.StockBalances,
	},
	{
		Name: "without the unique key of operations", Schema: noOperationKey, Env: gap, Cell: duplicated,
		Expected: verify.DeductedOnce,
	},
	{
		Name: "without the unique key of the flow", Schema: noFlowKey, Cell: duplicated,
		AbsorbedBy: "the unique key of operations",
	},
	{
		Name: "without both unique keys", Schema: noUniqueKeys, Env: gap, Cell: duplicated,
		Expected: verify.DeductedOnce,
	},
	{Name: "without Redis", Cell: redisDown, AbsorbedBy: "the look-up in MySQL and the unique key"},
	{
		Name: "without Redis and the unique keys", Schema: noUniqueKeys, Env: gap, Cell: redisDown + "+requests-duplicated",
		Expected: verify.DeductedOnce,
	},
	{
		Name: "without the second look after a commit error", Switches: "unknown-is-failed", Cell: "commit/after/error",
		AbsorbedBy: "the confirmation, which believes the ledger alone",
	},
	{
		Name: "without fencing", Switches: "no-fencing,loss-unnoticed", Cell: paused,
		AbsorbedBy: "the condition and the row lock of a relative update",
	},
	{
		Name: "absolute write instead of the relative one", Load: uncancelled, Switches: "read-modify-write", Cell: quiet,
		AbsorbedBy: "the lock",
	},
	{
		Name: "released before the commit, absolute write, fenced", Load: uncancelled,
		Switches: "release-early,read-modify-write", Cell: quiet,
		AbsorbedBy: "the fencing token, which turns the earlier holder away",
	},
	published("absolute write under lock, fenced", "O", catalogue.Fixed,
		"the fencing token, which turns the paused holder away"),
	published("absolute write under lock, without fencing", "O", catalogue.Broken, verify.StockBalances),
}

// published returns the row of one side of a published fault, which the catalogue describes. by is what catches or
// absorbs it.
func published(name, letter string, side catalogue.Side, by string) Mutant {
	f, err := catalogue.Find(letter)
	if err != nil {
		panic(err)
	}
	v := f.Broken
	if side == catalogue.Fixed {
		v = f.Fixed
	}
	m := Mutant{
		Name: name, Switches: v.Mutants, Strategy: v.Strategy, Env: f.Env, Cell: f.Strike, Load: f.Load,
		Strict: f.Demand != nil,
	}
	if f.MinusFive {
		m.Probe = negativeQuantity
	}
	if m.Expected = by; side == catalogue.Fixed {
		m.Expected, m.AbsorbedBy = "", by
	}
	return m
}

// fronts stand between the clients and right services, and each harms somebody.
var fronts = []Mutant{
	fronted("nothing broken, behind a front", stateless(func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		next.ServeHTTP(w, r)
	}), ""),
	fronted("each cancellation answered 503", refusing(func(r *http.Request) bool {
		return strings.HasSuffix(r.URL.Path, "/cancel")
	}), verify.Served),
	fronted("each repeat answered 503", refusingRepeats, verify.Served),
	fronted("six of ten orders overloaded", every(6, 10, places, refuse), verify.Served),
	fronted("half of the answers thrown away", every(1, 2, places, losing), verify.Served),

	fronted("pages skip the first order", changing("/v1/orders", withoutFirstOrder), verify.AnswersTrue),
	fronted("an order reads CONFIRMED after its cancellation", changing("/v1/orders/", neverCancelled),
		verify.AnswersOverTime),
	fronted("flows without restore rows", changing("/v1/flows", without("flows", "kind", "restore")),
		verify.AnswersOverTime),
	fronted("levels as they were first read", remembering, verify.AnswersTrue),

	fronted("keys compared without their case", keyed(strings.ToLower), verify.AnswerWellFormed),
	fronted("keys cut to 64 characters", keyed(func(key string) string { return key[:min(64, len(key))] }),
		verify.Unexplained),
	fronted("a restock repeated under its flag adds again", restockingAgain, verify.Unexplained),
	fronted("calls without a token let in", letIn, verify.AnswerWellFormed),
}

func fronted(name string, f func(fire.Target) front, expected string) Mutant {
	m := Mutant{Name: name, Strategy: "grouped", Front: f, Load: traffic, Expected: expected}
	if expected == "" {
		m.AbsorbedBy = Control
	}
	return m
}
