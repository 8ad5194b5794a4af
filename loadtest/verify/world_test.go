package verify_test

import (
	"database/sql"
	"fmt"
	"slices"
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
	h                    *history.History
	level                map[int64]int64 // by product
}

const run = "proof"

// firstOrder makes ids of as many digits as a snowflake has.
const firstOrder = 1_800_000_000_000_000_000

// items makes items of pairs: a product, and its pieces.
func items(pairs ...int64) (all []history.Item) {
	for i := 0; i < len(pairs); i += 2 {
		all = append(all, history.Item{GoodsID: pairs[i], Num: pairs[i+1]})
	}
	return all
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
	w.h = from.h.Clone()
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
	w.level = map[int64]int64{}
	w.h = &history.History{
		Run: run, Path: history.PathOrder, Started: time.UnixMicro(created), Elapsed: time.Hour,
		Timeout:   time.Second,
		Disturbed: true,
		Goods: []history.Goods{
			{ID: 1, Stock: 20, Price: 100}, {ID: 2, Stock: 15, Price: 200}, {ID: 3, Stock: 1000, Price: 300},
		},
	}
	for i, g := range w.h.Goods {
		name, flag := w.h.GoodsName(), w.h.RestockFlag(i)
		exec(t, w.stock, "INSERT INTO stock (goods_id, name, price, num, updated_at) VALUES (?, ?, ?, 0, NOW(6))", g.ID,
			name, g.Price)
		exec(t, w.stock, "INSERT INTO restocks (flag, goods_id, name, price) VALUES (?, ?, ?, ?)", flag, g.ID, name, g.Price)
		w.flow(t, flag, g.ID, "restock", g.Stock)
	}
	return w
}

// newWorld is the good one: products 1 and 2 sell out, product 3 does not.
func newWorld(t *testing.T) *world {
	t.Helper()
	w := newStock(t)
	for n := range 24 {
		order := items(1, int64(1+n%3))
		if n%2 == 0 {
			order = append(order, items(3, 2)...)
		}
		if n%3 == 0 {
			order = append(order, items(2, 2)...)
		}
		w.buy(t, order)
	}
	w.cancel(t, 4)  // confirmed, then cancelled: its stock comes back
	w.again(5)      // a repeat is told the first answer
	w.again(4)      // also after the cancellation
	w.tombstone(t)  // order 24, cancelled before anything was deducted
	w.unanswered(t) // order 25: the client never heard of it, but it was carried out
	w.buy(t, items(1, 1))
	return w
}

func (w *world) flow(t *testing.T, flag string, goods int64, kind string, num int64) {
	t.Helper()
	w.level[goods] += num
	exec(t, w.stock, "INSERT INTO stock_flow (flag, goods_id, kind, num, created_at) "+
		"VALUES (?, ?, ?, ?, '2001-09-09 01:46:40')", flag, goods, kind, num)
	exec(t, w.stock, "UPDATE stock SET num = ? WHERE goods_id = ?", w.level[goods], goods)
}

// created is the date of every order in the world, in microseconds since 1970.
const created = 1_000_000_000_000_000

func orderID(n int) int64 { return firstOrder + int64(n) }

func flag(n int) string { return fmt.Sprint(orderID(n)) }

// total returns the total of order n.
func (w *world) total(n int) (sum int64) {
	for _, it := range w.h.Items(n) {
		sum += it.Num * w.h.Goods[it.GoodsID-1].Price
	}
	return sum
}

// next adds an order to the history, and returns its number.
func (w *world) next(items []history.Item) int {
	w.h.AddOrder(items)
	return w.h.Orders() - 1
}

func (w *world) insert(t *testing.T, n int, status history.Status) {
	t.Helper()
	sent := w.h.Items(n)
	hash := history.BodyHash(sent)
	reason := ""
	switch status {
	case history.Rejected:
		reason = short(sent)
	case history.Cancelled:
		reason = "expired: the stock service settled nothing in time"
	default:
	}
	exec(t, w.order, "INSERT INTO orders "+
		"(id, status, outcome, reason, idempotency_key, body_hash, total, created_at, updated_at) "+
		"VALUES (?, ?, ?, ?, ?, ?, ?, '2001-09-09 01:46:40', NOW(6))",
		orderID(n), status.String(), status.String(), reason, w.h.Key(n), hash[:], w.total(n))
	for _, it := range sent {
		exec(t, w.order, "INSERT INTO order_items (order_id, goods_id, num, price) VALUES (?, ?, ?, ?)", orderID(n),
			it.GoodsID, it.Num, w.h.Goods[it.GoodsID-1].Price)
	}
}

func (w *world) operation(t *testing.T, n int, state, reason string, items []history.Item) {
	t.Helper()
	var parts []string
	for _, it := range items {
		parts = append(parts, fmt.Sprintf("%d:%d", it.GoodsID, it.Num))
	}
	exec(t, w.stock,
		"INSERT INTO operations (flag, state, reason, items, created_at) VALUES (?, ?, ?, ?, '2001-09-09 01:46:40')", flag(n),
		state, reason, strings.Join(parts, ","))
}

// short is the reason of a rejection.
func short(items []history.Item) string {
	return fmt.Sprint("insufficient_stock: goods ", items[0].GoodsID)
}

