package tables

import (
	"time"

	"orderstock/loadtest/faultpoint"
	"orderstock/loadtest/fire"
	"orderstock/loadtest/history"
)

// crowd is the scene of the first fault: 800 buyers want 300 tickets, so many at a time that each gets its turn on a
// slow machine, too. It is plain, since the lock keeps no restock from a level that is written absolutely.
var crowd = fire.Config{
	Orders: 800, Concurrency: 64, Rate: 400, Timeout: time.Minute, Disturbed: true, Plain: true,
	Mix: fire.Mix{Goods: 1, Stock: 300, ItemsMax: 1, NumMax: 3},
}

// basket is orders of up to three products that sell out one after another.
var basket = fire.Config{
	Orders: 300, Concurrency: 64, Rate: 120,
	Mix: fire.Mix{Goods: 4, Stock: 120, ItemsMax: 3, NumMax: 3},
}

// plenty has enough stock for every order, so that each refusal is a fault.
var plenty = fire.Config{
	Orders: 200, Concurrency: 64, Rate: 80,
	Mix: fire.Mix{Goods: 4, Stock: 5000, ItemsMax: 2, NumMax: 2},
}

// scattered is orders that seldom meet at a lock, so that the round trips of each count, and not the queue's.
var scattered = fire.Config{
	Orders: 48, Concurrency: 16, Rate: 40, Plain: true, Mix: fire.Mix{Goods: 100, Stock: 1000, ItemsMax: 1, NumMax: 1},
}

// cutOff is plenty by clients who soon stop waiting for an answer of a dead process.
var cutOff = fire.Config{Orders: 200, Concurrency: 64, Rate: 80, Timeout: 4 * time.Second, Mix: plenty.Mix}

// firstComers rush at new products, whose locks do not exist yet. They call the stock service directly: an order
// service would repeat a failed deduction, and nobody would see the failure.
var firstComers = fire.Config{
	Path: history.PathDeduct, Orders: 300, Concurrency: 96,
	Mix: fire.Mix{Goods: 30, Stock: 100, ItemsMax: 1, NumMax: 1},
}

// lockCrowd is a crowd for one product that contends for its lock. It is plain: a restock in its middle would wait for
// the lock, too.
var lockCrowd = fire.Config{
	Orders: 300, Concurrency: 96, Rate: 150, Timeout: time.Minute, Disturbed: true, Plain: true,
	Mix: fire.Mix{Goods: 1, Stock: 60, ItemsMax: 1, NumMax: 2},
}

// shortCrowd is a short lockCrowd, for a queue that stops for good.
var shortCrowd = fire.Config{
	Orders: 120, Concurrency: 96, Rate: 150, Disturbed: true, Plain: true, Mix: lockCrowd.Mix,
}

// latecomers come all at once to the lock of one product. They are few: each gets its turn before it gives up, also on
// a busy machine.
var latecomers = fire.Config{
	Orders: 12, Concurrency: 12, Disturbed: true, Plain: true,
	Mix: fire.Mix{Goods: 1, Stock: 15, ItemsMax: 1, NumMax: 2},
}

// sleeper is a slow sale of one product: others buy while a holder sleeps. The calls go to the stock service directly:
// an order service would soon send the sleeper's deduction to the other replica, and what is deducted there makes the
// sleeper's own end without effect. It is plain, since the lock keeps no restock from a level that is written
// absolutely.
var sleeper = fire.Config{
	Path: history.PathDeduct, Orders: 150, Concurrency: 150, Rate: 30, Timeout: 30 * time.Second,
	Disturbed: true, Plain: true,
	Mix: fire.Mix{Goods: 1, Stock: 400, ItemsMax: 1, NumMax: 3},
}

// lateSleeper is a sleeper's sale that comes faster than holders work, so that there is another holder, and a queue
// behind it, when the sleeper's session ends.
var lateSleeper = fire.Config{
	Path: history.PathDeduct, Orders: 100, Concurrency: 100, Rate: 35, Timeout: 30 * time.Second,
	Disturbed: true, Plain: true,
	Mix: fire.Mix{Goods: 1, Stock: 400, ItemsMax: 1, NumMax: 3},
}

