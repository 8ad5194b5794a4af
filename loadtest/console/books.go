package console

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"orderstock/pkg/mysqldb"
)

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

// readBooks returns the books of the goods. sold has, for each product, the number of
// pieces acknowledged to clients; it is nil if this process did not fire the orders.
func readBooks(ctx context.Context, stock *sql.DB, goods []int64, sold map[int64]int64) (Books, error) {
	books := Books{Rows: []BookRow{}, Heard: sold != nil}
	if len(goods) == 0 {
		return books, nil
	}
	ids := make([]string, len(goods))
	for i, id := range goods {
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
		r.Wrong = r.disagreement(sold != nil)
		if r.Wrong != "" && books.Wrong == "" {
			books.Wrong = r.Name + ": " + r.Wrong
		}
		books.Products++
		books.Sold += max(r.Out-r.Back, r.Sold)
		books.Stock += r.In
		books.Rows = append(books.Rows, r.BookRow)
	}
	books.ReadAt = time.Now().UTC()
	return books, nil
}

// mostRows is how many products the page lists.
const mostRows = 40

// cut puts the rows that disagree first and keeps mostRows of them.
func (b *Books) cut() {
	slices.SortStableFunc(b.Rows, func(x, y BookRow) int {
		switch {
		case (x.Wrong == "") == (y.Wrong == ""):
			return 0
		case x.Wrong != "":
			return -1
		}
		return 1
	})
	b.Rows = b.Rows[:min(len(b.Rows), mostRows)]
}

// disagreement describes how a product's books disagree; "" if they agree.
func (r BookRow) disagreement(sold bool) string {
	switch {
	case r.There < 0:
		return fmt.Sprintf("%d pieces are there: fewer than none", r.There)
	case r.In-r.Out+r.Back != r.There:
		return fmt.Sprintf("%d in, %d out, %d back make %d, but %d are there",
			r.In, r.Out, r.Back, r.In-r.Out+r.Back, r.There)
	case sold && r.Sold > r.In:
		return fmt.Sprintf("%d pieces were confirmed to clients, but only %d came in", r.Sold, r.In)
	}
	return ""
}

// newestGoods returns the products that were added last. Another process may be firing at them.
func newestGoods(ctx context.Context, stock *sql.DB, limit int) (goods []int64, err error) {
	goods, err = mysqldb.All(ctx, stock, mysqldb.One[int64],
		"SELECT goods_id FROM stock ORDER BY goods_id DESC LIMIT ?", limit)
	if err != nil {
		return nil, fmt.Errorf("read goods: %w", err)
	}
	return goods, nil
}

// mostCounted bounds the products that are counted.
const mostCounted = 10_000

// scopeOf says in words how many of the products the newest are; "" if they are all.
func scopeOf(ctx context.Context, stock *sql.DB, shown int) (string, error) {
	var n int
	err := stock.QueryRowContext(ctx,
		"SELECT COUNT(*) FROM (SELECT 1 FROM stock LIMIT ?) AS counted", mostCounted+1).Scan(&n)
	switch {
	case err != nil:
		return "", fmt.Errorf("count goods: %w", err)
	case n <= shown:
		return "", nil
	case n > mostCounted:
		return english.Sprintf("the newest %d of more than %d products", shown, mostCounted), nil
	}
	return english.Sprintf("the newest %d of %d products", shown, n), nil
}

// readCommits returns how many transactions the server has committed since it started.
func readCommits(ctx context.Context, db *sql.DB) (n int64, err error) {
	var name string
	err = db.QueryRowContext(ctx, "SHOW GLOBAL STATUS LIKE 'Com_commit'").Scan(&name, &n)
	if err != nil {
		return 0, fmt.Errorf("count commits: %w", err)
	}
	return n, nil
}
