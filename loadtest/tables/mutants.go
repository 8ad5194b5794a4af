package tables

import (
	"cmp"
	"slices"
	"time"

	"orderstock/loadtest/faultpoint"
	"orderstock/loadtest/fire"
	"orderstock/loadtest/history"
	"orderstock/loadtest/trial"
	"orderstock/loadtest/verify"
)

// caught and absorbed are what is expected of a mutant: that it violates a requirement, or that a layer makes up for
// it.
func caught(by string) trial.Expect   { return trial.Expect{Broken: by} }
func absorbed(by string) trial.Expect { return trial.Expect{Absorbed: by} }

// under returns a mutant that runs under the fault of a cell of the matrix, by default with the load light and the
// strategy sequential.
func under(cell string, e trial.Experiment) trial.Experiment {
	c, _ := FindCell(cell) // TestTable looks for it
	e.Acts, e.Tries = c.Acts, tries
	if e.Load.Orders == 0 {
		e.Load = light
	}
	e.Services = ready(e.Services, nil)
	return Cell(e)
}

// strictly is under, and also demands that no order is given up, with more time until orders are.
func strictly(cell string, e trial.Experiment) trial.Experiment {
	e.Services.Env = with(map[string]string{"CANCEL_AFTER": "15s"}, e.Services.Env)
	e = under(cell, e)
	e.Checks = append(e.Checks, trial.NotGivenUp)
	return e
}

// lasting replaces the outage after a lost reply.
func lasting(outage time.Duration, e trial.Experiment) trial.Experiment {
	e.Acts = slices.Clone(e.Acts)
	e.Acts[0].Outage = outage
	return e
}

// calm returns a mutant that runs without a fault, by default with the load little.
func calm(e trial.Experiment) trial.Experiment {
	e.Services, e.Tries, e.Settle = ready(e.Services, atOnce), tries, 2*time.Second
	if e.Load.Orders == 0 {
		e.Load = little
	}
	e.Load.Timeout, e.Load.Patience = 8*time.Second, 3*time.Second
	if e.Load.Mix.Several > 0 {
		e.Checks = append(e.Checks, trial.Locked)
	}
	return e
}

// patched returns a mutant of one patch that runs without a fault.
func patched(name, patch string, load fire.Config, by string) trial.Experiment {
	return calm(trial.Experiment{Name: name, Services: trial.Services{Mutants: patch}, Load: load, Expect: caught(by)})
}

// asked returns a mutant of one patch that only a drawn call meets: a run that is long enough to draw each kind.
func asked(name, patch, by string) trial.Experiment {
	return calm(trial.Experiment{
		Name: name, Services: trial.Services{Mutants: patch, Strategy: "grouped"}, Load: long, Expect: caught(by),
	})
}

// ready completes services: fresh ones, that deduct one after the other.
func ready(s trial.Services, env map[string]string) trial.Services {
	s.Strategy, s.Fresh = cmp.Or(s.Strategy, "sequential"), true
	s.Env = with(Env, env, s.Env)
	return s
}

// atOnce are the settings of a run in calm, where every call must get its end at once, on a busy machine, too.
var atOnce = map[string]string{
	"LOCK_TIMEOUT": "3s", "STOCK_TIMEOUT": "4s", "CONFIRM_BUDGET": "5s", "PENDING_LIMIT": "5s", "CANCEL_AFTER": "15s",
}

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

// Mutants returns the mutants, in the order of their runs.
func Mutants() (all []trial.Experiment) {
	for _, part := range []struct {
		group string
		of    []trial.Experiment
	}{{"mutant", mutants}, {"drawn", drawn}, {"layer", layers}} {
		for _, e := range part.of {
			e.Group = part.group
			all = append(all, e)
		}
	}
	return all
}

