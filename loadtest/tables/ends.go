package tables

import (
	"context"
	"database/sql"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"orderstock/loadtest/history"
	"orderstock/loadtest/report"
	"orderstock/loadtest/system"
	"orderstock/loadtest/trial"
	"orderstock/loadtest/verify"
	"orderstock/pkg/mysqldb"
)

// Ends counts what became of the orders and pieces of a run, from its rows and the answers.
type Ends struct {
	Orders     int // in the database
	OrdersPerS float64
	// Stock pieces came in, and Sold left for good or were acknowledged.
	Stock, Sold int64
	// Uncounted pieces are more in the levels than the ledger leaves: sold, and still counted as there. Below 0, so many
	// pieces are missing.
	Uncounted int64
	// Lost orders failed, and LostPieces pieces of them are gone from the stock.
	Lost       int
	LostPieces int64
	// Open orders have no end.
	Open int
	// GivenUp orders were cancelled, though no client asked for it.
	GivenUp int
	// Unserved orders have a first answer that is no end; 0 unless the run asks for one.
	Unserved int
	// Added pieces came into the stock by Negative orders, for fewer pieces than none.
	Negative int
	Added    int64
}

// endsOf counts the ends of a judged run. After a violation it reads the rows of the run's products in both databases.
// Their books are b.
func endsOf(
	ctx context.Context, stock *sql.DB, orderDSN string, h *history.History, b Books, v *verify.Verdict,
) (Ends, error) {
	e := Ends{
		Orders: v.Orders, OrdersPerS: v.OrdersPerS, Stock: b.Stock, Sold: b.Sold, Open: v.Pending,
		Uncounted: b.There - (b.in - b.out),
	}
	for _, i := range v.Invariants {
		switch i.Name {
		case trial.NotGivenUp.Name:
			e.GivenUp = i.Violations
		case firstAnswerEnds.Name:
			e.Unserved = i.Violations
		}
	}
	if v.Outcome != verify.Violation || len(h.Goods) == 0 {
		return e, nil
	}
	gone, err := e.readFlows(ctx, stock, h)
	if err != nil || h.Path != history.PathOrder {
		return e, err
	}
	return e, e.readFailed(ctx, orderDSN, gone)
}

// readFlows counts Negative and Added, and returns the pieces of the run's products that are gone from the stock, by
// flag.
func (e *Ends) readFlows(ctx context.Context, stock *sql.DB, h *history.History) (gone map[string]int64, err error) {
	ids := make([]string, len(h.Goods))
	for i, g := range h.Goods {
		ids[i] = strconv.FormatInt(g.ID, 10)
	}
	type flow struct {
		flag        string
		gone, added int64
	}
	columns := func(f *flow) []any { return []any{&f.flag, &f.gone, &f.added} }
	gone = map[string]int64{}
	for f, err := range mysqldb.Rows(ctx, stock, columns, fmt.Sprintf(`
SELECT flag, -SUM(num), SUM(CASE WHEN kind = 'deduct' AND num > 0 THEN num ELSE 0 END) FROM stock_flow
WHERE goods_id IN (%s) AND kind IN ('deduct', 'restore') GROUP BY flag`, strings.Join(ids, ","))) {
		if err != nil {
			return nil, fmt.Errorf("read the flows of the run: %w", err)
		}
		if f.added > 0 {
			e.Negative++
			e.Added += f.added
		}
		if f.gone > 0 {
			gone[f.flag] = f.gone
		}
	}
	return gone, nil
}

// readFailed counts the orders that failed, and their pieces that are gone.
func (e *Ends) readFailed(ctx context.Context, dsn string, gone map[string]int64) error {
	db, err := system.OpenDB(dsn)
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }() // only read
	columns := func(id *string) []any { return []any{id} }
	for some := range slices.Chunk(slices.Sorted(maps.Keys(gone)), 1000) {
		marks := strings.TrimSuffix(strings.Repeat("?,", len(some)), ",")
		args := make([]any, len(some))
		for i, flag := range some {
			args[i] = flag
		}
		for id, err := range mysqldb.Rows(ctx, db, columns,
			"SELECT id FROM orders WHERE status IN ('REJECTED', 'CANCELLED') AND id IN ("+marks+")", args...) {
			if err != nil {
				return fmt.Errorf("read the failed orders of the run: %w", err)
			}
			e.Lost++
			e.LostPieces += gone[id]
		}
	}
	return nil
}

// miscounted says how the levels differ from the ledger, if they do and nothing was oversold.
func (e Ends) miscounted() string {
	switch {
	case e.Sold > e.Stock || e.Uncounted == 0:
		return ""
	case e.Uncounted < 0:
		return report.Are(-e.Uncounted, "piece") + " gone from the stock, and nobody bought them"
	}
	return report.Are(e.Uncounted, "piece") + " sold, and the stock still counts them: it will sell them twice"
}

