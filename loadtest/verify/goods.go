package verify

import (
	"iter"
	"strconv"
	"time"
)

// goodsSum sums the flow rows of one product of the run.
type goodsSum struct {
	all int64
	// Pieces, positive if the signs are right. Restocked counts only the run's restock and declared ones.
	restocked, deducted, restored int64
	level                         bool // the product has a stock level
	// The flow rows by order.
	deducts, restores []pieces
}

// pieces is one flow row of an order; op is -1 for an order outside the run.
type pieces struct {
	op  int32
	num int64
}

func (j *judgement) sum(goods int64) *goodsSum {
	s := j.sums[goods]
	if s == nil {
		s = &goodsSum{}
		j.sums[goods] = s
	}
	return s
}

// sumUp adds the flow rows of an entry to the sums of the run's products.
func (j *judgement) sumUp(e *Entry, n int) {
	for i := range e.Flows {
		r := &e.Flows[i]
		g, ours := j.h.Product(r.Goods)
		if !ours {
			continue
		}
		if r.Created != 0 {
			j.dated(e.Flag, n, r.Goods, r.Created)
		}
		s := j.sum(r.Goods)
		s.all += r.Num
		switch r.Kind {
		case Restock:
			if of := j.restockUnder(e.Flag); of != nil && of.goods == g || j.declared[string(e.Flag)] {
				s.restocked += r.Num
			}
		case Deduct:
			s.deducted -= r.Num
			s.deducts = append(s.deducts, pieces{int32(n), -r.Num})
		case Restore:
			s.restored += r.Num
			s.restores = append(s.restores, pieces{int32(n), r.Num})
		case Pruned: // deducted, not restored
			s.deducted -= r.Num
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
func (j *judgement) levels(products iter.Seq2[ProductRow, error]) error {
	for p, err := range products {
		if err != nil {
			return err
		}
		i, ours := j.h.Product(p.Goods)
		if !ours {
			continue
		}
		j.tokens.row(p.Goods, p.Token)
		s := j.sum(p.Goods)
		if s.level {
			j.add(StockBalances, nil, -1, p.Goods, "one level", "two")
		}
		s.level = true
		if p.Num < 0 {
			j.add(StockBalances, nil, -1, p.Goods, "no level below zero", "%d", p.Num)
		}
		if p.Num != s.all {
			j.add(StockBalances, nil, -1, p.Goods, "the sum of the flow rows, "+strconv.FormatInt(s.all, 10), "%d pieces",
				p.Num)
		}
		if !j.mayBeNamed(i, string(p.Name), never, never) || !j.mayBePriced(i, p.Price, never, never) {
			j.add(Unexplained, nil, -1, p.Goods, "the last name and the last price that the run set", "%s and %d", p.Name,
				p.Price)
		}
	}
	for goods, s := range j.sums {
		if !s.level {
			j.add(StockBalances, nil, -1, goods, "a level of "+strconv.FormatInt(s.all, 10), "none")
		}
	}
	return nil
}

// pieces looks for pieces that were sold without being in stock, by the flow rows and by the acknowledged outcomes.
func (j *judgement) pieces() {
	var acknowledged int64
	for goods, s := range j.sums {
		if over := s.deducted - s.restored - s.restocked; over > 0 {
			j.v.Oversold += over
			j.add(NotOversold, nil, -1, goods, strconv.FormatInt(s.restocked, 10)+" restocked",
				"%d deducted, %d restored", s.deducted, s.restored)
		}
	}
	for i, g := range j.h.Goods {
		restocked := g.Stock
		if s := j.sums[g.ID]; s != nil {
			restocked = max(restocked, s.restocked)
		}
		if over := j.sold[i] - restocked; over > 0 {
			acknowledged += over
			j.add(NotOversold, nil, -1, g.ID, strconv.FormatInt(restocked, 10)+" restocked", "%d acknowledged to clients",
				j.sold[i])
		}
	}
	j.v.Oversold = max(j.v.Oversold, acknowledged)
}

// sell counts order n as sold: a client received its confirmation, and no cancellation.
func (j *judgement) sell(n int) {
	for _, it := range j.h.Items(n) {
		if i, ours := j.h.Product(it.GoodsID); ours {
			j.sold[i] += it.Num
		}
	}
}
