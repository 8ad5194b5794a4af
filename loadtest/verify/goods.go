package verify

import (
	"iter"
	"strconv"
	"time"

	"orderstock/loadtest/history"
	"orderstock/pkg/operation"
	"orderstock/pkg/zklock"
)

// product is one product of the run, by the books and the answers.
type product struct {
	history.Goods
	sum int64 // of its flow rows
	// Pieces, positive if the signs are right. Restocked counts only the run's restocks and declared ones, and
	// acknowledged the orders whose clients received a confirmation, and no cancellation.
	restocked, deducted, restored, acknowledged int64
	// There says that it has a row of its level, with this token.
	there bool
	token zklock.Token
	levelBound
}

// product returns a product of the run, or nil.
func (j *judgement) product(goods int64) *product {
	if i, ours := j.h.Product(goods); ours {
		return &j.products[i]
	}
	return nil
}

// sumUp adds the flow rows of an entry to the sums of the run's products.
func (j *judgement) sumUp(e *Entry, n int) {
	t := j.moved(n)
	for i := range e.Flows {
		r := &e.Flows[i]
		p := j.product(r.Goods)
		if p == nil {
			continue
		}
		if r.Created != 0 {
			j.dated(e.Flag, n, r.Goods, r.Created)
		}
		p.sum += r.Num
		switch r.Kind {
		case operation.KindRestock:
			if of := j.restockUnder(e.Flag); of != nil && of.GoodsID == p.ID || j.declared[string(e.Flag)] {
				p.restocked += r.Num
			}
		case operation.KindDeduct:
			p.deducted -= r.Num
			p.deduct(t, -r.Num)
		case operation.KindRestore:
			p.restored += r.Num
			p.restore(t, r.Num)
		case KindPruned: // deducted, not restored
			p.deducted -= r.Num
		}
	}
}

// otherZone is how far a date may lie outside of the run. Clocks differ by less, and time zones by more.
const otherZone = 50 * time.Minute

// dated judges the date of a row that was written in the run, in microseconds since 1970.
func (j *judgement) dated(flag []byte, n int, goods, created int64) {
	if at := time.UnixMicro(created); !j.inRun(at, j.readAt) {
		j.add(Unexplained, flag, n, goods, "a date within the run, or nearly", "%s", zulu(at))
	}
}

// inRun reports whether a date that was read at some moment of the client's clock lies within the run, or nearly.
func (j *judgement) inRun(at time.Time, read time.Duration) bool {
	since := at.Sub(j.h.Started)
	return since >= -otherZone && since-otherZone <= read
}

// levels compares the stock level of each product of the run with the sum of its flow rows.
func (j *judgement) levels(products iter.Seq2[[]ProductRow, error]) error {
	for page, err := range products {
		if err != nil {
			return err
		}
		for i := range page {
			j.levelRow(&page[i])
		}
	}
	for i := range j.products {
		if p := &j.products[i]; !p.there {
			j.add(StockBalances, nil, -1, p.ID, "a level of "+strconv.FormatInt(p.sum, 10), "none")
		}
	}
	return nil
}

// levelRow compares the row of a stock level with the flow rows and the restocks.
func (j *judgement) levelRow(row *ProductRow) {
	p := j.product(row.Goods)
	if p == nil {
		return
	}
	_ = p.token.Scan([]byte(row.Token)) // a text that is none stays zero
	if p.there {
		j.add(StockBalances, nil, -1, p.ID, "one level", "two")
	}
	p.there = true
	if row.Num < 0 {
		j.add(StockBalances, nil, -1, p.ID, "no level below zero", "%d", row.Num)
	}
	if row.Num != p.sum {
		j.add(StockBalances, nil, -1, p.ID, "the sum of the flow rows, "+strconv.FormatInt(p.sum, 10), "%d pieces", row.Num)
	}
	if !j.mayBeNamed(p.ID, string(row.Name), never, never) || !j.mayBePriced(p.ID, row.Price, never, never) {
		j.add(Unexplained, nil, -1, p.ID, "the last name and the last price that the run set", "%s and %d", row.Name,
			row.Price)
	}
}

// pieces looks for pieces that were sold without being in stock, by the flow rows and by the acknowledged outcomes.
func (j *judgement) pieces() {
	var deducted, acknowledged int64
	for i := range j.products {
		p := &j.products[i]
		if over := p.deducted - p.restored - p.restocked; over > 0 {
			deducted += over
			j.add(NotOversold, nil, -1, p.ID, strconv.FormatInt(p.restocked, 10)+" restocked", "%d deducted, %d restored",
				p.deducted, p.restored)
		}
		restocked := max(p.Stock, p.restocked)
		if over := p.acknowledged - restocked; over > 0 {
			acknowledged += over
			j.add(NotOversold, nil, -1, p.ID, strconv.FormatInt(restocked, 10)+" restocked", "%d acknowledged to clients",
				p.acknowledged)
		}
	}
	j.v.Oversold = max(deducted, acknowledged)
}
