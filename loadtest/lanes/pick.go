package lanes

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"orderstock/loadtest/faultpoint"
	"orderstock/loadtest/report"
)

// holds reports whether the attempt held its lock at that time.
func (a *attempt) holds(at time.Duration) bool {
	return a.acquired > 0 && a.acquired <= at && (a.released == 0 || at < a.released)
}

// sameLevel returns the first two updates of a product that read the same level, though the earlier one changed it, and
// that satisfy the first condition or, if there are none, the next; nil if there are none at all.
func sameLevel(all []*attempt, conditions ...func(a, b *attempt) bool) (a, b *attempt) {
	reads := slices.DeleteFunc(slices.Clone(all), func(a *attempt) bool {
		return a.read == nil || a.written == nil || a.committed == 0
	})
	slices.SortFunc(reads, func(a, b *attempt) int { return int(a.readAt - b.readAt) })
	for _, also := range conditions {
		for i, b := range reads {
			for _, a := range reads[:i] {
				if a.goods == b.goods && *a.read == *b.read && b.readAt < a.committed && also(a, b) {
					return a, b
				}
			}
		}
	}
	return nil, nil
}

// inTurn returns two updates of a product, the second under the lock that the first gave back; nil if there are none.
// It prefers the two orders of the broken run, then a second one that waited for the first and was the next. Where many
// are deducted together, that is the last group of a holder that sold something, and the first group of the next
// holder, in another process.
func (r *Run) inTurn(all []*attempt) (a, b *attempt) {
	waited := func(a, b *attempt) bool { return b.asked > 0 && b.asked < a.released && b.committed > 0 }
	again := func(a, b *attempt) bool {
		return a.flag != b.flag && b.committed > 0 && r.Before.has(r.lane(a)) && r.Before.has(r.lane(b))
	}
	next := func(a, b *attempt) bool { return !r.between(a.released, b.acquired) }
	groups := func(a, b *attempt) bool {
		return a.size != "" && b.size != "" && a.process != b.process && a.sold() && next(a, b)
	}
	for _, also := range []func(a, b *attempt) bool{
		again, func(a, b *attempt) bool { return waited(a, b) && next(a, b) }, waited,
		func(a, b *attempt) bool { return groups(a, b) && b.sold() },
		func(a, b *attempt) bool { return groups(a, b) && b.committed > 0 },
	} {
		for _, b := range all {
			for _, a := range slices.Backward(all) {
				if a != b && a.goods == b.goods && a.committed > 0 && a.released > 0 && a.released < b.acquired && also(a, b) {
					return a, b
				}
			}
		}
	}
	return nil, nil
}

// forgets marks the reads and writes of two attempts, in their lanes, that read the same level.
func (d *draft) forgets(a, b *attempt, laneA, laneB int) {
	d.wrong(laneB, "read-stock/after", "order "+d.run.short(a.flag)+" has not committed")
	first, second, lane := a, b, laneB
	if b.committed < a.committed {
		first, second, lane = b, a, laneA
	}
	d.overwrites(second, first, lane)
}

// overwrites marks the write of the second attempt, in its lane.
func (d *draft) overwrites(second, first *attempt, lane int) {
	d.wrong(lane, "commit/after", report.English.Sprintf("%d overwrites %d: the sale of order %s is forgotten",
		*second.written, *first.written, d.run.short(first.flag)))
}

// overwriter returns the first update that read its level before another one's commit, and wrote after it; nil if there
// is none.
func overwriter(all []*attempt, a *attempt) *attempt {
	for _, c := range all {
		if c != a && c.goods == a.goods && c.written != nil && a.written != nil && !c.refused && a.committed > 0 &&
			c.readAt < a.committed && c.committed > a.committed {
			return c
		}
	}
	return nil
}

// TwoReaders shows two updates of one product that read the same level or, where that does not happen, two updates of
// one lock. It prefers two that took the lock in the order of their reads.
func TwoReaders(r *Run) *Scene {
	all := r.attempts()
	a, b := sameLevel(all,
		func(a, b *attempt) bool { return a.acquired < b.acquired }, func(_, _ *attempt) bool { return true })
	if a == nil {
		return r.turns(all)
	}
	d := r.follow(min(a.acquired, b.acquired), max(a.ended, b.ended), r.by(a), r.by(b))
	d.stress(0, "acquire-lock/after", "")
	d.forgets(a, b, 0, 1)
	if b.node != "" && a.holds(b.acquired) {
		d.wrong(1, "queue/after",
			fmt.Sprintf("sorted by %s in its name: before the holder's %s", piece(b.node), piece(a.node)))
	}
	return d.end(r.Books)
}

// piece returns the piece of a node's name that fault N sorts by.
func piece(node string) string {
	_, rest, _ := strings.Cut(node, "-")
	of, _, _ := strings.Cut(rest, "-")
	return of
}

