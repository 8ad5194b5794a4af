package verify_test

import (
	"bytes"
	"database/sql"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"orderstock/loadtest/history"
	"orderstock/loadtest/verify"
	"orderstock/migrations"
	"orderstock/pkg/servers/serverstest"
)

// world is a pair of databases as two correct services leave them, and the
// history of the client that they served.
type world struct {
	stock, order *sql.DB
	// names of the databases, and their DSNs.
	stockName, orderName string
	stockDSN, orderDSN   string
	lines                []*line
	goods                []*goods
	clock                int64 // µs
}

const run = "proof"

// firstOrder makes ids of as many digits as a snowflake has.
const firstOrder = 1_800_000_000_000_000_000

type goods struct {
	id, num, price int64
}

// line is a call as the history's file has it.
type line struct {
	Line     int    `json:"line"`
	Op       int    `json:"op"`
	Kind     string `json:"kind"`
	Key      string `json:"key"`
	Body     *body  `json:"body,omitempty"`
	Intended int64  `json:"intended_us"`
	Sent     int64  `json:"sent_us"`
	Done     int64  `json:"done_us"`
	Code     int    `json:"code,omitempty"`
	Status   string `json:"status,omitempty"`
	Order    string `json:"order,omitempty"`
	Total    int64  `json:"total,omitempty"`
	Told     []told `json:"told_items,omitempty"`
	Replayed bool   `json:"replayed,omitempty"`
	Problem  string `json:"problem,omitempty"`
	Error    string `json:"error,omitempty"`
}

type told struct {
	item
	Price int64 `json:"price"`
}

type body struct {
	Items []item `json:"items"`
}

type item struct {
	GoodsID string `json:"goods_id"`
	Num     int64  `json:"num"`
}

func newDatabases(t *testing.T) *world {
	t.Helper()
	w := &world{}
	open := func(which string) (*sql.DB, string, string) {
		dsn := serverstest.Database(t)
		cfg, err := mysql.ParseDSN(dsn)
		if err != nil {
			t.Fatal(err)
		}
		db, err := sql.Open("mysql", dsn)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = db.Close() })
		if which != "" {
			if err := migrations.Up(t.Context(), db, which); err != nil {
				t.Fatal(err)
			}
		}
		return db, cfg.DBName, dsn
	}
	w.stock, w.stockName, w.stockDSN = open(migrations.Stock)
	w.order, w.orderName, w.orderDSN = open(migrations.Order)
	return w
}

// copyOf returns a world of its own with the same content.
func (w *world) copyOf(t *testing.T) *world {
	t.Helper()
	c := newDatabases(t)
	c.restore(t, w)
	return c
}

// restore gives w the content of another world.
func (w *world) restore(t *testing.T, from *world) {
	t.Helper()
	for _, table := range []string{"stock", "operations", "stock_flow", "restocks"} {
		exec(t, w.stock, "DELETE FROM "+table)
		exec(t, w.stock, "INSERT INTO "+table+" SELECT * FROM "+from.stockName+"."+table)
	}
	for _, table := range []string{"orders", "order_items"} {
		exec(t, w.order, "DELETE FROM "+table)
		exec(t, w.order, "INSERT INTO "+table+" SELECT * FROM "+from.orderName+"."+table)
	}
	w.lines = nil
	for _, l := range from.lines {
		one := *l
		w.lines = append(w.lines, &one)
	}
	w.goods, w.clock = from.goods, from.clock
}

func exec(t *testing.T, db *sql.DB, statement string, args ...any) {
	t.Helper()
	if _, err := db.ExecContext(t.Context(), statement, args...); err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
}

// newStock has three products and no order.
func newStock(t *testing.T) *world {
	t.Helper()
	w := newDatabases(t)
	for i, num := range []int64{20, 15, 1000} {
		g := &goods{id: int64(i + 1), price: int64(100 * (i + 1))}
		w.goods = append(w.goods, g)
		name, flag := "load test "+run, fmt.Sprintf("restock-%s-%d", run, i)
		exec(t, w.stock, "INSERT INTO stock (goods_id, name, price, num, updated_at) VALUES (?, ?, ?, 0, NOW(6))", g.id,
			name, g.price)
		exec(t, w.stock, "INSERT INTO restocks (flag, goods_id, name, price) VALUES (?, ?, ?, ?)", flag, g.id, name, g.price)
		w.flow(t, flag, g, "restock", num)
	}
	return w
}

