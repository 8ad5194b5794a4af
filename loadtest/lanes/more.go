package lanes

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"orderstock/loadtest/faultpoint"
	"orderstock/loadtest/report"
)

// first returns the first event that satisfies the condition; false if there is none.
func (r *Run) first(is func(e faultpoint.Event) bool) (faultpoint.Event, bool) {
	r.prepare()
	for _, e := range r.timeline {
		if is(e) {
			return e, true
		}
	}
	return faultpoint.Event{}, false
}

// Basket shows an order of several products. One of them is short: the last and sold out, if there is such an order, as
// one for more pieces than there ever were would be refused in any case.
func Basket(r *Run) *Scene {
	all := r.attempts()
	slices.SortStableFunc(all, func(a, b *attempt) int { return cmp.Compare(r.outOfReach(a), r.outOfReach(b)) })
	for _, a := range all {
		o := r.order[a.flag]
		switch {
		case o.Status != "REJECTED":
		case a.taken > 0 && a.committed > 0:
			d := r.path(o.ID, a.process)
			d.wrongAt("stock", "commit/after", report.Are(a.taken, "piece")+" gone, and the order fails")
			return d.end(fmt.Sprintf("order %s is REJECTED, the ledger has no line, and %s gone",
				r.short(o.ID), report.Are(a.taken, "piece")))
		case a.reads > 1 && !r.Broken:
			d := r.path(o.ID, a.process)
			d.weigh(4, faultpoint.ReadStock)
			d.rightAt("stock", "commit/after", "nothing is taken")
			return d.end(r.rows(o.ID))
		}
	}
	return nil
}

// outOfReach returns 1 for an attempt that asks for more pieces than there ever were, or is refused not only at its
// last product or, where it does not say how many it asks for, that finds no product sold out; else 0.
func (r *Run) outOfReach(a *attempt) int {
	if !r.Broken && a.soldOut || r.Broken && a.refused && a.refusals == 1 && a.asks <= r.stocked() {
		return 0
	}
	return 1
}

// stocked returns how many pieces a product has at first, at most.
func (r *Run) stocked() (most int64) {
	for _, g := range r.History.Goods {
		most = max(most, g.Stock)
	}
	return most
}

// TakenFlag shows an order whose stock service dies with its flag.
func TakenFlag(r *Run) *Scene {
	flag := earliest(r.struck(faultpoint.Kill))
	if flag == "" {
		return nil
	}
	d := r.path(flag, r.passed(flag, "take-flag/after")...)
	d.weigh(8, faultpoint.TakeFlag)
	if r.Broken {
		d.wrongAt("stock", "take-flag/after", "it takes the order for a repeat")
		d.wrongAt("order", "call-stock/after", "nothing was ever deducted")
	} else {
		d.rightAt("stock", "lookup-flow/after", "so it is deducted now")
	}
	return d.end(r.rows(flag))
}

// Repeat shows an order that is deducted, and asked for again.
func Repeat(r *Run) *Scene {
	if flag := earliest(r.failed(faultpoint.Error)); flag != "" {
		d := r.path(flag, r.passed(flag, "lookup-flow/after", "reply/before")...)
		d.weigh(8, faultpoint.Commit)
		d.wrongAt("stock", "lookup-flow/after", "answers only that it is a repeat")
		d.wrongAt("order", "call-stock/after", "the first attempt had deducted it")
		return d.end(r.rows(flag))
	}
	again, ok := r.first(func(e faultpoint.Event) bool {
		return e.Step == faultpoint.LookupFlow && e.When == faultpoint.After && e.Said == "DONE"
	})
	if !ok {
		return nil
	}
	d := r.path(again.Flag, r.passed(again.Flag, "lookup-flow/after", "reply/before")...)
	d.weigh(8, faultpoint.Commit)
	d.rightAt("stock", "lookup-flow/after", "so the repeat gets the first outcome")
	return d.end(r.rows(again.Flag))
}

// Orphan shows an order whose process died after it was written.
func Orphan(r *Run) *Scene {
	died, ok := r.first(func(e faultpoint.Event) bool { return e.Action == faultpoint.Kill && ofOperation(e) })
	if !ok {
		return nil
	}
	flag := died.Flag
	d := r.path(flag)
	d.weigh(8, faultpoint.InsertOrder)
	if o := r.order[flag]; o.Status == "PENDING" {
		d.dead("nobody looks for the order again")
		if heard, ok := r.first(func(e faultpoint.Event) bool { return e.Flag == flag && e.Step == hears }); ok {
			d.until(heard.At) // later ones only find it as it is
		}
	} else {
		found := slices.IndexFunc(d.all, func(m moment) bool {
			return m.event.At > died.At && strings.HasPrefix(m.event.Process, "order")
		})
		if found >= 0 {
			d.rightIn(d.all[found].event, "a reconciler has found the order")
		}
	}
	return d.end(r.rows(flag))
}