// turns shows two holders of a lock, one after the other.
func (r *Run) turns(all []*attempt) *Scene {
	a, b := r.inTurn(all)
	if a == nil {
		return nil
	}
	d := r.follow(min(a.acquired, b.acquired), max(a.last(), b.last()), r.by(a), r.by(b))
	d.right(1, "acquire-lock/after", "the first has committed")
	return d.end(r.Books)
}

// sold reports whether the attempt has changed a level.
func (a *attempt) sold() bool { return a.wrote > 0 && !a.refused && a.committed > 0 }

// woken calls f, until it returns a scene, with each attempt that the end of the one before it in the queue wakes, and
// with that one.
func (r *Run) woken(all []*attempt, f func(e faultpoint.Event, before, a *attempt) *Scene) *Scene {
	for _, e := range r.timeline {
		if e.Step != faultpoint.Woken {
			continue
		}
		if before, a := owner(all, e.Behind), attemptOf(all, e); before != nil && a != nil {
			if s := f(e, before, a); s != nil {
				return s
			}
		}
	}
	return nil
}

// Vanished shows a holder, a waiter that gives up, and the one behind it. It prefers a holder that had the lock when
// the waiter gave up: the one behind it may wake up late, and meet a later holder.
func Vanished(r *Run) *Scene {
	all := r.attempts()
	gone := map[*attempt]*attempt{} // who gave up before an attempt
	s := r.woken(all, func(e faultpoint.Event, c, b *attempt) *Scene {
		if !c.gaveUp {
			return nil
		}
		gone[b] = c
		again, looks := r.first(func(q faultpoint.Event) bool {
			return q.Step == faultpoint.Queue && q.Node == e.Node && q.At >= e.At
		})
		a := owner(all, again.Behind)
		if !looks || a == nil || a.acquired == 0 || b.acquired == 0 {
			return nil
		}
		d := r.follow(min(a.asked, c.asked), b.last(), r.by(a), r.by(c), r.by(b))
		d.right(1, "delete-node/before", "it gives up, and leaves no node behind")
		d.markIf(func(m moment) bool { return m.event == e }, func(*Step) {}) // why it looks again
		d.rightIn(again, "it looks again, and order "+r.short(a.flag)+" is before it")
		return d.end(r.Books)
	})
	if s != nil {
		return s
	}
	besideHolder := func(a, b *attempt) bool { return gone[b] != nil && a.holds(b.acquired) }
	a, b := sameLevel(all,
		func(a, b *attempt) bool { return besideHolder(a, b) && a.holds(gone[b].left) }, besideHolder)
	if a == nil {
		return r.turns(all)
	}
	d := r.follow(min(a.acquired, gone[b].left), max(a.ended, b.ended), r.by(a), r.by(gone[b]), r.by(b))
	d.stress(0, "acquire-lock/after", "")
	d.stress(1, "delete-node/before", ": it gives up waiting")
	d.stress(2, "woken/after", "")
	d.wrong(2, "acquire-lock/after", "order "+r.short(a.flag)+" still holds it")
	d.forgets(a, b, 0, 2)
	return d.end(r.Books)
}

// sleptOver says why a second holder gets the lock of one that sleeps.
const sleptOver = ": the sleeper's session is over"

// Sleeper shows a holder that sleeps for longer than its session, and the next holder.
func Sleeper(r *Run) *Scene {
	all := r.attempts()
	for _, a := range all {
		if a.slept == 0 || a.readAt == 0 {
			continue
		}
		n, over := 0, cmp.Or(a.wrote, a.ended)
		var b *attempt
		for _, other := range all {
			if other != a && other.goods == a.goods && other.committed > a.readAt && other.readAt > a.readAt &&
				other.committed < over {
				if n++; n == 1 {
					b = other
				}
			}
		}
		if b == nil {
			continue
		}
		lanes, last := []of{r.by(a), r.by(b)}, max(a.ended, b.ended)
		c := overwriter(all, a)
		if c != nil {
			lanes, last = append(lanes, r.by(c)), max(last, c.ended)
		}
		d := r.follow(a.acquired, last, lanes...)
		d.stress(1, "acquire-lock/after", sleptOver)
		if c != nil { // its steps do not displace the sleeper's
			d.overwrites(c, a, 2)
			for _, point := range []string{"acquire-lock/after", "read-stock/after", "update-stock/after"} {
				d.stress(0, point, "")
			}
			d.stress(1, "commit/after", "")
		}
		switch {
		case a.refused:
			d.right(0, "update-stock/after", token(a.token)+" is lower than the row's: refused")
		case a.committed > 0:
			verb := "forgets"
			if c != nil { // whose level has them, and is the last
				verb = "writes over"
			}
			d.wrong(0, "commit/after", fmt.Sprintf("it %s %s made in between", verb, report.Many(n, "sale")))
		default:
			d.right(0, "roll-back/before", "its lock is lost, and nothing of this is written")
		}
		return d.end(r.Books)
	}
	return nil
}

