package fire

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"orderstock/loadtest/contract"
	"orderstock/loadtest/history"
	"orderstock/pkg/httpapi"
	"orderstock/pkg/operation"
)

// An odd call follows one order in drawEvery, and after the first drawOften one in fewer times as many: a long run has
// drawn each row of the grammar by then, and made each other kind of call hundreds of times.
const (
	drawEvery = 15
	drawOften = 4000
	fewer     = 4
)

// shuffled returns the rows of the grammar in the order that the run's seed draws them. They are drawn by turns.
func shuffled(cfg Config) []row {
	rows := grammar(cfg.Path, cfg.Path == history.PathOrder && len(cfg.OrderURLs) > 0)
	random(cfg.Mix.Seed, -1).Shuffle(len(rows), func(i, k int) { rows[i], rows[k] = rows[k], rows[i] })
	return rows
}

// random returns the random numbers of order n, which differ from the numbers that draw its items.
func random(seed uint64, n int) *rand.Rand { return rand.New(rand.NewPCG(^seed, uint64(n))) }

// turn returns the row of the grammar whose turn comes after order n, or -1 if none does.
func (f *firing) turn(n int) int {
	switch {
	case n < drawOften && n%drawEvery == 5:
		return n / drawEvery % len(f.rows)
	case n >= drawOften && n%(fewer*drawEvery) == 5:
		return n / (fewer * drawEvery) % len(f.rows)
	}
	return -1
}

// look makes the reads and the odd calls that follow the first answer to an order: a small share of the orders have
// some. A row that needs an order which the client does not know yet waits for its next one.
func (w *worker) look(ctx context.Context, first history.Call, do intent, sent int) {
	if !w.f.h.Odd {
		return
	}
	op := int(first.Op)
	if w.f.h.Reprices && op == w.f.cfg.repriceAfter() {
		w.stockMore(ctx, sent)
	}
	if do.read || first.Status == history.Pending {
		w.read(ctx, op, history.ReadOrder, first.Order)
	}
	if do.ledger {
		w.read(ctx, op, history.ReadLedger, first.Order)
	}
	if do.level {
		w.ask(ctx, history.RowLevel, w.f.level(op))
	}
	if do.read && do.later && !do.few {
		w.schedule(laterCall{op: op, read: true, order: first.Order}, do.delay, sent)
	}
	if first.Ended() && first.Status != history.NoStatus && first.Status != history.Cancelled {
		w.known = known{first.Op, first.Order, slices.Clone(w.items)}
		if w.first.order == 0 {
			w.first = w.known
		}
	}
	if turn := w.f.turn(op); turn >= 0 {
		w.turns = append(w.turns, turn)
	}
	w.turns = slices.DeleteFunc(w.turns, func(turn int) bool {
		d := &drawing{
			h: w.f.h, r: random(w.f.cfg.Mix.Seed, op), fresh: w.f.h.Run + "-odd-" + strconv.Itoa(op) + "-" + strconv.Itoa(turn),
			known: w.known, first: w.first,
		}
		calls := w.f.rows[turn].draw(d)
		for _, q := range calls {
			if a := w.ask(ctx, w.f.rows[turn].name, q); !a.Ended() {
				break // while nobody answers, each would take the whole timeout
			}
		}
		return len(calls) > 0
	})
}

// lookAgain reads some of the orders that are cancelled, at once and later, and cancels some of them again.
func (w *worker) lookAgain(ctx context.Context, l laterCall, sent int) {
	r := random(w.f.cfg.Mix.Seed, l.op)
	if !w.f.h.Odd || l.again {
		return
	}
	if r.IntN(2) == 0 {
		w.read(ctx, l.op, history.ReadOrder, l.order)
	}
	if r.IntN(4) == 0 {
		w.read(ctx, l.op, history.ReadLedger, l.order)
	}
	if l.few {
		return
	}
	if r.IntN(4) == 0 && w.f.cfg.Path == history.PathOrder {
		status := []history.Status{history.Confirmed, history.Cancelled}[r.IntN(2)]
		w.list(ctx, fmt.Sprintf("after=%d&limit=3&status=%s", l.order-1, status))
	}
	if r.IntN(4) == 0 {
		w.schedule(laterCall{op: l.op, cancel: true, again: true, order: l.order}, r.Float64(), sent)
	}
	if r.IntN(4) == 0 {
		w.schedule(laterCall{op: l.op, read: true, order: l.order}, r.Float64(), sent)
	}
}

// read reads an order, if its id is known and it is one.
func (w *worker) read(ctx context.Context, op int, kind history.Kind, order int64) {
	deduct := w.f.cfg.Path == history.PathDeduct
	if order == 0 && !deduct || kind == history.ReadOrder && (deduct || len(w.f.cfg.OrderURLs) == 0) {
		return
	}
	w.call(ctx, op, kind, order, w.f.now())
}

// list reads a page of orders, unless another client does: the order service keeps its pages to a tenth of one
// connection's time, so many of them would wait for seconds.
func (w *worker) list(ctx context.Context, query string) {
	if w.f.listing.TryLock() {
		defer w.f.listing.Unlock()
		list := contract.Find(http.MethodGet, "/v1/orders")
		w.ask(ctx, rowCancelled, call{route: list, path: list.Path + "?" + query, op: -1})
	}
}

