package tables

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"orderstock/loadtest/report"
	"orderstock/pkg/mysqldb"
)

// Books are the levels of the run's goods and the sums of their ledger entries.
type Books struct {
	Rows []BookRow `json:"rows"` // at most mostRows, disagreeing ones first
	// Products counts all products. Sold is the larger of the pieces that left the shelf for good and the
	// acknowledged ones, Stock the pieces that came in or that the run promised, and There the pieces on the shelf, of all
	// products.
	Products int   `json:"products"`
	Sold     int64 `json:"sold"`
	Stock    int64 `json:"stock"`
	There    int64 `json:"there"`
	// Scope says which products these are, such as "the newest 10 of 200 products"; "" if they are all of a run or of
	// the stack.
	Scope string `json:"scope"`
	// Heard is set if this process fired the orders, and so knows the answers.
	Heard bool `json:"heard"`

	// In, and out less back, of all products.
	in, out int64

	Wrong string `json:"wrong"` // the first disagreement in words; "" if there is none
	// Unequal says why Out and Sold differ though the books agree; "" if they do not differ, or nobody knows.
	Unequal string    `json:"unequal"`
	ReadAt  time.Time `json:"read_at,omitzero"`
}

// BookRow is one product.
type BookRow struct {
	Goods string `json:"goods"`
	Name  string `json:"name" col:"Product"`
	In    int64  `json:"in" col:"In"`
	Out   int64  `json:"out" col:"Out"`
	Back  int64  `json:"back" col:"Back"`
	There int64  `json:"there" col:"There"`
	// Sold is the number of acknowledged pieces.
	Sold         int64  `json:"told" col:"Sold"`
	Disagreement string `json:"wrong" col:"Disagreement"`
}

// Wrong marks a row of a table.
func (r BookRow) Wrong() bool { return r.Disagreement != "" }

// booksQuery reads levels and sums of the ledger in one statement, which is one
// snapshot: the two must agree in the middle of a run as well.
const booksQuery = `SELECT s.goods_id, s.name,
	s.num,
	COALESCE(SUM(CASE WHEN f.kind = 'restock' THEN f.num END), 0),
	COALESCE(SUM(CASE WHEN f.kind = 'deduct' THEN -f.num END), 0),
	COALESCE(SUM(CASE WHEN f.kind = 'restore' THEN f.num END), 0),
	COALESCE(SUM(CASE WHEN f.kind = 'pruned' THEN f.num END), 0)
FROM stock s LEFT JOIN stock_flow f ON f.goods_id = s.goods_id
WHERE s.goods_id IN (%s) GROUP BY s.goods_id, s.name, s.num ORDER BY s.goods_id`

// ReadBooks reads the books of a sale from the stock service's database.
func ReadBooks(ctx context.Context, stock *sql.DB, of Sale) (Books, error) {
	sold, gone := of.Acknowledged, int64(0)
	books := Books{Rows: []BookRow{}, Heard: sold != nil}
	if len(of.Goods) == 0 {
		return books, nil
	}
	ids := make([]string, len(of.Goods))
	for i, id := range of.Goods {
		ids[i] = strconv.FormatInt(id, 10)
	}
	type row struct {
		BookRow
		id, pruned int64
	}
	columns := func(r *row) []any { return []any{&r.id, &r.Name, &r.There, &r.In, &r.Out, &r.Back, &r.pruned} }
	query := fmt.Sprintf(booksQuery, strings.Join(ids, ","))
	for r, err := range mysqldb.Rows(ctx, stock, columns, query) {
		if err != nil {
			return books, fmt.Errorf("read books: %w", err)
		}
		r.Goods, r.Sold = strconv.FormatInt(r.id, 10), sold[r.id]
		if strings.HasPrefix(r.Name, "load test ") {
			r.Name = fmt.Sprintf("product %d", len(books.Rows)+1)
		}
		r.In += r.pruned
		r.Disagreement = r.disagreement(sold != nil)
		if r.Wrong() && books.Wrong == "" {
			books.Wrong = r.Name + ": " + r.Disagreement
		}
		books.Products++
		books.in, books.out = books.in+r.In, books.out+r.Out-r.Back
		books.Sold += max(r.Out-r.Back, r.Sold)
		books.Stock += r.In
		books.There += r.There
		gone += r.Out - r.Back - r.Sold
		books.Rows = append(books.Rows, r.BookRow)
	}
	books.Stock = max(books.Stock, of.Promised)
	if books.Heard {
		books.Unequal = unequal(gone)
	}
	books.ReadAt = time.Now().UTC()
	books.cut()
	return books, nil
}

// unequal says why n more pieces went out than were acknowledged, or -n fewer; "" if n is 0.
func unequal(n int64) string {
	switch {
	case n > 0:
		return report.English.Sprintf("Out is %d more than Sold: orders by hand, or answers on their way, lost or wrong.", n)
	case n < 0:
		return report.English.Sprintf("Sold is %d more than Out: answers to cancellations on their way, or wrong answers.",
			-n)
	}
	return ""
}

// mostRows is how many products are listed.
const mostRows = 40

// cut puts the rows that disagree first and keeps mostRows of them.
func (b *Books) cut() {
	wrong := slices.DeleteFunc(slices.Clone(b.Rows), func(r BookRow) bool { return !r.Wrong() })
	b.Rows = append(wrong, slices.DeleteFunc(b.Rows, BookRow.Wrong)...)
	b.Rows = b.Rows[:min(len(b.Rows), mostRows)]
}

// disagreement describes how a product's books disagree; "" if they agree.
func (r BookRow) disagreement(sold bool) string {
	switch {
	case r.There < 0:
		return report.English.Sprintf("%d pieces are there: fewer than none", r.There)
	case r.In-r.Out+r.Back != r.There:
		return report.English.Sprintf("%d in, %d out, %d back make %d, but %d are there",
			r.In, r.Out, r.Back, r.In-r.Out+r.Back, r.There)
	case sold && r.Sold > r.In:
		return report.English.Sprintf("%d pieces were confirmed to clients, but only %d came in", r.Sold, r.In)
	}
	return ""
}
