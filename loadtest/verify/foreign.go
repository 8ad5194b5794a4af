package verify

import (
	"fmt"

	"orderstock/loadtest/history"
)

// foreignOrder is an order of the run's products that no call of the run placed: somebody else ordered, or a service
// did it by itself.
type foreignOrder struct {
	flag, summary string
	hash          string // of its items
	product       int64
	deducts       int64 // rows of the run's products
}

// mayBeOthers reports whether others may have made an entry of the run's products: an order, without the name of the
// run in its key. Restocks and deductions without an order are no customers' calls.
func (j *judgement) mayBeOthers(e *Entry) bool {
	return len(e.Orders) == 1 && len(e.Restocks) == 0 && !j.h.IsRuns(e.Orders[0].Key)
}

// foreign takes down a foreign order.
func (j *judgement) foreign(e *Entry) {
	o := &e.Orders[0]
	if o.Key != nil {
		if j.others++; j.others == 1 {
			j.firstOther = e.summary()
		}
		return
	}
	j.unclaimed = append(j.unclaimed, foreignOrder{
		string(e.Flag), e.summary(), string(o.BodyHash), j.touched(e), j.deductRows(),
	})
}

// deductRows counts the current entry's deduct rows of the run's products.
func (j *judgement) deductRows() (rows int64) {
	for _, d := range j.deducts {
		if j.product(d.GoodsID) != nil {
			rows++
		}
	}
	return rows
}

// strangers decides who placed the foreign orders. No service invents a key. Orders without a key are the service's
// second orders if they are too many, and too much like the run's own calls, for chance.
func (j *judgement) strangers() {
	if j.secondOrders(false) || j.secondOrders(true) {
		for _, o := range j.unclaimed {
			j.unexplained([]byte(o.flag), -1, o.product, o.summary, o.deducts)
		}
		j.unclaimed = nil
	}
	if len(j.unclaimed) > 0 && j.others == 0 {
		j.firstOther = "flag " + j.unclaimed[0].flag + ", " + j.unclaimed[0].summary
	}
	if n := j.others + len(j.unclaimed); n > 0 {
		j.v.Reasons = append(j.v.Reasons, fmt.Sprintf("others ordered the run's products while it ran, or a "+
			"service placed orders that nobody sent, %d times: %s", n, j.firstOther))
	}
}

// leastSecond is how many orders without a key are needed to accuse a service of them.
const leastSecond = 10

// secondOrders reports whether the orders without a key have the items of as many different calls of the run, repeats
// or all that place an order, and are a quarter of those calls or more.
func (j *judgement) secondOrders(all bool) bool {
	if len(j.unclaimed) < leastSecond || j.h.Path != history.PathOrder {
		return false
	}
	calls, placed, unused := 0, make([]bool, j.h.Orders()), map[string]int{}
	for i := range j.h.Calls {
		c := &j.h.Calls[i]
		if !c.Kind.Places() {
			continue
		}
		if all || placed[c.Op] {
			hash := history.BodyHash(j.h.Items(int(c.Op)))
			unused[string(hash[:])]++
			calls++
		}
		placed[c.Op] = true
	}
	for _, o := range j.unclaimed {
		if unused[o.hash]--; unused[o.hash] < 0 {
			return false
		}
	}
	return 4*len(j.unclaimed) >= calls
}