// Negative shows the order for fewer pieces than none.
func Negative(r *Run) *Scene {
	sent, ok := r.first(func(e faultpoint.Event) bool { return e.Step == sends && e.Taken != nil && *e.Taken < 0 })
	if !ok {
		return nil
	}
	d := r.path(sent.Flag)
	if added := -r.gone(sent.Flag); added > 0 {
		d.wrongAt("stock", "update-stock/after", "nobody brought them")
		return d.end(fmt.Sprintf("order %s put %s on the shelf", r.short(sent.Flag), report.Many(added, "piece")))
	}
	if len(d.lanes) == 1 { // the service refuses it before a step is passed
		d.lanes = []Lane{{Process: Client}, {Process: r.Placed[0].Process}}
	}
	d.rightAt(Client, "hears/", "no order and no row is written")
	return d.end(r.Books)
}

// owner returns the attempt with that place in the queue of a lock, or nil.
func owner(all []*attempt, node string) *attempt {
	for _, a := range all {
		if a.node == node && node != "" {
			return a
		}
	}
	return nil
}

// attemptOf returns the attempt that an event belongs to, or nil.
func attemptOf(all []*attempt, e faultpoint.Event) (found *attempt) {
	for _, a := range all {
		if a.process == e.Process && a.flag == e.Flag && a.began <= e.At {
			found = a
		}
	}
	return found
}

// Parent shows two newcomers that both miss the parent node of a lock. One gets the lock.
func Parent(r *Run) *Scene {
	all := r.attempts()
	made := map[string]*attempt{} // by the node that it made
	for _, e := range r.timeline {
		if e.Step != faultpoint.MakeParent || e.When != faultpoint.After {
			continue
		}
		if e.Error == "" {
			made[e.Node] = attemptOf(all, e)
			continue
		}
		a, b := made[e.Node], attemptOf(all, e)
		if a == nil || b == nil || a.flag == b.flag || a.acquired == 0 || !r.Broken && b.acquired == 0 {
			continue
		}
		// Nodes above and below it, which one of them makes, are left out.
		about := func(a *attempt) of {
			lane := r.by(a)
			return of{lane.lane, func(other faultpoint.Event) bool {
				return lane.has(other) && (other.Step != faultpoint.MakeParent || other.Node == e.Node)
			}}
		}
		d := r.follow(min(a.began, b.began), max(a.ended, b.ended), about(a), about(b))
		d.stress(0, "make-parent/before", "")
		d.stress(0, "make-parent/after", "")
		d.stress(1, "make-parent/before", "")
		if !r.Broken {
			d.rightIn(e, "it is there, which is all that it wants: it goes on")
			return d.end(fmt.Sprintf("orders %s and %s took their pieces", r.short(a.flag), r.short(b.flag)))
		}
		d.wrong(1, "make-parent/after", "order "+r.short(a.flag)+" has just created it, and this order fails")
		return d.end(fmt.Sprintf("order %s took its pieces, order %s nothing", r.short(a.flag), r.short(b.flag)))
	}
	return r.turns(all)
}

// Unheard shows a waiter that looks at the node before its own, and listens too late.
func Unheard(r *Run) *Scene {
	all := r.attempts()
	gone, ok := r.first(func(e faultpoint.Event) bool { return e.Step == faultpoint.Unlatched })
	if !ok {
		if s := r.woken(all, func(e faultpoint.Event, a, b *attempt) *Scene {
			if a.committed == 0 || b.committed == 0 {
				return nil
			}
			d := r.follow(min(a.acquired, b.asked), b.last(), r.by(a), r.by(b))
			d.rightIn(e, "it has listened since it looked")
			return d.end(r.Books)
		}); s != nil {
			return s
		}
		return r.turns(all)
	}
	a, b := owner(all, gone.Behind), attemptOf(all, gone)
	if a == nil || b == nil {
		return nil
	}
	d := r.follow(min(a.began, b.began), max(a.ended, b.ended), r.by(a), r.by(b))
	d.stress(1, "queue/after", "")
	d.wrong(1, "unlatched/after", "it does not listen yet, and nobody wakes it again")
	return d.end(r.Books)
}

// LeftBehind shows a waiter that gives up, and the one behind it: one that came before, if there is such a waiter.
func LeftBehind(r *Run) *Scene {
	all := r.attempts()
	leaves := func(e faultpoint.Event) bool { return e.Step == faultpoint.LeaveNode }
	if _, ok := r.first(leaves); !ok {
		return Vanished(r)
	}
	var b, c *attempt
	came := false // before the other one left
	for _, left := range r.timeline {
		if !leaves(left) || came {
			continue
		}
		behind, ok := r.first(func(e faultpoint.Event) bool {
			return e.Step == faultpoint.Queue && e.Behind == left.Node && e.Node != ""
		})
		if came = ok && behind.At < left.At; came || ok && b == nil {
			b, c = attemptOf(all, behind), attemptOf(all, left)
		}
	}
	if b == nil || c == nil {
		return nil
	}
	d := r.follow(min(c.began, b.began), max(c.ended, b.ended), r.by(c), r.by(b))
	d.wrong(0, "leave-node/after", "nobody serves it, and nobody deletes it")
	d.wrong(1, "give-up/after", "it has waited for a node that nobody serves")
	n := 0
	for _, o := range r.Orders {
		if o.Status == "PENDING" {
			n++
		}
	}
	return d.end(report.English.Sprintf("%d of %d orders are PENDING", n, len(r.Orders)))
}