// path drafts all steps of one order, in the lanes of the client and the processes that worked for it, of the stock
// services only these, unless none is named. If the lanes are many, others are left out that changed nothing.
func (r *Run) path(flag string, stocks ...string) *draft { return r.pathIn("", flag, stocks...) }

// pathIn is path with the steps of a group, if it is not "", that the order was deducted in.
func (r *Run) pathIn(group, flag string, stocks ...string) *draft {
	var lanes []of
	for _, process := range r.passed(flag) {
		lane := Lane{Process: process}
		if process == Client {
			lane.Order = "order " + r.short(flag)
		}
		if len(stocks) == 0 || !strings.HasPrefix(process, "stock") || slices.Contains(stocks, process) {
			lanes = append(lanes, of{lane, func(o faultpoint.Event) bool {
				return o.Process == process && (o.Flag == flag || group != "" && o.Flag == group)
			}})
		}
	}
	slices.SortStableFunc(lanes, func(a, b of) int { return strings.Compare(rank(a.lane), rank(b.lane)) })
	if len(lanes) > fewLanes {
		lanes = slices.DeleteFunc(lanes, func(l of) bool {
			return !slices.Contains(stocks, l.lane.Process) && !slices.ContainsFunc(r.timeline, func(e faultpoint.Event) bool {
				_, weight := r.describe(e)
				return l.has(e) && (weight >= 4 || e.Action == faultpoint.Kill)
			})
		})
	}
	d := r.follow(0, 1<<62, lanes[:min(len(lanes), mostLanes)]...)
	d.weigh(1, faultpoint.ReadStock, faultpoint.ReleaseLock)
	return d
}

// passed returns the processes that came to one of the points with the flag or, without points, that worked for it.
func (r *Run) passed(flag string, points ...string) (processes []string) {
	r.prepare()
	for _, e := range r.timeline {
		if e.Flag == flag && !slices.Contains(processes, e.Process) &&
			(len(points) == 0 || slices.Contains(points, faultpoint.Point(e.Step, e.When))) {
			processes = append(processes, e.Process)
		}
	}
	return processes
}

// fewLanes is how many lanes of one order are shown in any case, and mostLanes how many a scene has.
const fewLanes, mostLanes = 3, 4

// rank sorts lanes as an order passes them.
func rank(l Lane) string {
	return map[string]string{"b": "0", "o": "1", "s": "2"}[l.Process[:1]] + l.Process
}

// gone returns the pieces that are gone from the stock under a flag.
func (r *Run) gone(flag string) (n int64) {
	for _, f := range r.Flows {
		if f.Flag == flag {
			n -= f.Num
		}
	}
	return n
}

// failed returns the orders that failed, though their pieces are gone. The ones that the action struck come first:
// others may only have waited for the lock of one of these.
func (r *Run) failed(a faultpoint.Action) []string {
	var failed []string
	for _, o := range r.Orders {
		if (o.Status == "REJECTED" || o.Status == "CANCELLED") && r.gone(o.ID) > 0 {
			failed = append(failed, o.ID)
		}
	}
	held := slices.DeleteFunc(r.struck(a), func(flag string) bool { return !slices.Contains(failed, flag) })
	return append(held, failed...)
}

// late reports whether an order was deducted after its client had heard its end.
func (r *Run) late(flag string) bool {
	heard, ends := r.first(func(e faultpoint.Event) bool { return e.Flag == flag && e.Step == hears })
	done, commits := r.first(func(e faultpoint.Event) bool {
		return e.Flag == flag && e.Step == faultpoint.Commit && e.When == faultpoint.After &&
			strings.HasPrefix(e.Process, "stock")
	})
	return ends && commits && heard.At < done.At
}

// earliest returns the first of the flags; "" if there is none.
func earliest(flags []string) string {
	if len(flags) == 0 {
		return ""
	}
	return flags[0]
}

// struck returns the flags of the events of one order that the action struck, in the order of time.
func (r *Run) struck(a faultpoint.Action) (flags []string) {
	r.prepare()
	for _, e := range r.timeline {
		if e.Action == a && ofOperation(e) {
			flags = append(flags, e.Flag)
		}
	}
	return flags
}

// ofOperation reports whether an event is of one operation, not of a group.
func ofOperation(e faultpoint.Event) bool { return e.Flag != "" && !faultpoint.IsGroup(e.Flag) }

