package lanes

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"orderstock/loadtest/faultpoint"
	"orderstock/loadtest/history"
	"orderstock/pkg/operation"
)

// Run is the evidence of a run: what its processes passed, what its clients sent and heard, and the rows at its end.
type Run struct {
	// Broken is set for the broken variant of a fault.
	Broken bool
	// Before, if not nil, is the scene of the broken variant with the same orders.
	Before *Scene
	// Events are the processes' events, in any order.
	Events  []faultpoint.Event
	History *history.History
	Placed  []history.Placed
	Orders  []Order // by ascending id
	Flows   []Flow
	// Books is the sum of the books of all products, in words.
	Books string

	timeline []faultpoint.Event // and the client's, in the order of time
	acquired []time.Duration    // when somebody took a lock, in the order of time
	order    map[string]Order
}

// Order is the row of an order at the end.
type Order struct{ ID, Key, Status string }

// Flow is a row of the ledger.
type Flow struct {
	Flag       string
	Goods, Num int64
}

// Client is the process of the client's events.
const Client = "buyer"

// The client's steps.
const (
	sends faultpoint.Step = "sends"
	hears faultpoint.Step = "hears"
)

// prepare puts all events in the order of time.
func (r *Run) prepare() {
	if r.order != nil {
		return
	}
	r.order = map[string]Order{}
	byKey := map[string]string{}
	for _, o := range r.Orders {
		r.order[o.ID], byKey[o.Key] = o, o.ID
	}
	r.timeline = slices.Clone(r.Events)
	if len(r.Events) > 0 && r.History != nil {
		began := r.Events[0].At + r.History.Started.Sub(r.Events[0].Clock) // on the machine's monotonic clock
		for i := range r.History.Calls {
			c := &r.History.Calls[i]
			flag := r.History.Key(int(c.Op))
			if r.History.Path == history.PathOrder {
				flag = byKey[flag]
			}
			if flag == "" || c.Kind > history.Cancel {
				continue
			}
			v := faultpoint.Values{Flag: flag, From: c.Kind.String()}
			r.timeline = append(r.timeline, faultpoint.Event{At: began + c.Sent, Process: Client, Step: sends, Values: v})
			v.Said, v.Error = c.Status.String(), c.Failure.String()
			if c.Code >= 300 && c.Status == history.NoStatus {
				v.Error = cmp.Or(v.Error, strconv.Itoa(int(c.Code)))
			}
			r.timeline = append(r.timeline, faultpoint.Event{At: began + c.Done, Process: Client, Step: hears, Values: v})
		}
		for _, p := range r.Placed {
			v := faultpoint.Values{
				Flag: cmp.Or(byKey[p.Key], p.Key), From: history.Place.String(), Goods: p.Goods, Taken: &p.Num,
			}
			r.timeline = append(r.timeline, faultpoint.Event{At: began + p.Sent, Process: Client, Step: sends, Values: v})
			if v.Said = r.order[v.Flag].Status; v.Said == "" {
				v.Error = strconv.Itoa(p.Code)
			}
			r.timeline = append(r.timeline, faultpoint.Event{At: began + p.Done, Process: Client, Step: hears, Values: v})
		}
	}
	slices.SortStableFunc(r.timeline, func(a, b faultpoint.Event) int { return cmp.Compare(a.At, b.At) })
	for _, e := range r.timeline {
		if acquires(e) {
			r.acquired = append(r.acquired, e.At)
		}
	}
	r.infer()
}

// work is the work of a process under a flag or, of a group, under the token of its lock.
type work struct{ process, name string }

// refusal marks the commit of a transaction that takes nothing.
const refusal = "refusal"

// infer adds to the events the values that follow from others of their attempt. An attempt that asks for several locks
// takes one for each product, by ascending id: see deduct.EachProduct. The transaction of one operation that commits no
// update of a level writes the refusal.
func (r *Run) infer() {
	type steps struct {
		items   []operation.Item
		at      map[faultpoint.When][]int // the events of its locks
		goods   map[string]int64          // by the locks' tokens
		refuses bool                      // no level is updated yet
	}
	open := map[work]steps{}
	for i, e := range r.timeline {
		key := work{e.Process, e.Flag}
		of := open[key]
		switch {
		case e.Step == faultpoint.Deduct && e.When == faultpoint.Before:
			items, _ := operation.DecodeItems(e.Said) // none: a group
			open[key] = steps{
				items: items, at: map[faultpoint.When][]int{}, goods: map[string]int64{}, refuses: !faultpoint.IsGroup(e.Flag),
			}
		case e.Step == faultpoint.RollBack || e.Step == faultpoint.UpdateStock || e.Step == faultpoint.Deduct:
			of.refuses = e.Step == faultpoint.RollBack && !faultpoint.IsGroup(e.Flag)
			open[key] = of
		case e.Step == faultpoint.Commit && of.refuses:
			r.timeline[i].Said = refusal
		case e.Step == faultpoint.AcquireLock && len(of.items) > 1:
			of.at[e.When] = append(of.at[e.When], i)
			if len(of.at[faultpoint.Before]) < 2 {
				continue
			}
			for _, at := range of.at {
				for n, i := range at[:min(len(at), len(of.items))] {
					r.timeline[i].Goods = of.items[n].GoodsID
					of.goods[r.timeline[i].Token] = of.items[n].GoodsID
				}
			}
		case e.Step == faultpoint.ReleaseLock:
			r.timeline[i].Goods = cmp.Or(e.Goods, of.goods[e.Token])
		}
	}
}