// mutants are the broken variants that orders of customers meet.
var mutants = []trial.Experiment{
	strictly(duplicated, trial.Experiment{
		Name: "nothing broken, requests duplicated", Load: slow, Expect: absorbed(trial.Control),
	}),
	strictly(flagInHand, trial.Experiment{
		Name: "nothing broken, killed with the flag in hand", Load: slow, Expect: absorbed(trial.Control),
	}),
	strictly(redisFlushed, trial.Experiment{
		Name: "nothing broken, Redis flushed", Load: slow, Expect: absorbed(trial.Control),
	}),
	lasting(longOutage, strictly(createLost, trial.Experiment{
		Name: "nothing broken, create reply lost", Services: trial.Services{Env: longSession}, Load: slow,
		Expect: absorbed(trial.Control),
	})),
	under(paused, trial.Experiment{
		Name: "nothing broken, holder paused", Expect: absorbed(trial.Control),
	}),

	calm(trial.Experiment{
		Name: "nothing broken, baskets", Services: trial.Services{Strategy: "grouped", Env: patient}, Load: baskets,
		Expect: absorbed(trial.Control),
	}),
	calm(trial.Experiment{
		Name:     "the locks of the first partition only",
		Services: trial.Services{Mutants: "first-lock-only", Strategy: "grouped"}, Load: baskets,
		Expect: caught(trial.Locked.Name),
	}),
	calm(trial.Experiment{
		Name:     "locks taken in the order of the basket",
		Services: trial.Services{Mutants: "locks-in-basket-order", Strategy: "grouped", Env: betweenLocks},
		Load:     baskets, Expect: caught(trial.Locked.Name),
	}),

	under(quiet, trial.Experiment{
		Name: "no lock, read-modify-write", Load: dense, Expect: caught(verify.StockBalances),
		Services: trial.Services{Strategy: "unsafe", Env: meeting},
	}),
	under(duplicated, trial.Experiment{
		Name: "both unique keys dropped", Services: trial.Services{Env: shortGap, Schema: noUniqueKeys},
		Expect: caught(verify.DeductedOnce),
	}),
	published("released before the commit, read-modify-write", "A", Broken, verify.StockBalances),
	published("an item's error swallowed", "B", Broken, verify.StockBalances),
	under("commit/before/error", trial.Experiment{
		Name: "a statement outside the transaction", Services: trial.Services{Mutants: "flow-outside"},
		Expect: caught(verify.OperationComplete),
	}),
	published("flag absent = repeat", "C", Broken, trial.NotGivenUp.Name),
	strictly(redisFlushed, trial.Experiment{
		Name:     "Redis as the only dedupe, flushed",
		Services: trial.Services{Mutants: "absent-is-repeat", Env: flagsUntaken},
		Expect:   caught(trial.NotGivenUp.Name),
	}),
	under("commit/after/error", trial.Experiment{
		Name: "commit error = failed", Services: trial.Services{Mutants: "unknown-is-failed,error-is-failed"},
		Expect: caught(verify.OrderMatchesOperation),
	}),
	published("a repeat gets no outcome", "D", Broken, verify.OrderMatchesOperation),
	published("timeout = failed", "E", Broken, verify.OrderMatchesOperation),
	under(quiet, trial.Experiment{
		Name: "read before the lock, absolute write", Load: dense, Expect: caught(verify.StockBalances),
		Services: trial.Services{Mutants: "read-before-lock", Env: meetingAt(faultpoint.AcquireLock)},
	}),
	published("no reconciler", "F", Broken, verify.Settled),
	lasting(longOutage, strictly(createLost, trial.Experiment{
		Name:     "the client library's lock, create reply lost",
		Services: trial.Services{Strategy: "zk-lock", Env: longSession}, Expect: caught(trial.NotGivenUp.Name),
	})),
	published("quantities of zero and less accepted", "Q", Broken, verify.OrderAsRequested),
	patched("a repeat makes a second order without a key", "order-again", traffic, verify.Unexplained),
	patched("a cancellation books a restock as well", "restock-on-cancel", traffic, verify.Unexplained),
	patched(
		"a cancellation answered 200 CONFIRMED, and nothing cancelled", "cancel-nothing", traffic, verify.AnswerWellFormed,
	),
	patched("sold orders answered 503 unavailable", "sold-unavailable", traffic, verify.AnswersTrue),
	patched("answers name another product", "other-items", traffic, verify.AnswersTrue),
	calm(trial.Experiment{
		Name:     "neighbours in a group get each other's items",
		Services: trial.Services{Mutants: "neighbours-items", Strategy: "grouped", Env: lateCommits},
		Load:     deductions, Expect: caught(verify.OrderAsRequested),
	}),
	under("insert-order/after/kill", trial.Experiment{
		Name:     "the reconciler gives up what it meets",
		Services: trial.Services{Mutants: "expires-early", Env: longLived}, Expect: caught(verify.ExpiredOnlyWhenDue),
	}),
	calm(trial.Experiment{
		Name:     "orders given up before they are tried",
		Services: trial.Services{Mutants: "expires-at-once", Env: longLived}, Load: traffic,
		Expect: caught(verify.ExpiredOnlyWhenDue),
	}),
	patched("a shortage reported as a cancellation by the client", "reason-of-client", traffic, verify.AnswersTrue),
	patched("answers send the client to another order", "other-location", traffic, verify.AnswersTrue),
	patched("a rejection names a product that was there", "names-the-last", popular, verify.RejectedOnlyWhenShort),
	calm(trial.Experiment{
		Name:     "nothing broken, prices kept for 100 ms",
		Services: trial.Services{Strategy: "grouped", Env: briefPrices}, Load: repriced,
		Expect: absorbed(trial.Control),
	}),
	calm(trial.Experiment{
		Name:     "the first price kept for ever",
		Services: trial.Services{Mutants: "first-price", Strategy: "grouped", Env: briefPrices}, Load: repriced,
		Expect: caught(verify.PriceInForce),
	}),
	calm(trial.Experiment{
		Name:     "an order answered at the price of its confirmation",
		Services: trial.Services{Mutants: "price-at-end", Strategy: "grouped", Env: longPrices}, Load: repriced,
		Expect: caught(verify.AnswersTrue),
	}),
	calm(trial.Experiment{
		Name: "nothing broken, a lock for each product", Load: fewBaskets, Expect: absorbed(trial.Control),
	}),
	calm(trial.Experiment{
		Name: "one lock for all products", Services: trial.Services{Mutants: "one-lock"}, Load: fewBaskets,
		Expect: absorbed("the queue for it, which costs time alone"),
	}),
	patched("a lock that each process has for itself", "own-lock", fewBaskets, trial.Locked.Name),
	patched("a token that somebody made up", "made-up-token", fewBaskets, trial.Locked.Name),
	patched("a cancellation gives one product of a basket back", "restore-one", traffic, verify.OperationComplete),
	calm(trial.Experiment{
		Name: "of a large group, 128 products deducted",
		Services: trial.Services{
			Mutants: "first-128", Strategy: "grouped", Env: with(lateCommits, map[string]string{"STOCK_PARTITIONS": "1"}),
		},
		Load: broad, Expect: caught(verify.StockBalances),
	}),
	patched("two restocks at once under one flag add twice", "restock-twice", traffic, verify.StockBalances),
	patched("a product's name without its umlaut", "name-letters", traffic, verify.Unexplained),
	patched("pages that name no next one", "no-next", traffic, verify.AnswersTrue),
	patched("pages that show the keys of all clients", "list-keys", traffic, verify.AnswerWellFormed),
	patched("a repeat with the time of the last change", "repeat-updated", traffic, verify.AnswerWellFormed),
	patched("a body that names its character set refused", "charset-refused", traffic, verify.AnswerWellFormed),
	patched("no request id where the call has none", "no-request-id", traffic, verify.AnswerWellFormed),
}

