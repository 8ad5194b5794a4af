package verify

import (
	"fmt"
	"slices"
	"time"

	"orderstock/loadtest/contract"
	"orderstock/loadtest/history"
)

// Terms are the settings of a judgement.
type Terms struct {
	// Samples is the number of violations described for each invariant. Default 5.
	Samples int
	// Declared are the flags and idempotency keys of requests outside the history that concern products of the run: orders
	// and restocks by hand. Their rows need no other explanation.
	Declared []string
}

// Judge compares books with the history of a run. It is a pure function: the same books and history have the same
// verdict. The books must be a state that the requests of the run can lead to, and every answer one that the services
// may have given at that time. Rows that concern neither the run's keys nor its products are left out. If others
// ordered the run's products, the outcome is Unknown.
//
// It keeps a few bytes for each order of the run. If the books cannot be read to the end, the outcome is Unknown,
// unless the rest contains a violation.
func Judge(books Books, h *history.History, terms Terms) *Verdict {
	if terms.Samples == 0 {
		terms.Samples = 5
	}
	v := &Verdict{Reasons: incomplete(h)}
	j := newJudgement(h, v, terms)
	if err := j.read(books); err != nil {
		v.Reasons = append(v.Reasons, err.Error())
	} else {
		j.close()
	}
	v.conclude()
	return v
}

// judge is a judgement in progress.
type judgement struct {
	h        *history.History
	v        *Verdict
	samples  int
	declared map[string]bool

	forms      []form                                  // of the run's path
	routes     [history.ReadLedger + 1]*contract.Route // of its calls, by kind
	byOrder    []int32                                 // indices of History.Calls, by order, then by time
	begins     []int32                                 // by order: where its calls begin in byOrder
	products   []product                               // of the run, as in History.Goods
	seen       []bool                                  // by order: the books have it
	books      Books
	readAt     time.Duration // when the books were read, since the start of the run
	rejected   []rejectedOrder
	deductions []deduction
	// Orders of the run's products by others: the number of those with a key, the first of them, and those without.
	others     int
	firstOther string
	unclaimed  []foreignOrder
	calm       calm
	// First answers that repeat another, though no call of the run can have placed the order: their number, and the first.
	between      int
	firstBetween string
	unkeyed      map[int64]int   // the orders without a key, by the ids that answers named
	unnamed      []int           // the orders without a key whose ids no answer named
	bodies       map[string]bool // the hashes of the bodies of the orders without a key
	listings     []listing       // the orders on the pages that were read, by id
	byID         []int32         // the calls that place orders, by the ids in their answers, made when it is needed
	restocks     []*restocked
	// Buffers, reused for each entry.
	op, deducts, restores []history.Item
	replies               []reply
	shownOnPages          []history.Call       // what pages say of the current order
	paid                  []history.PricedItem // the items of the order in the books
}

// rejectedOrder is an order of the run that was rejected.
type rejectedOrder struct {
	n, item int32 // item is the index of the one that the reason names, or -1
	id      int64 // the order's, or 0
}

func newJudgement(h *history.History, v *Verdict, terms Terms) *judgement {
	j := &judgement{
		h: h, v: v, samples: terms.Samples, declared: map[string]bool{}, forms: forms[h.Path],
		products: make([]product, len(h.Goods)), seen: make([]bool, h.Orders()),
		calm: findCalm(h), unkeyed: map[int64]int{}, bodies: map[string]bool{},
	}
	for _, c := range invariants {
		v.Invariants = append(v.Invariants, Invariant{Name: c.name, Says: c.says, Sample: []string{}})
	}
	for asks, r := range routes[h.Path] {
		j.routes[asks] = contract.Find(r[0], r[1])
	}
	j.sortCalls()
	j.findRestocks()
	j.findKeyless()
	j.readPages()
	for _, name := range terms.Declared {
		j.declared[name] = true
	}
	return j
}

func (j *judgement) read(books Books) error {
	j.books = books
	if j.readAt = never; !books.At.IsZero() {
		j.readAt = books.At.Sub(j.h.Started)
	}
	for e, err := range books.Entries {
		if err != nil {
			return err
		}
		j.entry(e)
	}
	return j.levels(books.Products)
}

