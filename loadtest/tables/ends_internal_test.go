package tables

import (
	"fmt"
	"strings"
	"testing"

	"orderstock/loadtest/history"
	"orderstock/loadtest/system"
	"orderstock/loadtest/system/systemtest"
	"orderstock/loadtest/trial"
	"orderstock/loadtest/verify"
)

// Each published fault has a sentence by the numbers of its rows, and none names an invariant.
func TestSentences(t *testing.T) {
	wrong, right := &verify.Verdict{Outcome: verify.Violation}, &verify.Verdict{Outcome: verify.Pass}
	unknown := &verify.Verdict{Outcome: verify.Unknown}
	for _, test := range []struct {
		letter string
		side   Side
		ends   Ends
		of     *verify.Verdict
		want   string
	}{
		{"A", Broken, Ends{Stock: 300, Sold: 1907}, wrong, "sold 1,907 of 300: 1,607 more than there were"},
		{"A", Fixed, Ends{Stock: 300, Sold: 300}, right, "sold 300 of 300"},
		{"A", Broken, Ends{Orders: 800, Stock: 300, Sold: 87, Open: 600}, right, "sold 87 of 300: too slow to show it, as 6"},
		{"A", Broken, Ends{Orders: 60, Stock: 300, Sold: 87, Uncounted: 40}, wrong, "sold 87 of 300: too slow to show it"},
		{"A", Broken, Ends{Orders: 240, Stock: 300, Sold: 360}, wrong, "sold 360 of 300: 60 more than there were"},
		{"A", Broken, Ends{Orders: 800, Stock: 300, Sold: 300}, right, "sold 300 of 300"},
		{"A", Fixed, Ends{Stock: 300, Sold: 299, Lost: 1, LostPieces: 1}, wrong, "1 order failed, and its 1 piece is gone"},
		{"B", Broken, Ends{Stock: 9, Sold: 9, Lost: 3, LostPieces: 5}, wrong, "3 orders failed, and their 5 pieces are gone"},
		{"C", Broken, Ends{GivenUp: 2}, wrong, "2 orders can never be deducted"},
		{"D", Broken, Ends{Lost: 4, LostPieces: 6}, wrong, "4 orders failed, and their 6 pieces"},
		{"E", Broken, Ends{Lost: 61, LostPieces: 90}, wrong, "61 orders failed, and their 90 pieces"},
		{"F", Broken, Ends{Open: 6, Orders: 200}, wrong, "6 orders of 200 hang for ever"},
		{"G", Broken, Ends{OrdersPerS: 4.4}, right, "4.4 orders a second: a session for each lock"},
		{"H", Fixed, Ends{OrdersPerS: 53}, right, "53.0 orders a second: a lock for each product"},
		{"H", Here, Ends{OrdersPerS: 70}, right, "70.0 orders a second"},
		{"A", Here, Ends{Stock: 300, Sold: 300}, right, "sold 300 of 300"},
		{
			"E", Fixed,
			Ends{Orders: 200, Stock: 19_997, Sold: 445},
			right,
			"each of 200 orders is sold or refused, and each of 445 pieces has a buyer",
		},
		{"D", Broken, Ends{Orders: 200, Stock: 20_000, Sold: 445}, unknown, "sold 445 of 20,000"},
		{"M", Here, Ends{Stock: 400, Sold: 191}, right, "sold 191 of 400, and the stock counts the other 209"},
		{"O", Fixed, Ends{Stock: 400, Sold: 191}, unknown, "sold 191 of 400"},
		{"", "", Ends{Stock: 400, Sold: 191}, right, "sold 191 of 400"},
		{"I", Broken, Ends{Unserved: 133, Orders: 300}, wrong, "133 orders of 300 failed"},
		{"J", Broken, Ends{Unserved: 1, Orders: 12}, wrong, "1 order of 12 had no outcome in time"},
		{"K", Broken, Ends{Stock: 60, Sold: 370}, wrong, "sold 370 of 60: 310 more"},
		{"L", Broken, Ends{Open: 99, Orders: 120}, wrong, "99 orders of 120 hang"},
		{"M", Broken, Ends{Stock: 400, Sold: 200, Uncounted: 2}, wrong, "2 pieces are sold, and the stock still counts them"},
		{"N", Broken, Ends{Stock: 60, Sold: 97}, wrong, "sold 97 of 60"},
		{"O", Broken, Ends{Stock: 400, Sold: 200, Uncounted: -1}, wrong, "1 piece is gone from the stock, and nobody"},
		{"P", Broken, Ends{OrdersPerS: 16}, right, "16.0 orders a second: sleeps before"},
		{"Q", Broken, Ends{Negative: 2, Added: 6}, wrong, "2 orders with a negative quantity put 6 pieces on the shelf"},
		{"", "", Ends{Stock: 3, Sold: 3, Open: 1, Orders: 8}, wrong, "1 order of 8 hangs for ever: nothing brings"},
	} {
		f, _ := Find(test.letter)
		_, run := f.Play(test.side, 1)
		if got := test.ends.sentence(f, run, test.of); !strings.HasPrefix(got, test.want) ||
			test.of.Outcome != verify.Violation && strings.Contains(got, " and ") != strings.Contains(test.want, " and ") ||
			strings.Contains(got, "as it runs here") { // its side is named beside it
			t.Errorf("%s, %s: %q, want %q", test.letter, test.side, got, test.want)
		}
	}
	// A sale that is too slow asks for fewer buyers, down to a quarter; the fault that they show is theirs.
	f := find(t, "A")
	for buyers, want := range map[int]string{
		800: "sold 87 of 300: too slow to show it, as 100 orders came to no end in time; try fewer buyers",
		400: "sold 87 of 150: too slow to show it, as 100 orders came to no end in time; try fewer buyers",
		200: "sold 87 of 75: 12 more than there were (200 buyers, as 800 were too slow to show it)",
	} {
		fewer := f.Among(buyers)
		_, run := fewer.Play(Broken, 1)
		if got := (Ends{Orders: buyers - 100, Stock: run.Stock, Sold: 87}).sentence(f, run, wrong); got != want {
			t.Errorf("%d buyers: %q, want %q", buyers, got, want)
		}
	}
	// A run that somebody stopped was not too slow.
	for _, test := range []struct {
		side Side
		ends Ends
		of   *verify.Verdict
		want string
	}{
		{Broken, Ends{Orders: 212, Stock: 300, Sold: 87, Open: 6}, right, "sold 87 of 300"},
		{Broken, Ends{Orders: 700, Stock: 300, Sold: 360}, wrong, "sold 360 of 300: 60 more than there were"},
		{Fixed, Ends{Orders: 9, Stock: 300, Sold: 9}, right, "sold 9 of 300"},
	} {
		_, run := f.Play(test.side, 1)
		run.stopped = run.Orders
		want := fmt.Sprintf("%s (stopped by hand after %d of 800 orders; play it to its end)", test.want, test.ends.Orders)
		if got := test.ends.sentence(f, run, test.of); got != want {
			t.Errorf("%s, stopped: %q, want %q", test.side, got, want)
		}
	}
	_, run := f.Play(Broken, 1)
	run.stopped = run.Orders // after the last order
	if got := (Ends{Orders: 800, Stock: 300, Sold: 360}).sentence(f, run, wrong); strings.Contains(got, "stopped") {
		t.Errorf("of a whole sale, %q is said", got)
	}
	for letter, want := range map[string][]int{"A": {400, 200, 0}, "K": {150, 75, 0}, "E": {0}, "G": {0}} {
		f := find(t, letter)
		buyers := f.Load.Orders
		for _, want := range want {
			if buyers = f.fewer(buyers); buyers != want {
				t.Errorf("fault %s: then %d buyers, want %d", letter, buyers, want)
			}
		}
	}
	// What no count shows is said by its requirement.
	wrong.Invariants = []verify.Invariant{{Name: verify.Unexplained, Violations: 2, Sample: []string{"flag 7"}}}
	if got := (Ends{}).sentence(Fault{}, Run{}, wrong); !strings.Contains(got, verify.Unexplained+"; the first: flag 7") {
		t.Errorf("%q, want the requirement and the first violation", got)
	}
}