// drawn are the mutants that no order of a customer meets: an odd call must.
var drawn = []trial.Experiment{
	calm(trial.Experiment{
		Name: "nothing broken, a long run", Services: trial.Services{Strategy: "grouped"}, Load: long,
		Expect: absorbed(trial.Control),
	}),
	asked("only the first number of a basket checked", "first-number", verify.AnswerWellFormed),
	asked("a repeated cancellation gives the pieces back again", "restores-again", verify.StockBalances),
	asked("an order read from a cache", "order-cached", verify.AnswersOverTime),
	asked("deductions in one request need no token", "batch-unguarded", verify.AnswerWellFormed),
	asked("a used key with a subset of the lines taken for a repeat", "subset-is-repeat", verify.AnswerWellFormed),
	asked("keys compared without their punctuation", "key-punctuation", verify.AnswerWellFormed),
	asked("the status of a page ignored", "status-ignored", verify.AnswersTrue),
	asked("a page with follow has the newest orders, too", "follow-ignored", verify.AnswersTrue),
	asked("of two restocks at once, one lost", "restock-lost", verify.StockBalances),
	asked("a price that cannot fall", "price-never-falls", verify.Unexplained),
	asked("totals in 32-bit floats", "total-float", verify.OrderAsRequested),
	asked("pages of 20 orders where the contract says 50", "short-pages", verify.AnswersTrue),
	asked("a part of the request id in a problem", "problem-id", verify.AnswerWellFormed),
	asked("HEAD refused", "no-head", verify.AnswerWellFormed),
	calm(trial.Experiment{
		Name: "refusals that do not say when to try again",
		Services: trial.Services{
			Mutants: "no-retry-after", Strategy: "grouped", Env: map[string]string{"MAX_IN_FLIGHT": "15"},
		},
		Load:   fire.Config{Orders: 200, Concurrency: 60, Disturbed: true, Mix: repeated},
		Expect: caught(verify.AnswerWellFormed),
	}),
}