// lost says which orders failed though their pieces are gone, if there are any.
func (e Ends) lost() string {
	if e.Lost == 0 {
		return ""
	}
	whose := "their"
	if e.Lost == 1 {
		whose = "its"
	}
	return fmt.Sprintf("%s failed, and %s %s gone from the stock", report.Many(e.Lost, "order"), whose,
		report.Are(e.LostPieces, "piece"))
}

// open says how many orders hang, if some do.
func (e Ends) open(why string) string {
	if e.Open == 0 {
		return ""
	}
	verb := "hang"
	if e.Open == 1 {
		verb = "hangs"
	}
	return report.English.Sprintf("%s of %d %s for ever: %s", report.Many(e.Open, "order"), e.Orders, verb, why)
}

// wrong says what went wrong for people, the worst first, without knowing the cause; "" if it sees nothing.
func (e Ends) wrong() string {
	if e.Sold > e.Stock {
		return sold(e.Sold, e.Stock, "")
	}
	for _, text := range []string{e.miscounted(), e.lost(), e.open("nothing brings them to an end")} {
		if text != "" {
			return text
		}
	}
	if e.GivenUp > 0 {
		return report.English.Sprintf("%s given up, though nobody asked for it", report.Many(e.GivenUp, "order"))
	}
	return ""
}

// oversells reports whether the fault shows in more pieces sold than there were.
func (f Fault) oversells() bool {
	return f.Went == nil && f.Rate == "" && int64(f.Load.Orders) > f.Load.Mix.Stock*int64(f.Load.Mix.Goods)
}

// tooSlow returns how many orders came to no end in time, so that the broken variant does not show its fault; 0 if it
// had the time.
func (e Ends) tooSlow(f Fault, run Run, v *verify.Verdict) int {
	if run.Variant != Broken || f.Rate != "" ||
		v.Outcome == verify.Violation && (!f.oversells() || e.Sold > e.Stock) {
		return 0
	}
	return max(0, e.Open+e.GivenUp+run.Buyers-e.Orders)
}

// sentence describes the result of a run for a person: as the fault says it or, in free play and of a right run, by
// what became of pieces and orders. A run that somebody stopped says so, as do a broken variant that had no time to
// show it and one with fewer buyers.
func (e Ends) sentence(f Fault, run Run, v *verify.Verdict) string {
	if e.Orders < run.stopped {
		why := " (stopped by hand after %d of %d orders; play it to its end)"
		return e.outcome(f, run.Variant, v) + report.English.Sprintf(why, e.Orders, run.stopped)
	}
	if n := e.tooSlow(f, run, v); n > 0 {
		why := ": too slow to show it, as %s came to no end in time; try it on a machine that is less busy"
		if f.fewer(run.Buyers) > 0 {
			why = ": too slow to show it, as %s came to no end in time; try fewer buyers"
		}
		return sold(e.Sold, e.Stock, "") + report.English.Sprintf(why, report.Many(n, "order"))
	}
	text := e.outcome(f, run.Variant, v)
	if run.Variant == Broken && run.Buyers < f.Load.Orders {
		text += report.English.Sprintf(" (%d buyers, as %d were too slow to show it)", run.Buyers, f.Load.Orders)
	}
	return text
}

// outcome is the sentence of a run that was not too slow.
func (e Ends) outcome(f Fault, side Side, v *verify.Verdict) (text string) {
	switch {
	case f.Rate != "":
		if text = report.PerS(e.OrdersPerS) + " orders a second"; side != Here {
			text += ": " + f.variant(side).Says
		}
	case v.Outcome == verify.Violation && f.Went != nil && side == Broken:
		text = f.Went(e)
	}
	if text == "" && v.Outcome == verify.Violation {
		text = e.wrong()
	}
	if text == "" && v.Outcome == verify.Violation {
		return firstBroken(v)
	}
	if text == "" {
		text = e.right(f, v)
	}
	return text
}

// right returns the sentence of a run without a violation. Of a pass, it says what became of the orders, if the fault
// costs orders, or how many pieces are left, if it costs pieces though there are enough.
func (e Ends) right(f Fault, v *verify.Verdict) string {
	text := sold(e.Sold, e.Stock, "")
	switch {
	case v.Outcome != verify.Pass:
	case f.Went != nil:
		return report.English.Sprintf("each of %s is sold or refused, and each of %d pieces has a buyer",
			report.Many(e.Orders, "order"), e.Sold)
	case f.Letter != "" && !f.oversells():
		text += report.English.Sprintf(", and the stock counts the other %d", e.Stock-e.Sold)
	}
	return text
}

// firstBroken says which requirement is broken, for a violation that no count of pieces or orders shows.
func firstBroken(v *verify.Verdict) string {
	for _, i := range v.Invariants {
		if i.Violations > 0 {
			return report.English.Sprintf("%d times wrong: %s; the first: %s", i.Violations, i.Name, i.Sample[0])
		}
	}
	return ""
}