// When a sleeper wakes up, another holder has committed, or is standing between the read of a level and its write until
// the sleeper has released the lock and the next one has sold.
var (
	committed = []faultpoint.Rule{{Step: faultpoint.Commit, When: faultpoint.After, Action: faultpoint.Delay}}
	standing  = []faultpoint.Rule{{
		Step: faultpoint.UpdateStock, When: faultpoint.Before, Action: faultpoint.Hold, DelayMS: 20_000,
	}}
)

// In unhurried, timeouts are longer than the queue for the lock, so that an order is lost by the fault and not by a
// timeout.
var unhurried = map[string]string{
	"LOCK_TIMEOUT": "8s", "STOCK_TIMEOUT": "9s", "REQUEST_TIMEOUT": "9s",
	"CONFIRM_BUDGET": "14s", "PENDING_LIMIT": "14s", "CANCEL_AFTER": "30s",
	"ZOOKEEPER_SESSION_TIMEOUT": "4s", faultpoint.IdleEnv: "60",
}

// In queued, timeouts are longer than the queue on a slow machine: a sale ends when its orders have, or has sold all.
var queued = with(unhurried, map[string]string{
	"LOCK_TIMEOUT": "30s", "STOCK_TIMEOUT": "31s", "REQUEST_TIMEOUT": "31s",
	"CONFIRM_BUDGET": "48s", "PENDING_LIMIT": "48s", "CANCEL_AFTER": "2m",
})

// In outslept, a pause is longer than the session, and shorter than every timeout. Otherwise the deadline of the
// request rejects the paused holder's write before the fencing token can.
var outslept = with(unhurried, map[string]string{"LOCK_TIMEOUT": "25s", "REQUEST_TIMEOUT": "30s"})

// In hanging, who waits for ever does so for a few seconds. Each deduction works for a while, so that others wait.
var hanging = with(unhurried, slowly(faultpoint.UpdateStock, faultpoint.Before, 50*time.Millisecond), map[string]string{
	"LOCK_TIMEOUT": "4s", "CONFIRM_BUDGET": "8s", "PENDING_LIMIT": "8s", "CANCEL_AFTER": "12s",
})

// In late, a call to the stock service is one try of two thirds of CONFIRM_BUDGET, so that nobody has asked again when
// its work is done after all. Those who wait for its lock get it in time.
var late = with(unhurried, map[string]string{"CONFIRM_BUDGET": "3s", "PENDING_LIMIT": "5s", "CANCEL_AFTER": "15s"})

// In meeting, each deduction stands still between the read of a level and its write until the next one of the process
// has come as far. Under a lock, none comes.
var meeting = meetingAt(faultpoint.UpdateStock)

// meetingAt holds each deduction before a step until the next one of the process has come as far.
func meetingAt(step faultpoint.Step) map[string]string {
	return faultpoint.Always(faultpoint.Rule{Step: step, When: faultpoint.Before, Action: faultpoint.Meet})
}

// slowly delays each deduction at a point.
func slowly(step faultpoint.Step, when faultpoint.When, delay time.Duration) map[string]string {
	return faultpoint.Always(faultpoint.Rule{
		Step: step, When: when, Action: faultpoint.Delay, DelayMS: int(delay.Milliseconds()),
	})
}

// In impatient, some of those who wait for the lock soon give up, and the reconciler takes their orders.
var impatient = with(queued, map[string]string{
	faultpoint.ImpatienceEnv: "250ms", "CONFIRM_BUDGET": "10s", "PENDING_LIMIT": "10s",
})

// In outwaited, the first holder works until somebody has given up. An order that hangs is not given up before the run
// is judged.
var outwaited = with(impatient, faultpoint.Always(faultpoint.Rule{
	Step: faultpoint.UpdateStock, When: faultpoint.Before, Action: faultpoint.Until,
	Other: faultpoint.Point(faultpoint.GiveUp, faultpoint.After),
}), map[string]string{
	"LOCK_TIMEOUT": "1500ms", "STOCK_TIMEOUT": "3s", "REQUEST_TIMEOUT": "3s",
	"CONFIRM_BUDGET": "4s", "PENDING_LIMIT": "5s",
})

// gap makes each deduction work for a while between the read of a level and its write.
var gap = slowly(faultpoint.UpdateStock, faultpoint.Before, 100*time.Millisecond)