// The books of a run are those of all its products, also of the ones that are not listed.
func TestBooksOfManyProducts(t *testing.T) {
	st := systemtest.Up(t, systemtest.Build(t), func(c *system.Config) { c.OrderServices, c.StockServices = 1, 1 })
	sale := Sale{Promised: 640}
	for id := int64(1001); id <= 1064; id++ {
		sale.Goods = append(sale.Goods, id)
		for _, query := range []string{
			`INSERT INTO stock (goods_id, name, num, updated_at) VALUES (?, 'ticket', 9, NOW(6))`,
			`INSERT INTO stock_flow (flag, goods_id, kind, num, created_at) VALUES ('restocked', ?, 'restock', 10, NOW(6))`,
			`INSERT INTO stock_flow (flag, goods_id, kind, num, created_at) VALUES ('ordered', ?, 'deduct', -2, NOW(6))`,
		} {
			if _, err := st.StockDB.ExecContext(t.Context(), query, id); err != nil {
				t.Fatal(err)
			}
		}
	}
	b, err := ReadBooks(t.Context(), st.StockDB, sale)
	if got := b.line(); err != nil || got != "640 in, 128 sold, 576 there" {
		t.Errorf("%s, %v", got, err)
	}
	e, err := endsOf(t.Context(), st.StockDB, "", &history.History{}, b, &verify.Verdict{})
	if err != nil || e.Uncounted != 64 {
		t.Errorf("%d pieces are sold and still counted, %v; want 64", e.Uncounted, err)
	}
}