// newWorld is the good one: products 1 and 2 sell out, product 3 does not.
func newWorld(t *testing.T) *world {
	t.Helper()
	w := newStock(t)
	for n := range 24 {
		items := []item{{"1", int64(1 + n%3)}}
		if n%2 == 0 {
			items = append(items, item{"3", 2})
		}
		if n%3 == 0 {
			items = append(items, item{"2", 2})
		}
		w.buy(t, n, items)
	}
	w.cancel(t, 4)      // confirmed, then cancelled: its stock comes back
	w.again(t, 5)       // a repeat is told the first answer
	w.again(t, 4)       // also after the cancellation
	w.tombstone(t, 24)  // cancelled before anything was deducted
	w.unanswered(t, 25) // the client never heard of it, but it was carried out
	w.buy(t, 26, []item{{"1", 1}})
	return w
}

func (w *world) flow(t *testing.T, flag string, g *goods, kind string, num int64) {
	t.Helper()
	g.num += num
	exec(t, w.stock, "INSERT INTO stock_flow (flag, goods_id, kind, num, created_at) VALUES (?, ?, ?, ?, NOW(6))", flag,
		g.id, kind, num)
	exec(t, w.stock, "UPDATE stock SET num = ? WHERE goods_id = ?", g.num, g.id)
}

func orderID(n int) int64 { return firstOrder + int64(n) }

func flag(n int) string { return fmt.Sprint(orderID(n)) }

func (w *world) of(it item) *goods { return w.goods[it.GoodsID[0]-'1'] }

func (w *world) total(items []item) (sum int64) {
	for _, it := range items {
		sum += w.of(it).price * it.Num
	}
	return sum
}

func (w *world) insert(t *testing.T, n int, items []item, status string, outcome any) {
	t.Helper()
	var sent []history.Item
	for _, it := range items {
		sent = append(sent, history.Item{GoodsID: w.of(it).id, Num: it.Num})
	}
	history.SortItems(sent)
	hash := history.BodyHash(sent)
	exec(t, w.order, "INSERT INTO orders "+
		"(id, status, outcome, idempotency_key, body_hash, total, created_at, updated_at) "+
		"VALUES (?, ?, ?, ?, ?, ?, NOW(6), NOW(6))",
		orderID(n), status, outcome, fmt.Sprintf("%s-%d", run, n), hash[:], w.total(items))
	switch status {
	case "REJECTED":
		exec(t, w.order, "UPDATE orders SET reason = ? WHERE id = ?", short(items), orderID(n))
	case "CANCELLED":
		exec(t, w.order, "UPDATE orders SET reason = ? WHERE id = ?", "expired: the stock service settled nothing in time",
			orderID(n))
	}
	for _, it := range items {
		exec(t, w.order, "INSERT INTO order_items (order_id, goods_id, num, price) VALUES (?, ?, ?, ?)", orderID(n),
			it.GoodsID, it.Num, w.of(it).price)
	}
}

func (w *world) operation(t *testing.T, n int, state string, items []item) {
	t.Helper()
	var parts []string
	for _, g := range "123" { // by rising goods id
		for _, it := range items {
			if it.GoodsID == string(g) {
				parts = append(parts, fmt.Sprintf("%s:%d", it.GoodsID, it.Num))
			}
		}
	}
	reason := ""
	if state == "REJECTED" {
		reason = short(items)
	}
	exec(t, w.stock,
		"INSERT INTO operations (flag, state, reason, items, created_at) VALUES (?, ?, ?, ?, NOW(6))", flag(n),
		state, reason, strings.Join(parts, ","))
}

// short is the reason of a rejection.
func short(items []item) string { return "insufficient_stock: goods " + items[0].GoodsID }

// deduct carries the order out on the stock side, and returns how it ended.
func (w *world) deduct(t *testing.T, n int, items []item) (status string) {
	t.Helper()
	for _, it := range items {
		if w.of(it).num < it.Num {
			w.operation(t, n, "REJECTED", items)
			return "REJECTED"
		}
	}
	w.operation(t, n, "DONE", items)
	for _, it := range items {
		w.flow(t, flag(n), w.of(it), "deduct", -it.Num)
	}
	return "CONFIRMED"
}