// rows sums up the order's row and the ledger's.
func (r *Run) rows(flag string) string {
	r.prepare()
	n, status := r.gone(flag), r.order[flag].Status
	ledger := report.Are(n, "piece") + " gone from the stock"
	switch {
	case n == 0:
		ledger = "nothing is gone from the stock"
	case status == "CONFIRMED":
		ledger = "the ledger has its " + report.Many(n, "piece")
	}
	return fmt.Sprintf("order %s is %s, and %s", r.short(flag), status, ledger)
}

// LateCommit shows an order whose deduction commits after its caller has given up. It prefers one that commits after
// its client has heard, too.
func LateCommit(r *Run) *Scene {
	flag, all := earliest(r.struck(faultpoint.Delay)), r.failed(faultpoint.Delay)
	failed := len(all) > 0
	if failed {
		flag = all[max(0, slices.IndexFunc(all, r.late))]
	}
	var d *draft
	if flag != "" {
		d = r.path(flag, r.passed(flag, "commit/after")...)
	} else if group, in := r.delayed(); in != "" {
		flag, d = in, r.pathIn(group.Flag, in, group.Process)
	} else {
		return nil
	}
	if failed {
		d.wrongAt("order", "set-status/after", "it cannot know that: the deduction is still at work")
		d.wrongAt("stock", "commit/after", "the pieces are gone, and nobody owns them")
	} else {
		d.markIf(func(m moment) bool { return isAt(m, "call-stock/after") && answer(m.event) == tooLate },
			func(s *Step) { s.Right = "the order stays PENDING" })
		d.rightAt("order", "confirm/after", "the ledger decides")
	}
	return d.end(r.rows(flag))
}

// delayed returns the beginning of the first group that is delayed, and the flag of the first order that had come to
// its process by then and whose caller heard nothing in time; "" if there is none.
func (r *Run) delayed() (group faultpoint.Event, flag string) {
	late, _ := r.first(func(e faultpoint.Event) bool { return e.Action == faultpoint.Delay && faultpoint.IsGroup(e.Flag) })
	waits := map[string]bool{}
	for _, e := range r.timeline {
		switch {
		case e.Process == late.Process && e.Flag == late.Flag && e.Step == faultpoint.Deduct && e.When == faultpoint.Before:
			group = e
		case e.Process == late.Process && group.Flag == "" && ofOperation(e):
			waits[e.Flag] = e.Step != faultpoint.Reply
		case group.Flag != "" && e.Step == faultpoint.CallStock && waits[e.Flag] && answer(e) == tooLate:
			return group, e.Flag
		}
	}
	return group, ""
}

// goods returns the products of the flag's deduction.
func (r *Run) goods(flag string) map[int64]bool {
	goods := map[int64]bool{}
	for _, f := range r.Flows {
		if f.Flag == flag {
			goods[f.Goods] = true
		}
	}
	return goods
}

// apart reports whether two operations have no product in common.
func (r *Run) apart(a, b string) bool {
	for id := range r.goods(a) {
		if r.goods(b)[id] {
			return false
		}
	}
	return true
}

// longest returns the attempt that waited longest from asking for its lock to holding it, and was deducted; nil if none
// was.
func longest(all []*attempt) (b *attempt) {
	for _, a := range all {
		if a.committed > 0 && a.released > 0 && (b == nil || a.acquired-a.asked > b.acquired-b.asked) {
			b = a
		}
	}
	return b
}

// OneLock shows the order that waited longest for the lock while another one held it for other products or, if each
// product has a lock, the first two orders that held theirs at the same time.
func OneLock(r *Run) *Scene {
	all := r.attempts()
	rate := r.rate()
	if !r.Broken {
		for i, b := range all {
			for _, a := range all[:i] {
				if a.size == "" && a.holds(b.acquired) && b.committed > 0 && a.committed > b.acquired && r.apart(a.flag, b.flag) {
					d := r.follow(min(a.asked, b.asked), max(a.last(), b.last()), r.by(a), r.by(b))
					d.markIf(func(m moment) bool { return m.Lane == 1 && acquires(m.event) && m.event.At == b.acquired },
						func(s *Step) { s.Right = "its products are others, and so is its lock" })
					return d.end(rate)
				}
			}
		}
		return r.turns(all)
	}
	b := longest(all)
	if b == nil {
		return nil
	}
	before, others := 0, 0
	var a *attempt
	for _, o := range all {
		if o.acquired > 0 && o.acquired < b.acquired && o.released > b.asked && o != b {
			if before++; r.apart(o.flag, b.flag) {
				if others++; a == nil || o.acquired < a.acquired {
					a = o
				}
			}
		}
	}
	if a == nil {
		return nil
	}
	d := r.follow(min(a.acquired, b.asked), b.last(), r.by(a), r.by(b))
	d.wrong(1, "acquire-lock/after", report.English.Sprintf(
		"it has waited %s behind %d orders, %d of them for other products",
		span(b.acquired-b.asked), before, others))
	return d.end(rate)
}