// deduct carries the order out on the stock side, and returns how it ended.
func (w *world) deduct(t *testing.T, n int) history.Status {
	t.Helper()
	for _, it := range w.h.Items(n) {
		if w.level[it.GoodsID] < it.Num {
			w.operation(t, n, "REJECTED", short(w.h.Items(n)), w.h.Items(n))
			return history.Rejected
		}
	}
	w.operation(t, n, "DONE", "", w.h.Items(n))
	for _, it := range w.h.Items(n) {
		w.flow(t, flag(n), it.GoodsID, "deduct", -it.Num)
	}
	return history.Confirmed
}

var codes = map[history.Status]uint16{
	history.Confirmed: 201, history.Rejected: 409, history.Cancelled: 409, history.Pending: 202,
}

// call adds a call with a right answer. What it returns is valid until the next call.
func (w *world) call(n int, kind history.Kind, status history.Status) *history.Call {
	at := time.Duration(len(w.h.Calls)+1) * time.Millisecond
	c := history.Call{
		Op: int32(n), Kind: kind, Intended: at, Sent: at, Done: at + 500*time.Microsecond, Code: codes[status],
		Status: status, Order: orderID(n), Total: w.total(n), Named: history.ItemsAsSent,
	}
	if kind == history.Cancel {
		c.Code = 200
	}
	c.Created = created
	if kind.Places() {
		c.Location = history.Located
	}
	switch {
	case kind == history.Cancel:
		c.Reason = w.h.Reasoned("cancelled by the client")
	case status == history.Rejected:
		c.Reason = w.h.Reasoned(short(w.h.Items(n)))
	case status == history.Cancelled:
		c.Reason = w.h.Reasoned("expired: the stock service settled nothing in time")
	}
	w.h.Calls = append(w.h.Calls, c)
	return &w.h.Calls[len(w.h.Calls)-1]
}

// lost adds a call without an answer.
func (w *world) lost(n int, failure history.Failure) {
	c := w.call(n, history.Place, history.NoStatus)
	*c = history.Call{Op: c.Op, Intended: c.Intended, Sent: c.Sent, Done: c.Done, Failure: failure}
}

func (w *world) buy(t *testing.T, items []history.Item) {
	t.Helper()
	n := w.next(items)
	status := w.deduct(t, n)
	w.insert(t, n, status)
	w.call(n, history.Place, status)
}

func (w *world) placed(n int) *history.Call {
	return &w.h.Calls[slices.IndexFunc(w.h.Calls, func(c history.Call) bool {
		return int(c.Op) == n && c.Kind == history.Place
	})]
}

// answered gives the first call of an order another answer.
func (w *world) answered(n int, status history.Status) *history.Call {
	c := w.placed(n)
	c.Code, c.Status = codes[status], status
	return c
}

func (w *world) cancel(t *testing.T, n int) {
	t.Helper()
	w.cancelled(t, n)
	w.call(n, history.Cancel, history.Cancelled)
}

// cancelled cancels an order in the books.
func (w *world) cancelled(t *testing.T, n int) {
	t.Helper()
	for _, it := range w.h.Items(n) {
		w.flow(t, flag(n), it.GoodsID, "restore", it.Num)
	}
	exec(t, w.stock, "UPDATE operations SET state = 'RESTORED' WHERE flag = ?", flag(n))
	exec(t, w.order, "UPDATE orders SET status = 'CANCELLED', reason = 'cancelled by the client' WHERE id = ?", orderID(n))
}

func (w *world) again(n int) { w.call(n, history.Again, w.placed(n).Status).Replayed = true }

func (w *world) tombstone(t *testing.T) {
	t.Helper()
	n := w.next(items(3, 1))
	w.insert(t, n, history.Cancelled)
	w.operation(t, n, "CANCELLED", "", nil)
	w.call(n, history.Place, history.Pending)
	w.call(n, history.Again, history.Cancelled).Replayed = true
}

func (w *world) unanswered(t *testing.T) {
	t.Helper()
	n := w.next(items(3, 3))
	w.insert(t, n, w.deduct(t, n))
	w.lost(n, history.Broken)
}

// page adds a page of orders after an id, read when the calls had ended.
func (w *world) page(after int64, a history.Aside) {
	a.Row, a.Op, a.Method, a.Route = history.RowPage, -1, "GET", "/v1/orders"
	a.Path = fmt.Sprint("/v1/orders?limit=1&after=", after)
	a.All = len(a.Listed)
	a.Sent = w.h.Calls[len(w.h.Calls)-1].Done + time.Second
	a.Done = a.Sent + time.Millisecond
	w.h.Asides = append(w.h.Asides, a)
}

// list adds a page with order n alone, which change may change.
func (w *world) list(n int, change func(*history.Listed)) {
	c := w.placed(n)
	o := history.Listed{
		Order: c.Order, Total: c.Total, Named: c.Named, Op: int32(n), Status: c.Status, AsAnswered: true,
	}
	change(&o)
	w.page(o.Order-1, history.Aside{Code: 200, Next: o.Order, Listed: []history.Listed{o}})
}

func (w *world) verify(t *testing.T) *verify.Verdict {
	t.Helper()
	v, err := verify.Run(t.Context(), verify.Config{
		Databases: verify.Databases{OrderDSN: w.orderDSN, StockDSN: w.stockDSN}, History: w.h, Settle: time.Millisecond,
	})
	if err != nil {
		t.Fatal(err)
	}
	return v
}