// The loads are lighter than the fault matrix's: most mutants break the strategies that take a ZooKeeper lock for each
// deduction.
var (
	light = fire.Config{Orders: 150, Rate: 50, Concurrency: 48, Mix: fire.Mix{Cancel: 0.15}}
	// uncancelled has no cancellations. They return stock without the lock, by a relative update, which a concurrent
	// absolute write would overwrite. It has no restock in its middle, either, for the same reason.
	uncancelled = fire.Config{Orders: 150, Rate: 50, Concurrency: 48, Plain: true}
	// dense is orders for one product, of three times the pieces that it has, which meet between the read of its level
	// and the write. It is plain, as is uncancelled.
	dense = fire.Config{
		Orders: 200, Rate: 100, Concurrency: 64, Plain: true, Mix: fire.Mix{Goods: 1, ItemsMax: 1},
	}
	// slow is light enough that no order is given up on a busy machine, and that the orders behind a paused holder are
	// done before the holder wakes up.
	slow = fire.Config{Orders: 60, Rate: 30, Concurrency: 48}

	little = fire.Config{Orders: 200, Concurrency: 20, Mix: fire.Mix{Goods: 3, Stock: 80, Repeat: 0.1, Seed: 1}}
	// traffic has repeats and cancellations, and deductions is the same with deductions alone.
	traffic    = fire.Config{Orders: 200, Concurrency: 20, Mix: repeated}
	long       = fire.Config{Orders: 2000, Concurrency: 40, Mix: fire.Mix{Goods: 3, Stock: 1500, Repeat: 0.1, Cancel: 0.1}}
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
	// broad is baskets of so many products that a group has more than one statement lowers.
	broad = fire.Config{Orders: 100, Concurrency: 20, Mix: fire.Mix{Goods: 300, Stock: 3000, ItemsMax: 100, Seed: 1}}
	// baskets is orders of several products, at replicas that take turns.
	baskets = fire.Config{
		Orders: 600, Concurrency: 60, Mix: fire.Mix{Goods: 6, Stock: 2000, ItemsMax: 3, Several: 1, Cancel: 0.1, Seed: 1},
	}
)

var (
	// In shortGap, each deduction works for a while before it writes a level, so that others queue behind it.
	shortGap = slowly(faultpoint.UpdateStock, faultpoint.Before, 50*time.Millisecond)
	// In flagsUntaken, a flag lies in Redis for a while before it is taken, so that a flush meets some.
	flagsUntaken = slowly(faultpoint.SetFlag, faultpoint.After, 200*time.Millisecond)
	// In betweenLocks, a process with one lock stands still before it asks for the next, so that others take that.
	betweenLocks = slowly(faultpoint.NextLock, faultpoint.Before, 50*time.Millisecond)
	// In lateCommits, a group stands still before its commit, so that the next one is large.
	lateCommits = slowly(faultpoint.Commit, faultpoint.Before, 20*time.Millisecond)
)

// longOutage is longer than the client library's reconnect delay of one second. If the reconnect fails, the library
// fails the calls that wait for a connection, among them the search for a node whose create was not answered. The
// session, and its node, survive longOutage.
const longOutage = 2500 * time.Millisecond

// patient lets a group wait for its locks on a busy machine, where a holder may stand still for a while.
var patient = map[string]string{"LOCK_PATIENCE": "500ms"}

