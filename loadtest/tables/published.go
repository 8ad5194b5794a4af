package tables

import (
	"time"

	"orderstock/loadtest/fire"
	"orderstock/loadtest/lanes"
	"orderstock/loadtest/report"
	"orderstock/loadtest/system"
	"orderstock/loadtest/trial"
)

// stillOff describes a fixed variant whose fault does no harm alone.
const stillOff = "the fault alone is gone; the update's condition and the fencing token are still off"

// sound describes a fixed variant with the lock of the case study.
const sound = "the lock of the case study, without this fault"

// Published lists the faults by letter.
var Published = []Fault{
	{
		Letter: "A", Title: "The lock is released before the commit",
		Says: "The lock is given back while the transaction is still open. " +
			"The next buyer reads the old level: two buyers read 7 left, and both write 6.",
		Idea: `
lock(goods)
begin; n = read level
unlock(goods)          // in a finally, too early
write level = n - 1
commit                 // the next holder has read n, too`,
		Fix: "The lock is released after the commit has returned. A holder whose token is lower than the row's is refused.",
		Tests: []Link{
			{"TestFaultALockOutlivesCommit", "stock-service/deduct/faults_test.go"},
		},
		Source: Link{"release-early", "loadtest/system/patches/release-early.patch"},
		Scene:  lanes.TwoReaders,
		Load:   crowd,
		Env:    with(queued, meeting),
		Broken: Variant{Mutants: "release-early,read-modify-write,no-fencing", Strategy: "sequential"},
		Fixed:  Variant{Mutants: "read-modify-write,no-fencing", Strategy: "sequential", Says: stillOff},
	},
	{
		Letter: "B", Title: "An error is caught inside the transaction",
		Says: "The third product of an order is sold out, the error is caught, and the transaction commits. " +
			"The first two products are gone, and the order is refused.",
		Idea: `
begin
for each item:
  try: level -= num; write ledger
  catch: result = failed   // nothing rolls back
commit`,
		Fix: "Each error ends the transaction, so an order is deducted whole or not at all.",
		Tests: []Link{
			{"TestFaultBErrorRollsBack", "stock-service/deduct/faults_test.go"},
		},
		Source: Link{"swallow-item-error", "loadtest/system/patches/swallow-item-error.patch"},
		Scene:  lanes.Basket,
		Load:   basket,
		Env:    unhurried,
		Broken: Variant{Mutants: "swallow-item-error", Strategy: "sequential"},
		Fixed:  Variant{Strategy: "sequential"},
		Went:   Ends.lost,
	},
	{
		Letter: "C", Title: "The flag is deleted, then the process dies",
		Says: "The flag in Redis is gone, and the transaction never committed. " +
			"Every retry gets \"repeat\", and the order can never be deducted.",
		Idea: `
if redis.del(flag) == 0:
  return repeat          // believed without a look at the ledger
☠ the process dies here
begin; deduct; commit`,
		Fix: "Redis is a hint. A flag that is absent means: look into the ledger.",
		Tests: []Link{
			{"TestFaultCFlagTakenThenDied", "stock-service/deduct/faults_test.go"},
		},
		Source: Link{"absent-is-repeat", "loadtest/system/patches/absent-is-repeat.patch"},
		Scene:  lanes.TakenFlag,
		Load:   plenty, Strike: "take-flag/after/kill", Checks: []trial.Check{trial.NotGivenUp},
		Env:    unhurried,
		Broken: Variant{Mutants: "absent-is-repeat", Strategy: "sequential"},
		Fixed:  Variant{Strategy: "sequential"},
		Went: func(e Ends) string {
			if e.GivenUp == 0 {
				return ""
			}
			return report.Many(e.GivenUp, "order") + " can never be deducted: each retry is taken for a repeat"
		},
	},
	{
		Letter: "D", Title: "A repeat is answered with nothing",
		Says: "The first answer gets lost, and the retry only learns that it is a repeat. " +
			"The caller cannot distinguish \"done\" from \"refused\" and guesses.",
		Idea: `
if seen(flag):
  return                 // no outcome
…
caller: empty answer → the order fails`,
		Fix: "A repeat gets the outcome that the first attempt wrote under the flag.",
		Tests: []Link{
			{"TestFaultDRepeatIsAnswered", "stock-service/deduct/faults_test.go"},
			{"TestFaultD_ARepeatGetsTheFirstAnswer", "order-service/internal/ordertest/place_test.go"},
		},
		Source: Link{"repeat-unanswered", "loadtest/system/patches/repeat-unanswered.patch"},
		Scene:  lanes.Repeat,
		Load:   plenty, Strike: "reply/before/error",
		Env:    unhurried,
		Broken: Variant{Mutants: "repeat-unanswered", Strategy: "sequential"},
		Fixed:  Variant{Strategy: "sequential"},
		Went:   Ends.lost,
	},
	{
		Letter: "E", Title: "A timeout counts as a failure",
		Says: "The stock service is slow, and the order gets \"failed\" while the deduction lands later. " +
			"The stock is gone, and nobody owns it.",
		Idea: `
answer = call(stock, timeout)
if answer == timeout:
  order.status = FAILED  // the deduction may still commit
  return false`,
		Fix: "A timeout leaves the order PENDING. The ledger decides, and a cancelled flag stops a late deduction.",
		Tests: []Link{
			{"TestFaultE_ALateDeductionIsNeverReportedAsFailed", "order-service/internal/ordertest/place_test.go"},
		},
		Source: Link{"error-is-failed", "loadtest/system/patches/error-is-failed.patch"},
		Scene:  lanes.LateCommit,
		Load:   plenty, Strike: "commit/before/delay",
		Env:    late,
		Broken: Variant{Mutants: "error-is-failed", Strategy: "sequential"},
		Fixed:  Variant{Strategy: "sequential"},
		Went:   Ends.lost,
	},
	{
		Letter: "F", Title: "Nothing settles an order after a crash",
		Says: "The process dies between two steps, and no one looks for the order afterwards. It hangs for ever.",
		Idea: `
insert order
☠ the process dies here
call stock
set status
// no reconciler`,
		Fix: "The order's state is in its row, and a reconciler brings every unfinished order to its end.",
		Tests: []Link{
			{"TestFaultF_EveryStuckOrderIsDrivenToItsEnd", "order-service/internal/ordertest/reconcile_test.go"},
		},
		Source: Link{"no-reconciler", "loadtest/system/patches/no-reconciler.patch"},
		Scene:  lanes.Orphan,
		Load:   cutOff, Strike: "insert-order/after/kill",
		Broken: Variant{Mutants: "no-reconciler", Strategy: "sequential", Settle: 4 * time.Second},
		Fixed:  Variant{Strategy: "sequential"},
		Went:   func(e Ends) string { return e.open("a process died, and nobody looks for its orders") },
	},
	{
		Letter: "G", Title: "A new ZooKeeper session for each lock",
		Says: "Each lock connects, and each release closes the session. " +
			"That is three more round trips and two synced writes for each order. Here a round trip of one of the two stock " +
			"services takes 0.4 s. The published code has fault H as well, and most of the difference is that queue.",
		Idea: `
deduct:
  zk = connect()         // a session for this call alone
  lock; work; unlock
  zk.close()`,
		Fix: "A process has one session, and its locks share it.",
		Tests: []Link{
			{"TestFaultGOneSessionForAllLocks", "stock-service/deduct/faults_test.go"},
		},
		Source: Link{"STOCK_STRATEGY=case-study", "stock-service/deduct/compared/case_study.go"},
		Scene:  lanes.Session,
		Load:   scattered,
		Env:    unhurried,
		Always: []trial.Action{{Action: "slow", Target: "stock-1", Wire: system.ToZooKeeper}},
		Broken: Variant{Strategy: "case-study", Says: "a session for each lock"},
		Fixed:  Variant{Strategy: "sequential", Says: "one session for the process"},
		Rate:   "orders per second",
	},
	{
		Letter: "H", Title: "One lock for all products",
		Says: "The lock is named after the method. " +
			"Orders for different products wait for each other, although they touch different rows.",
		Idea: `
lock("reduceStock")     // the name of the method
level(goods) -= num
unlock("reduceStock")`,
		Fix: "Each product has its own lock or, under the default strategy, all orders that wait share one acquisition.",
		Tests: []Link{
			{"TestFaultHGoodsDoNotWaitForEachOther", "stock-service/deduct/faults_test.go"},
		},
		Source: Link{"one-lock", "loadtest/system/patches/one-lock.patch"},
		Scene:  lanes.OneLock,
		Load:   fire.Config{Orders: 64, Concurrency: 64, Mix: fire.Mix{Goods: 64, Stock: 10_000, ItemsMax: 2, NumMax: 1}},
		Env:    with(gap, unhurried),
		Broken: Variant{Mutants: "one-lock", Strategy: "sequential", Says: "one lock for all products"},
		Fixed:  Variant{Strategy: "sequential", Says: "a lock for each product"},
		Rate:   "orders per second",
	},
	{
		Letter: "I", Title: "The parent node: first look, then create",
		Says: "Two newcomers look for the parent node and find none. Both create it; one of them crashes.",
		Idea: `
if !exists(parent):
  // another process creates it here
  create(parent)         // NodeExists: the order fails
create(parent + "/lock-")`,
		Fix: "Create the child. If the parent is missing, create it, and take \"exists\" for success.",
		Tests: []Link{
			{"TestFaultIParentMadeByAllAtOnce", "pkg/zklock/faults_test.go"},
			{"TestFaultIParentReaped", "pkg/zklock/faults_test.go"},
		},
		Source: Link{"published.Parent", "loadtest/tables/published/lock.go"},
		Scene:  lanes.Parent,
		Load:   firstComers, Checks: []trial.Check{firstAnswerEnds},
		Env:    unhurried,
		Broken: Variant{Mutants: "published-parent", Strategy: "sequential"},
		Fixed:  Variant{Mutants: "published-lock", Strategy: "sequential", Says: sound},
		Went: func(e Ends) string {
			if e.Unserved == 0 {
				return ""
			}
			return report.English.Sprintf("%s of %d failed: another process had just created the parent node",
				report.Many(e.Unserved, "order"), e.Orders)
		},
	},
	{
		Letter: "J", Title: "The waiter looks, then starts to listen",
		Says: "The predecessor goes away between the look and the start of listening. " +
			"Nobody wakes the waiter.",
		Idea: `
there = exists(predecessor, watch)
// the node is deleted here; the event finds no latch
latch = new Latch()
latch.await()            // for ever`,
		Fix: "The watch is set by the read that finds the predecessor.",
		Tests: []Link{
			{"TestFaultJPredecessorGoneBeforeTheWatch", "pkg/zklock/faults_test.go"},
		},
		Source: Link{"published.Latch", "loadtest/tables/published/lock.go"},
		Scene:  lanes.Unheard,
		Load:   latecomers, Checks: []trial.Check{firstAnswerEnds},
		Env:    hanging,
		Broken: Variant{Mutants: "published-latch", Strategy: "sequential"},
		Fixed:  Variant{Mutants: "published-lock", Strategy: "sequential", Says: sound},
		Went: func(e Ends) string {
			if e.Unserved == 0 {
				return ""
			}
			return report.English.Sprintf("%s of %d had no outcome in time: a wake-up was missed, and the queue stood still",
				report.Many(e.Unserved, "order"), e.Orders)
		},
	},
	{
		Letter: "K", Title: "A vanished predecessor counts as one's turn",
		Says: "The predecessor was a waiter that gave up, not the holder. " +
			"The next in line takes the lock without a second look: two hold it.",
		Idea: `
await deleted(predecessor)
// it gave up; the holder still works
return locked            // without reading the queue again`,
		Fix: "A waiter that wakes up reads the queue again before it takes the lock.",
		Tests: []Link{
			{"TestFaultK", "pkg/herd/herd_test.go"},
			{"TestFaultKPredecessorWasAWaiter", "pkg/zklock/faults_test.go"},
		},
		Source: Link{"published.NoSecondLook", "loadtest/tables/published/lock.go"},
		Scene:  lanes.Vanished,
		Load:   lockCrowd,
		Env:    with(impatient, meeting),
		Broken: Variant{Mutants: "published-no-second-look,read-modify-write,no-fencing", Strategy: "sequential"},
		Fixed: Variant{
			Mutants: "published-lock,read-modify-write,no-fencing", Strategy: "sequential", Says: stillOff,
		},
	},
	{
		Letter: "L", Title: "A waiter that gives up leaves its node behind",
		Says: "The wait times out, and the node stays in the queue. " +
			"Everybody behind it waits for a node that nobody serves.",
		Idea: `
node = create("lock-", sequential)
if !await(predecessor, timeout):
  return false           // the node is still there`,
		Fix: "A waiter that gives up deletes its node.",
		Tests: []Link{
			{"TestFaultL", "pkg/herd/herd_test.go"},
			{"TestFaultLTimedOutWaiterLeavesNoNode", "pkg/zklock/faults_test.go"},
		},
		Source: Link{"published.LeftBehind", "loadtest/tables/published/lock.go"},
		Scene:  lanes.LeftBehind,
		Load:   shortCrowd,
		Env:    outwaited,
		Broken: Variant{Mutants: "published-left-behind", Strategy: "sequential", Settle: 4 * time.Second},
		Fixed:  Variant{Mutants: "published-lock", Strategy: "sequential", Says: sound},
		Went:   func(e Ends) string { return e.open("the queue waits for a node that nobody serves") },
	},
	{
		Letter: "M", Title: "Release deletes the first child",
		Says: "After a lost session the first child is somebody else's. " +
			"Release deletes the node of the one who holds the lock now.",
		Idea: `
release:
  first = min(children(parent))
  delete(first)          // not necessarily one's own`,
		Fix: "A release deletes the holder's own node and no other.",
		Tests: []Link{
			{"TestFaultM", "pkg/herd/herd_test.go"},
			{"TestFaultMReleaseDeletesItsOwnNode", "pkg/zklock/faults_test.go"},
		},
		Source: Link{"published.FirstChild", "loadtest/tables/published/lock.go"},
		Scene:  lanes.FirstChild,
		Load:   lateSleeper,
		Env:    with(gap, outslept),
		Strike: "release-lock/before/pause", OtherStocks: standing,
		Broken: Variant{Mutants: "published-first-child,read-modify-write,no-fencing", Strategy: "sequential"},
		Fixed: Variant{
			Mutants: "published-lock,read-modify-write,no-fencing", Strategy: "sequential", Says: stillOff,
		},
	},
	{
		Letter: "N", Title: "Nodes are sorted by a piece of their name",
		Says: "The name is split at \"-\", and a fixed piece is taken for the number. " +
			"A GUID holds dashes too: the order is wrong, and two hold the lock.",
		Idea: `
name = "_c_3f1a-77…-lock-0000000012"
number = name.split("-")[1]
sort(children, by number)  // by a piece of the GUID`,
		Fix: "The number is the ten digits at the end of the name.",
		Tests: []Link{
			{"TestFaultNDashesInTheGUID", "pkg/zklock/name_internal_test.go"},
			{"TestFaultNNumberStandsAtTheEnd", "pkg/zklock/name_internal_test.go"},
		},
		Source: Link{"published.SplitName", "loadtest/tables/published/lock.go"},
		Scene:  lanes.TwoReaders,
		Load:   lockCrowd,
		Env:    with(unhurried, meeting),
		Broken: Variant{Mutants: "published-split-name,read-modify-write,no-fencing", Strategy: "sequential"},
		Fixed: Variant{
			Mutants: "published-lock,read-modify-write,no-fencing", Strategy: "sequential", Says: stillOff,
		},
	},
	{
		Letter: "O", Title: "The holder does not notice that its session expired",
		Says: "The holder sleeps, and its session expires. When it wakes up it writes while the next holder does.",
		Idea: `
lock(goods); n = read level
⏸ a pause longer than the session
// another holder sells
write level = n - 1; commit   // nothing refuses it`,
		Fix: "The handle's context ends with the session, and the fencing token refuses a write that comes too late.",
		Tests: []Link{
			{"TestFaultOHolderIsToldOfExpiry", "pkg/zklock/faults_test.go"},
		},
		Source: Link{"no-fencing", "loadtest/system/patches/no-fencing.patch"},
		Scene:  lanes.Sleeper,
		Load:   sleeper,
		Env:    outslept,
		Strike: "update-stock/before/pause", OtherStocks: committed,
		Broken: Variant{Mutants: "read-modify-write,loss-unnoticed,no-fencing", Strategy: "sequential"},
		Fixed: Variant{
			Mutants: "read-modify-write,loss-unnoticed", Strategy: "sequential",
			Says: "the fencing token is compared; the holder notices as little, and the update's condition is still off",
		},
	},
	{
		Letter: "P", Title: "The request sleeps through the confirmation",
		Says: "The request waits 3, 5 and 10 seconds in its thread for the confirmation. " +
			"A few hundred slow orders use up the server, and everybody waits.",
		Idea: `
deduct(flag)
for pause in 3 s, 5 s, 10 s:
  sleep(pause)           // with the thread and its slot
  if flow(flag): return ok`,
		Fix: "A request waits within a budget, is answered 202, and the reconciler does the rest.",
		Tests: []Link{
			{"TestFaultP_SlowOrdersDoNotUseUpTheServer", "order-service/internal/ordertest/place_test.go"},
		},
		Source: Link{"sleeping-confirmation", "loadtest/system/patches/sleeping-confirmation.patch"},
		Scene:  lanes.Confirmation,
		Load:   fire.Config{Orders: 200, Concurrency: 64, Mix: fire.Mix{Goods: 1, Stock: 100_000, ItemsMax: 1, NumMax: 1}},
		Env:    unhurried,
		Broken: Variant{Mutants: "sleeping-confirmation", Says: "sleeps before it reads the ledger"},
		Fixed:  Variant{Says: "reads at once; the reconciler does the rest"},
		Rate:   "orders per second",
	},
	{
		Letter: "Q", Title: "Price and quantity are taken from the client unchecked",
		Says: "Nobody checks the quantity. An order for minus five tickets puts five tickets on the shelf.",
		Idea: `
POST {"goods_id": 4711, "num": -5}
UPDATE stock SET num = num - (-5)`,
		Fix: "Quantities are checked, and prices are the stock service's.",
		Tests: []Link{
			{"TestFaultQQuantityIsChecked", "stock-service/stockhttp/server_test.go"},
			{"TestFaultQ_BadInputChangesNothing", "order-service/internal/ordertest/badinput_test.go"},
		},
		Source: Link{"any-quantity", "loadtest/system/patches/any-quantity.patch"},
		Scene:  lanes.Negative,
		Load:   plenty, Checks: []trial.Check{minusFive},
		Broken: Variant{Mutants: "any-quantity", Strategy: "sequential"},
		Fixed:  Variant{Strategy: "sequential"},
		Went: func(e Ends) string {
			if e.Added == 0 {
				return ""
			}
			return report.English.Sprintf("%s with a negative quantity put %d pieces on the shelf",
				report.Many(e.Negative, "order"), e.Added)
		},
	},
}