// attempt is a try of a stock service to deduct an operation, or a group of them.
type attempt struct {
	process, flag string
	size          string // how many operations a group has
	goods         int64
	// The times are 0 for steps that it did not come to.
	began, asked, acquired, readAt, wrote, committed, released, ended time.Duration
	gave                                                              time.Duration // its last lock back
	token                                                             string
	read, written                                                     *int64
	taken                                                             int64 // from the levels of all products
	asks                                                              int64 // of one product, at most
	reads                                                             int   // of levels
	soldOut                                                           bool  // a level was zero
	refused                                                           bool  // the update changed no row
	refusals                                                          int   // of its updates
	slept                                                             time.Duration
	left                                                              time.Duration // when it deleted its node
	gaveUp                                                            bool
	node                                                              string // its place in the published lock's queue
}

// attempts returns the tries of the stock services, in the order of their beginnings. Groups of one process may share
// the hold of a lock.
func (r *Run) attempts() (all []*attempt) {
	r.prepare()
	open := map[work]*attempt{}
	locks := map[work]faultpoint.Event{} // that groups take, by their tokens
	for _, e := range r.timeline {
		key, lock := work{e.Process, e.Flag}, work{e.Process, e.Token}
		switch {
		case !strings.HasPrefix(e.Process, "stock"):
			continue
		case e.Flag == "" && acquires(e):
			locks[lock] = e
		case e.Flag == "" && e.Step == faultpoint.ReleaseLock && e.When == faultpoint.Before:
			for _, a := range all {
				if a.process == e.Process && a.token == e.Token {
					a.released = cmp.Or(a.released, begun(e))
					a.sleeps(e)
				}
			}
		case e.Step == faultpoint.Deduct && e.When == faultpoint.Before:
			open[key] = &attempt{process: e.Process, flag: e.Flag, began: e.At}
			if faultpoint.IsGroup(e.Flag) {
				open[key].size, open[key].token, open[key].acquired = e.Said, e.Token, locks[lock].At
			}
			all = append(all, open[key])
		}
		if a := open[key]; a != nil {
			a.add(e)
		}
	}
	return all
}

// sleeps notes how long the process slept at an event.
func (a *attempt) sleeps(e faultpoint.Event) {
	if e.Action == faultpoint.Stop {
		a.slept += e.Held
	}
}

// add notes an event of the attempt.
func (a *attempt) add(e faultpoint.Event) {
	a.sleeps(e)
	a.goods = cmp.Or(a.goods, e.Goods)
	if e.Step != faultpoint.MakeParent {
		a.node = cmp.Or(a.node, e.Node)
	}
	switch faultpoint.Point(e.Step, e.When) {
	case "deduct/after":
		a.ended = e.At
	case "acquire-lock/before":
		a.asked = cmp.Or(a.asked, e.At)
	case "acquire-lock/after":
		a.acquired, a.token = cmp.Or(a.acquired, e.At), cmp.Or(a.token, e.Token)
	case "delete-node/before":
		a.left = cmp.Or(a.left, e.At)
	case "give-up/after":
		a.gaveUp = true
	case "read-stock/after":
		a.reads++
		a.soldOut = a.soldOut || *e.Read == 0
		if a.readAt == 0 {
			a.readAt, a.read = e.At, e.Read
		}
	case "update-stock/after":
		a.wrote, a.written = e.At, e.Written
		if e.Taken != nil {
			a.asks = max(a.asks, *e.Taken)
		}
		a.refused = e.Rows != nil && *e.Rows == 0
		if a.refused {
			a.refusals++
		} else if e.Taken != nil {
			a.taken += *e.Taken
		}
	case "commit/after":
		a.committed = e.At
	case "release-lock/before":
		a.gave = begun(e)
		a.released = cmp.Or(a.released, a.gave)
	}
}

// short names the order of a flag by its number in the run, which is the same in each run with the seed or, of another
// order, by the end of its id.
func (r *Run) short(flag string) string {
	key := flag
	if r.History.Path == history.PathOrder {
		key = r.order[flag].Key
	}
	if n := r.History.OrderOf([]byte(key)); n >= 0 {
		return fmt.Sprintf("no. %d", n)
	}
	return "…" + flag[max(0, len(flag)-4):]
}

// lane returns the lane of an attempt.
func (r *Run) lane(a *attempt) Lane {
	if a.size == "1" {
		return Lane{a.process, "one order"}
	}
	if faultpoint.IsGroup(a.flag) {
		return Lane{a.process, a.size + " orders together"}
	}
	return Lane{a.process, "order " + r.short(a.flag)}
}