// longLived leaves no order time to expire.
var longLived = map[string]string{"CANCEL_AFTER": "5m"}

// briefPrices lets a price be used for a short time.
var briefPrices = map[string]string{"PRICE_TTL": "100ms"}

// longPrices lets a price be used for longer than a run.
var longPrices = map[string]string{"PRICE_TTL": "30s"}

var longSession = map[string]string{"ZOOKEEPER_SESSION_TIMEOUT": "30s"}

// layers removes each layer of safety alone, and then the pairs that must be caught.
var layers = []trial.Experiment{
	under(quiet, trial.Experiment{
		Name: "without the lock", Services: trial.Services{Strategy: "conditional-update"},
		Expect: absorbed("the condition of the update"),
	}),
	under(quiet, trial.Experiment{
		Name: "without the condition", Services: trial.Services{Mutants: "no-condition"}, Load: dense,
		Expect: caught(verify.StockBalances),
	}),
	under(quiet, trial.Experiment{
		Name:     "without the lock and the condition",
		Services: trial.Services{Mutants: "no-condition", Strategy: "conditional-update"}, Load: dense,
		Expect: caught(verify.StockBalances),
	}),
	under(duplicated, trial.Experiment{
		Name: "without the unique key of operations", Services: trial.Services{Env: shortGap, Schema: noOperationKey},
		Expect: caught(verify.DeductedOnce),
	}),
	under(duplicated, trial.Experiment{
		Name: "without the unique key of the flow", Services: trial.Services{Schema: noFlowKey},
		Expect: absorbed("the unique key of operations"),
	}),
	under(duplicated, trial.Experiment{
		Name: "without both unique keys", Services: trial.Services{Env: shortGap, Schema: noUniqueKeys},
		Expect: caught(verify.DeductedOnce),
	}),
	under(redisDown, trial.Experiment{
		Name: "without Redis", Expect: absorbed("the look-up in MySQL and the unique key"),
	}),
	under(redisDown+"+requests-duplicated", trial.Experiment{
		Name: "without Redis and the unique keys", Services: trial.Services{Env: shortGap, Schema: noUniqueKeys},
		Expect: caught(verify.DeductedOnce),
	}),
	under("commit/after/error", trial.Experiment{
		Name: "without the second look after a commit error", Services: trial.Services{Mutants: "unknown-is-failed"},
		Expect: absorbed("the confirmation, which believes the ledger alone"),
	}),
	under(paused, trial.Experiment{
		Name: "without fencing", Services: trial.Services{Mutants: "no-fencing,loss-unnoticed"},
		Expect: absorbed("the condition and the row lock of a relative update"),
	}),
	under(quiet, trial.Experiment{
		Name: "absolute write instead of the relative one", Services: trial.Services{Mutants: "read-modify-write"},
		Load: uncancelled, Expect: absorbed("the lock"),
	}),
	under(quiet, trial.Experiment{
		Name:     "released before the commit, absolute write, fenced",
		Services: trial.Services{Mutants: "release-early,read-modify-write"}, Load: uncancelled,
		Expect: absorbed("the fencing token, which turns the earlier holder away"),
	}),
	published("absolute write under lock, fenced", "O", Fixed,
		"the fencing token, which turns the paused holder away"),
	published("absolute write under lock, without fencing", "O", Broken, verify.StockBalances),
}

// published returns the row of one side of a published fault, which published.go describes. by is what catches or
// absorbs it.
func published(name, letter string, side Side, by string) trial.Experiment {
	f, err := Find(letter)
	if err != nil {
		panic(err)
	}
	v, expect := f.variant(side), caught(by)
	if side == Fixed {
		expect = absorbed(by)
	}
	e := trial.Experiment{
		Name: name, Services: trial.Services{Mutants: v.Mutants, Strategy: v.Strategy, Env: f.Env}, Load: f.Load,
		Expect: expect,
	}
	switch {
	case f.Strike == "":
		e.Checks = f.Checks
		return calm(e)
	case f.Checks != nil: // that nothing is given up
		return strictly(f.Strike, e)
	}
	e = under(f.Strike, e)
	e.Acts = f.Acts()
	e.Load.Mix.Repeat = f.Load.Mix.Repeat // a repeat would be deducted in a sleeper's place
	return e
}