// ask makes a call on the main connection, and keeps it.
func (w *worker) ask(ctx context.Context, name string, q call) history.Aside {
	a := w.main.ask(ctx, name, q)
	w.asides = append(w.asides, a)
	return a
}

// rowCancelled is the row of the lists of one status that are read after a cancellation.
const rowCancelled = "list: after a cancellation"

// rowRestock is the row of the restocks in the middle of a run.
const rowRestock = "restock"

// stockMore raises the price of the product Repriced. The rest of the restocks of history.More follow the client's next
// order.
func (w *worker) stockMore(ctx context.Context, sent int) {
	w.ask(ctx, rowRestock+": a higher price", restockCall(w.f.h.More(0)))
	w.later = slices.Insert(w.later, 0, laterCall{restock: true, due: sent + 1})
}

// stockTheRest lowers the price again, sends the run's restock of the product again, as the price of before must not
// come back, and stocks it in pairs at once: two restocks, or one twice.
func (w *worker) stockTheRest(ctx context.Context) {
	w.ask(ctx, rowRestock+": a lower price", restockCall(w.f.h.More(1)))
	w.ask(ctx, rowRestock+": the first price again", restockCall(w.f.h.Restock(history.Repriced)))
	for _, pair := range [][2]int{{2, 3}, {4, 5}, {6, 6}, {7, 7}} {
		name, other := rowRestock+": two at once", make(chan history.Aside, 1)
		if pair[0] == pair[1] {
			name = rowRestock + ": the same at once"
		}
		go func() { other <- w.twin.ask(ctx, name, restockCall(w.f.h.More(pair[0]))) }()
		w.ask(ctx, name, restockCall(w.f.h.More(pair[1])))
		w.asides = append(w.asides, <-other)
	}
	w.ask(ctx, history.RowLevel, w.f.level(history.Repriced))
}

// level returns a call that reads a product of the run: by turns alone, by its name in the list, and by its place.
func (f *firing) level(turn int) call {
	id := f.h.Goods[turn%len(f.h.Goods)].ID
	q := call{route: contract.Find(http.MethodGet, "/v1/stock"), op: -1}
	switch turn / len(f.h.Goods) % 3 {
	case 0:
		q.route = contract.Find(http.MethodGet, "/v1/stock/{goods_id}")
		q.path = "/v1/stock/" + operation.FormatGoodsID(id)
	case 1:
		q.path = "/v1/stock?goods_id=" + operation.FormatGoodsID(id)
	case 2:
		q.path = "/v1/stock?limit=1&after=" + operation.FormatGoodsID(id-1) // the list goes on after this one
	}
	return q
}

// ask makes a call and returns it with its answer.
func (c *client) ask(ctx context.Context, name string, q call) history.Aside {
	a := history.Aside{
		Row: name, Method: q.route.Method, Route: q.route.Path, Path: q.path, Token: q.token, Key: q.key, Body: q.body,
		Media: q.media, Op: q.op, Sent: c.f.now(),
	}
	if q.head {
		a.Method = http.MethodHead
	}
	id := c.f.h.Run + "-" + strconv.FormatInt(int64(time.Since(c.f.start)), 36)
	r, to := request{method: a.Method, path: a.Path, body: []byte(a.Body), media: a.Media}, &c.orders
	named := name != history.RowLevel && name != history.RowPage // the service gives the others an id
	if named {
		r.header = append(r.header, "X-Request-Id: "+id+"\r\n"...)
	}
	if q.route.Stock {
		to = &c.stock
		for _, t := range tokens {
			if t.name == q.token {
				r.header = append(r.header, t.of(c.f.cfg.StockToken)...)
			}
		}
	}
	if q.key != "" {
		r.header = append(r.header, "Idempotency-Key: "+q.key+"\r\n"...)
	}
	got, err := to.do(context.WithoutCancel(ctx), r)
	a.Done, a.Code, c.after = c.f.now(), uint16(got.code), got.after
	a.Postponed = got.after > history.MostWait
	if !named {
		id = got.requestID
	}
	a.OtherID = err == nil && a.Ended() && (got.requestID != id || id == "")
	switch {
	case err != nil:
		a.Failure = failureOf(err)
	case got.code >= http.StatusBadRequest:
		var p httpapi.Problem
		if json.Unmarshal(got.body, &p, contract.Strict) == nil {
			a.Problem = history.ParseProblem(p.Code)
			a.OtherID = a.OtherID || a.Ended() && p.RequestID != id
			if p.Code != "" && p.Status != got.code {
				a.Failure = history.Unreadable
			}
		}
		a.NoHint = noHint(got, a.Problem)
	default:
		a.Answer = strings.ToValidUTF8(string(got.body), "\ufffd")
	}
	return a
}

// noHint reports whether a service refuses a call for now, and does not say when to repeat it.
func noHint(a answer, p history.Problem) bool {
	return (a.code == http.StatusServiceUnavailable || a.code == http.StatusTooManyRequests) && !a.hinted &&
		p != history.NoProblem
}

// encode returns a value as JSON.
func encode(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err) // it has no values that JSON lacks
	}
	return string(text)
}