// FirstChild shows a holder that wakes up without its lock, the holder of that time, and the next one.
func FirstChild(r *Run) *Scene {
	all := r.attempts()
	deleted, ok := r.first(func(e faultpoint.Event) bool {
		return e.Step == faultpoint.DeleteNode && e.When == faultpoint.After && e.Deleted != e.Node && e.Error == ""
	})
	if !ok {
		return r.wakesLate(all)
	}
	a, b := attemptOf(all, deleted), owner(all, deleted.Deleted)
	if a == nil || b == nil {
		return nil
	}
	var c *attempt // the first to take the lock then
	for _, o := range all {
		if o.acquired > deleted.At && o.goods == b.goods && o != b && (c == nil || o.acquired < c.acquired) {
			c = o
		}
	}
	if c == nil || b.committed == 0 || c.acquired > b.committed {
		return nil
	}
	d := r.follow(a.acquired, max(b.committed, c.committed), r.by(a), r.by(b), r.by(c))
	d.stress(0, "acquire-lock/after", "")
	d.stress(1, "acquire-lock/after", sleptOver)
	d.stress(0, "release-lock/before", ": it has lost it, and does not know")
	d.wrong(0, "delete-node/before", "that is the node of order "+r.short(b.flag))
	d.wrong(2, "acquire-lock/after", "order "+r.short(b.flag)+" still works")
	if b.written != nil && c.written != nil {
		d.forgets(b, c, 1, 2)
	}
	return d.end(r.Books)
}

// wakesLate shows a holder that slept before it released its lock, and the holder of that time.
func (r *Run) wakesLate(all []*attempt) *Scene {
	for _, a := range all {
		for _, b := range all {
			if a.slept > time.Second && b.goods == a.goods && b.acquired > a.committed && b.holds(a.released) {
				d := r.follow(a.acquired, b.last(), r.by(a), r.by(b))
				d.stress(1, "acquire-lock/after", sleptOver)
				d.right(0, "release-lock/before", "its own node is gone, and it leaves the one of order "+r.short(b.flag)+" alone")
				return d.end(r.Books)
			}
		}
	}
	return nil
}

// Together shows the greatest group of orders that was deducted under its lock; nil if there is none.
func Together(r *Run) *Scene {
	var most *attempt
	orders := 0
	for _, a := range r.attempts() {
		if n, _ := strconv.Atoi(a.size); n > orders && a.sold() && a.acquired > 0 && a.released > a.committed {
			most, orders = a, n
		}
	}
	if most == nil {
		return nil
	}
	d := r.follow(most.acquired, most.last(), r.by(most))
	if orders > 1 {
		d.right(0, "commit/after", "one lock and one transaction for all of them")
	}
	return d.end(r.Books)
}

// rate says how many orders had an outcome by their first answer, in what time: the same as in a verdict.
func (r *Run) rate() string {
	m := r.History.Measure()
	return report.English.Sprintf("%d orders in %s, %s a second", m.Confirmed+m.Rejected, span(r.History.Window),
		report.PerS(m.OrdersPerS))
}

// Session shows the order that waited longest from asking for its lock to holding it.
func Session(r *Run) *Scene {
	all := r.attempts()
	b := longest(all)
	if b == nil || b.size != "" {
		return r.turns(all)
	}
	d := r.path(b.flag, b.process)
	words := fmt.Sprintf("%s for the lock, and %s for the work", span(b.acquired-b.asked), span(b.released-b.acquired))
	if r.Broken {
		d.wrongAt(b.process, "acquire-lock/after", "a new session: "+words)
	} else {
		d.rightAt(b.process, "acquire-lock/after", "the session that is there: "+words)
	}
	return d.end(r.rate())
}

// Confirmation shows the order that was deducted, and had its answer for longest before it read the ledger.
func Confirmation(r *Run) *Scene {
	r.prepare()
	heard := map[string]time.Duration{}
	flag, slept := "", time.Duration(-1)
	for _, e := range r.timeline {
		if !strings.HasPrefix(e.Process, "order") {
			continue
		}
		switch faultpoint.Point(e.Step, e.When) {
		case "call-stock/after":
			if e.Said == "DONE" {
				heard[e.Flag] = e.At
			}
		case "confirm/before":
			if at, ok := heard[e.Flag]; ok && e.At-at > slept {
				flag, slept = e.Flag, e.At-at
			}
			delete(heard, e.Flag)
		}
	}
	if flag == "" {
		return nil
	}
	d := r.path(flag)
	if r.Broken {
		d.wrongAt("order", "confirm/after", "it has slept for "+span(slept)+", with its place among the orders")
	} else {
		d.rightAt("order", "confirm/after", "it has asked "+span(slept)+" after the answer")
	}
	return d.end(r.rate())
}
