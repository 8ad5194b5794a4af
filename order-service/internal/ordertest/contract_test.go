package ordertest_test

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"orderstock/order-service/orderhttp"
	"orderstock/pkg/httpapi/contracttest"
	"orderstock/pkg/observe"
	"orderstock/stock-service/stockhttp"
)

// callsInARow of one generated history. With rapid's 100 checks these are 2,000 calls; -rapid.checks=1000 makes 20,000.
const callsInARow = 20

// TestGeneratedCalls sends calls that are generated from the descriptions to both services. Every answer must be
// as described. The descriptions allow no 5xx but 503, which does not occur here. A refused call changes nothing.
func TestGeneratedCalls(t *testing.T) {
	w := newWorld(t)
	r := w.replica(enough)
	served := []struct {
		url, token string
		d          *contracttest.Description
	}{
		{r.http.URL, "", contracttest.Read(t, orderhttp.OpenAPI)},
		{w.stockURL, token, contracttest.Read(t, stockhttp.OpenAPI)},
	}
	statuses := map[string]map[int]int{}
	history := func(rt *rapid.T) {
		w.wipe()
		known := map[string][]string{
			"goods_id":             {"1", "2", "3", "4", "5", "6"},
			"flag":                 {"a", "b", "c"},
			"Idempotency-Key":      {"x", "y", `"y"`},
			"after":                {"", "1", "2"},
			"X-Request-Timeout-Ms": {"60000"},
		}
		for goods := range int64(4) {
			w.restock(goods+1, 5+20*goods)
		}
		known["id"] = []string{r.place("", 1, 1).order.ID}
		before := w.books()
		for range callsInARow {
			s := served[rapid.IntRange(0, 1).Draw(rt, "service")]
			call := s.d.Generate(rt, known).Call()
			req, err := http.NewRequestWithContext(t.Context(), call.Method, s.url+call.Path, strings.NewReader(call.Body))
			if err != nil {
				rt.Fatalf("%+v: %v", call, err)
			}
			req.Header = call.Header
			if ms, err := strconv.Atoi(req.Header.Get(observe.HeaderTimeout)); err == nil && ms < 60_000 {
				req.Header.Del(observe.HeaderTimeout) // 503 would be the right answer, and the work would go on
			}
			if s.token != "" {
				req.Header.Set("Authorization", "Bearer "+s.token)
			}
			resp, err := http.DefaultClient.Do(req)
			if err != nil {
				rt.Fatalf("%+v: %v", call, err)
			}
			body, err := io.ReadAll(resp.Body)
			_ = resp.Body.Close()
			if err != nil || resp.StatusCode >= 500 || t.Failed() {
				rt.Fatalf("%+v: %d %s %v", call, resp.StatusCode, body, err)
			}
			if statuses[call.Operation] == nil {
				statuses[call.Operation] = map[int]int{}
			}
			statuses[call.Operation][resp.StatusCode]++
			if at := resp.Header.Get("Location"); strings.HasPrefix(at, "/v1/orders/") {
				known["id"] = append(known["id"], strings.TrimPrefix(at, "/v1/orders/"))
				known["flag"] = append(known["flag"], known["id"][len(known["id"])-1])
			}
			after := w.books()
			refused := resp.StatusCode >= 400 && resp.Header.Get("Location") == "" // a rejected order has a place
			if (refused || call.Method == http.MethodGet) && after != before {
				rt.Fatalf("%+v: %d %s changed\n%s\nto\n%s", call, resp.StatusCode, body, before, after)
			}
			before = after
		}
	}
	rapid.Check(t, history)
	missing := func() (all []string) {
		for operation, wanted := range map[string][]int{
			"placeOrder":  {201, 400, 409, 422},
			"getOrder":    {200, 400, 404},
			"cancelOrder": {200, 400, 404},
			"listOrders":  {200, 422},
			"deduct":      {200, 422},
			"deductAll":   {200, 422},
			"cancel":      {200},
			"restock":     {200, 422},
			"flows":       {200, 422},
		} {
			for _, status := range wanted {
				if statuses[operation][status] == 0 {
					all = append(all, fmt.Sprint(operation, " ", status))
				}
			}
		}
		return all
	}
	// Some answers come once in 500 calls. A fifth of the calls, as with -short, may well have none of them.
	for begun := time.Now(); !testing.Short() && len(missing()) > 0; rapid.Check(t, history) {
		if time.Since(begun) > time.Minute {
			t.Fatalf("no call was answered as %q; the answers: %v", missing(), statuses)
		}
	}
	t.Logf("answers: %v", statuses)
}

// wipe empties both databases.
func (w *world) wipe() {
	for _, table := range []string{"order_items", "orders"} {
		must(w.t, w.orderDB.Exec("DELETE FROM "+table).Error)
	}
	for _, table := range []string{"stock_flow", "restocks", "operations", "stock"} {
		must(w.t, w.stockDB.Exec("DELETE FROM "+table).Error)
	}
}

// books returns all rows that matter, as text.
func (w *world) books() string {
	var orders, ledger []string
	must(w.t, w.orderDB.Raw(`SELECT CONCAT_WS('|', id, status, reason, total) FROM orders
		UNION ALL SELECT CONCAT_WS('|', order_id, goods_id, num, price) FROM order_items`).Scan(&orders).Error)
	must(w.t, w.stockDB.Raw(`SELECT CONCAT_WS('|', goods_id, name, price, num) FROM stock
		UNION ALL SELECT CONCAT_WS('|', flag, state, items) FROM operations
		UNION ALL SELECT CONCAT_WS('|', flag, goods_id, kind, num) FROM stock_flow`).Scan(&ledger).Error)
	slices.Sort(orders)
	slices.Sort(ledger)
	return strconv.Itoa(len(orders)) + " " + strings.Join(orders, "\n") + "\n\n" + strings.Join(ledger, "\n")
}

// TestAKeyMayBeQuoted: the draft of the IETF writes the key as a quoted string, and most clients send it bare.
func TestAKeyMayBeQuoted(t *testing.T) {
	w, r := serve(t, enough, 5)
	bare, quoted := r.place("key", 1, 1), r.place(`"key"`, 1, 1)
	if bare.status != http.StatusCreated || quoted.body != bare.body || !quoted.replayed {
		t.Errorf("bare %d %s, quoted %d %s", bare.status, bare.body, quoted.status, quoted.body)
	}
	w.wantRows(1, 1)
}