// The numbers are those of the rows.
func TestEndsAreCountedInTheRows(t *testing.T) {
	st := systemtest.Up(t, systemtest.Build(t), func(c *system.Config) { c.OrderServices, c.StockServices = 1, 1 })
	for _, query := range []string{
		`INSERT INTO stock (goods_id, name, num, updated_at) VALUES (901, 'ticket', 97, NOW(6)), (902, 'other', 1, NOW(6))`,
		`INSERT INTO stock_flow (flag, goods_id, kind, num, created_at) VALUES
			('r', 901, 'restock', 100, NOW(6)), ('q', 902, 'restock', 9, NOW(6)),
			('1', 901, 'deduct', -2, NOW(6)), ('2', 901, 'deduct', -3, NOW(6)), ('3', 901, 'deduct', -4, NOW(6)),
			('3', 901, 'restore', 4, NOW(6)), ('4', 901, 'deduct', 5, NOW(6)), ('5', 902, 'deduct', -8, NOW(6))`,
	} {
		if _, err := st.StockDB.ExecContext(t.Context(), query); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := st.OrderDB.ExecContext(t.Context(), `
		INSERT INTO orders (id, status, body_hash, total, created_at, updated_at)
		VALUES (1, 'REJECTED', REPEAT('a', 32), 1, NOW(6), NOW(6)), (2, 'CONFIRMED', REPEAT('a', 32), 1, NOW(6), NOW(6)),
			(3, 'CANCELLED', REPEAT('a', 32), 1, NOW(6), NOW(6)), (5, 'REJECTED', REPEAT('a', 32), 1, NOW(6), NOW(6))`,
	); err != nil {
		t.Fatal(err)
	}
	h := &history.History{Path: history.PathOrder, Goods: []history.Goods{{ID: 901}}}
	b, err := ReadBooks(t.Context(), st.StockDB, Sale{[]int64{901}, 100, map[int64]int64{901: 3}})
	if err != nil {
		t.Fatal(err)
	}
	v := &verify.Verdict{Outcome: verify.Violation, Orders: 4, Rejected: 1, Pending: 1, Invariants: []verify.Invariant{
		{Name: trial.NotGivenUp.Name, Violations: 7}, {Name: firstAnswerEnds.Name, Violations: 8},
	}}
	got, err := endsOf(t.Context(), st.StockDB, st.Databases().OrderDSN, h, b, v)
	want := Ends{
		Orders: 4, Stock: 100, Sold: 3, Uncounted: -3, Lost: 1, LostPieces: 2, Open: 1, GivenUp: 7,
		Unserved: 8, Negative: 1, Added: 5,
	}
	if err != nil || got != want {
		t.Errorf("%+v, %v; want %+v", got, err, want)
	}
	// Of the pieces that the run was to stock in its middle, those count that have come.
	h.Goods[0].Stock, h.Reprices = 95, true
	if r, err := RecordOf(t.Context(), Run{}, h, v, st.Databases()); err != nil || r.Run.Stock != 100 {
		t.Errorf("%d pieces of %d, %v; want 100", r.Run.Stock, h.Promised(), err)
	}
	// A scene has the books of all products, also of those that the table has no room for.
	of := Sale{Goods: []int64{901}}
	for id := range int64(mostRows) {
		of.Goods = append(of.Goods, 1000+id)
		for _, query := range []string{
			"INSERT INTO stock (goods_id, name, num, updated_at) VALUES (?, 'cup', 2, NOW(6))",
			"INSERT INTO stock_flow (flag, goods_id, kind, num, created_at) VALUES ('c', ?, 'restock', 2, NOW(6))",
		} {
			if _, err := st.StockDB.ExecContext(t.Context(), query, 1000+id); err != nil {
				t.Fatal(err)
			}
		}
	}
	if b, err = ReadBooks(t.Context(), st.StockDB, of); err != nil || b.line() != "180 in, 0 sold, 177 there" {
		t.Errorf("the books of %d products are %q, %v", b.Products, b.line(), err)
	}
}