var codes = map[string]int{"CONFIRMED": 201, "REJECTED": 409, "CANCELLED": 409, "PENDING": 202}

func (w *world) call(n int, kind string, items []item, status string) *line {
	w.clock += 1000
	var names []told
	for _, g := range "123" { // by rising goods id
		for _, it := range items {
			if it.GoodsID == string(g) {
				names = append(names, told{it, w.of(it).price})
			}
		}
	}
	l := &line{
		Op: n, Kind: kind, Key: fmt.Sprintf("%s-%d", run, n),
		Intended: w.clock, Sent: w.clock, Done: w.clock + 500,
		Code: codes[status], Status: status, Order: flag(n), Total: w.total(items), Told: names,
	}
	if kind == "cancel" {
		l.Code = 200
	} else {
		l.Body = &body{items}
	}
	w.lines = append(w.lines, l)
	return l
}

func (w *world) buy(t *testing.T, n int, items []item) {
	t.Helper()
	status := w.deduct(t, n, items)
	w.insert(t, n, items, status, status)
	w.call(n, "place", items, status)
}

func (w *world) placed(n int) *line {
	for _, l := range w.lines {
		if l.Op == n && l.Kind == "place" {
			return l
		}
	}
	panic(fmt.Sprint("no order ", n))
}

func (w *world) cancel(t *testing.T, n int) {
	t.Helper()
	items := w.placed(n).Body.Items
	for _, it := range items {
		w.flow(t, flag(n), w.of(it), "restore", it.Num)
	}
	exec(t, w.stock, "UPDATE operations SET state = 'RESTORED' WHERE flag = ?", flag(n))
	exec(t, w.order, "UPDATE orders SET status = 'CANCELLED', reason = 'cancelled by the client' WHERE id = ?", orderID(n))
	w.call(n, "cancel", items, "CANCELLED")
}

func (w *world) again(t *testing.T, n int) {
	t.Helper()
	first := w.placed(n)
	w.call(n, "again", first.Body.Items, first.Status).Replayed = true
}

func (w *world) tombstone(t *testing.T, n int) {
	t.Helper()
	items := []item{{"3", 1}}
	w.insert(t, n, items, "CANCELLED", "CANCELLED")
	w.operation(t, n, "CANCELLED", nil)
	w.call(n, "place", items, "PENDING")
	w.call(n, "again", items, "CANCELLED").Replayed = true
}

func (w *world) unanswered(t *testing.T, n int) {
	t.Helper()
	items := []item{{"3", 3}}
	w.insert(t, n, items, w.deduct(t, n, items), "CONFIRMED")
	l := w.call(n, "place", items, "")
	l.Order, l.Total, l.Told, l.Error = "", 0, nil, "broken"
}

// history is the file of the world's calls.
func (w *world) history(t *testing.T) []byte {
	t.Helper()
	var file bytes.Buffer
	write := func(v any) {
		if err := json.NewEncoder(&file).Encode(v); err != nil {
			t.Fatal(err)
		}
	}
	var list []map[string]any
	for i, g := range w.goods {
		list = append(list, map[string]any{"id": fmt.Sprint(g.id), "stock": []int{20, 15, 1000}[i], "price": g.price})
	}
	write(map[string]any{
		"run": run, "path": "order", "started": time.Now().Add(-time.Hour), "elapsed_us": w.clock, "window_us": w.clock,
		"timeout_us": 1_000_000, "goods": list,
	})
	orders := 0
	for i, l := range w.lines {
		l.Line = i + 2
		write(l)
		orders = max(orders, l.Op+1)
	}
	write(struct {
		Orders int `json:"orders"`
		Calls  int `json:"calls"`
	}{orders, len(w.lines)})
	return file.Bytes()
}

func (w *world) verify(t *testing.T) *verify.Verdict {
	t.Helper()
	h, err := history.Read(bytes.NewReader(w.history(t)))
	if err != nil {
		t.Fatal(err)
	}
	v, err := verify.Run(t.Context(), verify.Config{
		Databases: verify.Databases{OrderDSN: w.orderDSN, StockDSN: w.stockDSN}, History: h, Settle: time.Millisecond,
	})
	if err != nil {
		t.Fatal(err)
	}
	return v
}