// close runs the checks that need all of the books.
func (j *judgement) close() {
	for _, r := range j.restocks {
		if r.done != never && !r.recorded {
			j.add(Unexplained, []byte(r.Flag), -1, r.GoodsID, "the restock of "+r.words(), "none")
		}
	}
	for n, there := range j.seen {
		if !there {
			j.answers(n, end{}) // the books do not have the order
		}
	}
	j.strangers()
	j.v.Unlocked = j.unlocked()
	j.pieces()
	j.bound()
	j.rejections()
	j.asides()
	if j.between > 0 {
		j.v.Reasons = append(j.v.Reasons, fmt.Sprintf("something between sends calls again, or a service takes first calls "+
			"for repeats: %d answers, such as %s (if it is a proxy that repeats calls, fire with --disturbed)", j.between,
			j.firstBetween))
	}
	j.v.Calm = j.calm.percent(j.h)
	if reason, is := j.tooLittleCalm(); is {
		j.v.Reasons = append(j.v.Reasons, reason)
	}
}

// add counts a violation that concerns a flag, order n of the run or -1, and a product or 0. It describes the first few
// of each invariant.
func (j *judgement) add(name string, flag []byte, n int, product int64, expected, found string, args ...any) {
	i := &j.v.Invariants[slices.IndexFunc(j.v.Invariants, func(i Invariant) bool { return i.Name == name })]
	if i.Violations++; len(i.Sample) >= j.samples {
		return
	}
	f := Finding{Flag: string(flag), Product: product, Expected: expected, Found: fmt.Sprintf(found, args...)}
	if n >= 0 {
		f.Key = j.h.Key(n)
	}
	i.Findings = append(i.Findings, f)
	i.Sample = append(i.Sample, f.String())
}

// sortCalls sorts the indices of the calls by order, and by time for each.
func (j *judgement) sortCalls() {
	orders := j.h.Orders()
	j.byOrder, j.begins = make([]int32, len(j.h.Calls)), make([]int32, orders+2)
	ours := func(i int) bool { return j.h.Calls[i].Op >= 0 && int(j.h.Calls[i].Op) < orders } // else: see incomplete
	for i := range j.h.Calls {
		if ours(i) {
			j.begins[j.h.Calls[i].Op+2]++
		}
	}
	for n := range orders {
		j.begins[n+2] += j.begins[n+1]
	}
	for i := range j.h.Calls {
		if ours(i) { // begins[n+1] is where the next call of order n goes, and at last where order n+1 begins
			at := &j.begins[j.h.Calls[i].Op+1]
			j.byOrder[*at] = int32(i)
			*at++
		}
	}
}

// callsOf returns the indices in History.Calls of the calls of order n.
func (j *judgement) callsOf(n int) []int32 { return j.byOrder[j.begins[n]:j.begins[n+1]] }

// incomplete returns the reasons why a history does not suffice to judge a run.
func incomplete(h *history.History) (reasons []string) {
	ended := make([]bool, h.Orders())
	ends, sold, unsent := 0, 0, 0
	for i := range h.Calls {
		c := &h.Calls[i]
		if c.Op < 0 || int(c.Op) >= h.Orders() {
			return append(reasons, fmt.Sprintf("the history has a call of order %d, and %d orders", c.Op, h.Orders()))
		}
		if c.Failure == history.Unsent {
			unsent++
		}
		if (isEnd(c.Status) || c.Kind.Places() && c.Ended()) && !ended[c.Op] {
			ended[c.Op] = true
			ends++
		}
		if c.Kind.Places() && isEnd(c.Status) && c.Status != history.Cancelled {
			sold++
		}
	}
	if h.Interrupted {
		reasons = append(reasons, "the run was interrupted, and only what it had done by then was judged")
	}
	if sold == 0 {
		reasons = append(reasons, "no traffic: the history holds no order that was confirmed or rejected")
	}
	if 100*unsent > len(h.Calls) {
		reasons = append(reasons, fmt.Sprintf("%d of %d calls did not leave the client, which had no file descriptor or "+
			"port left: raise its limit (ulimit -n), or use fewer clients", unsent, len(h.Calls)))
	}
	if asked := max(h.Asked, h.Orders()); 10*ends < 9*asked {
		reasons = append(reasons, fmt.Sprintf("the run was asked for %d orders, and %d got an end", asked, ends))
	}
	return reasons
}

// isEnd reports whether a state is final.
func isEnd(s history.Status) bool {
	switch s {
	case history.Confirmed, history.Rejected, history.Cancelled, history.Done, history.Restored:
		return true
	case history.NoStatus, history.Pending, history.Cancelling, history.Unheard:
	}
	return false
}
