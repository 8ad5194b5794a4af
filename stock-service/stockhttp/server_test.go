package stockhttp_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"orderstock/pkg/httpapi"
	"orderstock/pkg/httpapi/contracttest"
	"orderstock/pkg/observe"
	"orderstock/pkg/operation"
	"orderstock/pkg/stockapi"
	"orderstock/stock-service/internal/stocktest"
	"orderstock/stock-service/stock"
	"orderstock/stock-service/stockhttp"
)

const token = "test-token"

type server struct {
	*stocktest.Place
	url    string
	client *stockapi.Client
}

// serve starts the service on a new place. If d is not nil it replaces the strategy.
func serve(t *testing.T, d stock.Deducter, cfg stockhttp.Config) *server {
	t.Helper()
	p := stocktest.New(t)
	if d == nil {
		d = p.Open(t, "conditional-update")
	}
	cfg.Token = token
	h := httptest.NewServer(contracttest.Read(t, stockhttp.OpenAPI).Check(t,
		stockhttp.New(p.Service(d), cfg, stocktest.Quiet)))
	t.Cleanup(h.Close)
	c, err := stockapi.NewClient([]string{h.URL}, stockapi.Config{Token: token, Tries: 1, Timeout: time.Minute})
	must(t, err)
	t.Cleanup(c.Close)
	return &server{p, h.URL, c}
}

func TestAnOperationFromRestockToRestore(t *testing.T) {
	s := serve(t, nil, stockhttp.Config{})
	ctx := t.Context()
	name, price := "lamp", int64(1999)
	goods, err := s.client.Restock(ctx, operation.Restock{GoodsID: 1001, Flag: "r1", Num: 10, Name: &name, Price: &price})
	if want := (operation.Goods{GoodsID: 1001, Name: "lamp", Price: 1999, Num: 10}); err != nil || goods != want {
		t.Fatalf("restock: %+v, %v; want %+v", goods, err, want)
	}
	if goods, err = s.client.Restock(ctx, operation.Restock{GoodsID: 1001, Flag: "r1", Num: 10}); err != nil ||
		goods.Num != 10 {
		t.Errorf("restock again: %+v, %v; want no more than 10", goods, err)
	}
	_, err = s.client.Restock(ctx, operation.Restock{GoodsID: 1001, Flag: "r1", Num: 11})
	if !errors.Is(err, operation.ErrFlagConflict) {
		t.Errorf("restock another number under the flag: %v", err)
	}

	items := []operation.Item{{GoodsID: 1001, Num: 4}}
	op, err := s.client.Deduct(ctx, "f1", items)
	if err != nil || op.State != operation.Done || op.Repeat || len(op.Items) != 1 || op.Items[0] != items[0] {
		t.Fatalf("deduct: %+v, %v", op, err)
	}
	if op, err = s.client.Deduct(ctx, "f1", items); err != nil || op.State != operation.Done || !op.Repeat {
		t.Errorf("deduct again: %+v, %v; want the repeat", op, err)
	}
	_, err = s.client.Deduct(ctx, "f1", []operation.Item{{GoodsID: 1001, Num: 5}})
	if !errors.Is(err, operation.ErrFlagConflict) {
		t.Errorf("deduct other items under the flag: %v", err)
	}
	_, err = s.client.Deduct(ctx, "f2", []operation.Item{{GoodsID: 77, Num: 1}})
	if !errors.Is(err, operation.ErrUnknownGoods) {
		t.Errorf("deduct unknown goods: %v", err)
	}
	if op, err = s.client.Deduct(ctx, "f3", []operation.Item{{GoodsID: 1001, Num: 7}}); err != nil ||
		op.State != operation.Rejected || op.Reason != "insufficient_stock: goods 1001" {
		t.Errorf("deduct too many: %+v, %v", op, err)
	}

	flows, err := s.client.Flows(ctx, "f1", "f3", "nothing")
	if err != nil || len(flows.Operations) != 2 || len(flows.Flows) != 1 || flows.Flows[0].Num != -4 ||
		flows.Flows[0].Kind != operation.KindDeduct {
		t.Errorf("flows: %+v, %v; want two operations, one row of -4", flows, err)
	}
	if op, err = s.client.Cancel(ctx, "f1"); err != nil || op.State != operation.Restored {
		t.Errorf("cancel: %+v, %v", op, err)
	}
	if op, err = s.client.Cancel(ctx, "f3"); err != nil || op.State != operation.Rejected {
		t.Errorf("cancel a rejected deduction: %+v, %v", op, err)
	}
	named, err := s.client.Stock(ctx, 1001, 5)
	if err != nil || len(named) != 1 || named[0].Num != 10 {
		t.Errorf("stock: %+v, %v; want 10 again", named, err)
	}
}

// page reads up to limit products with ids above after.
func (s *server) page(t *testing.T, after string, limit int) (page stockapi.StockResponse, err error) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet,
		fmt.Sprintf("%s/v1/stock?after=%s&limit=%d", s.url, after, limit), nil)
	if err != nil {
		return page, err
	}
	req.Header.Set("Authorization", "Bearer "+token)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return page, err
	}
	return page, errors.Join(json.NewDecoder(resp.Body).Decode(&page), resp.Body.Close())
}

func TestPagesOfStock(t *testing.T) {
	s := serve(t, nil, stockhttp.Config{})
	for range 5 {
		s.Goods(t, 1)
	}
	var seen []int64
	for after, pages := "", 0; ; pages++ {
		page, err := s.page(t, after, 2)
		if err != nil || pages > 3 {
			t.Fatal(pages, err)
		}
		for _, g := range page.Goods {
			seen = append(seen, g.GoodsID)
		}
		if after = page.Next; after == "" {
			break
		}
	}
	if !slices.Equal(seen, []int64{1001, 1002, 1003, 1004, 1005}) {
		t.Errorf("pages hold %d", seen)
	}
	if page, err := s.page(t, "", 5); err != nil || len(page.Goods) != 5 || page.Next != "" {
		t.Errorf("a page of all products names the next one: %+v, %v", page, err)
	}
}

// TestBadInput shows that each is refused with a 4xx that says why, and changes nothing.
func TestBadInput(t *testing.T) {
	s := serve(t, nil, stockhttp.Config{})
	goods := operation.FormatGoodsID(s.Goods(t, 10))
	hundredAndOne := strings.Repeat(`{"goods_id":"1","num":1},`, 100) + `{"goods_id":"1","num":1}`
	item := func(num string) string { return `{"items":[{"goods_id":"` + goods + `","num":` + num + `}]}` }
	id := func(id string) string { return `{"items":[{"goods_id":` + id + `,"num":1}]}` }
	const op = "PUT /v1/operations/f"
	for _, bad := range []struct {
		name, request, body string
		status              int
		code                string
	}{
		{"no items", op, `{"items":[]}`, 422, "invalid_items"},
		{"items missing", op, `{}`, 422, "invalid_items"},
		{"items null", op, `{"items":null}`, 422, "invalid_items"},
		{"101 items", op, `{"items":[` + hundredAndOne + `]}`, 422, "invalid_items"},
		{
			"the same goods twice", op,
			`{"items":[{"goods_id":"` + goods + `","num":1},{"goods_id":"` + goods + `","num":1}]}`,
			422, "duplicate_goods",
		},
		{"num 0", op, item("0"), 422, "invalid_num"},
		{"num -1", op, item("-1"), 422, "invalid_num"},
		{"num 1.5", op, item("1.5"), 422, "invalid_num"},
		{`num "1"`, op, item(`"1"`), 422, "invalid_num"},
		{"num null", op, item("null"), 422, "invalid_num"},
		{"num missing", op, `{"items":[{"goods_id":"` + goods + `"}]}`, 422, "invalid_num"},
		{"num 2^31", op, item("2147483648"), 422, "invalid_num"},
		{"num 2^63", op, item("9223372036854775808"), 422, "invalid_num"},
		{"unknown goods", op, id(`"424242"`), 422, "unknown_goods"},
		{"goods 0", op, id(`"0"`), 422, "invalid_goods_id"},
		{"goods -1", op, id(`"-1"`), 422, "invalid_goods_id"},
		{"goods +1", op, id(`"+1"`), 422, "invalid_goods_id"},
		{"goods 01", op, id(`"01"`), 422, "invalid_goods_id"},
		{"goods 2^63", op, id(`"9223372036854775808"`), 422, "invalid_goods_id"},
		{"goods empty", op, id(`""`), 422, "invalid_goods_id"},
		{"goods with a quote", op, id(`"1' OR '1'='1"`), 422, "invalid_goods_id"},
		{"goods a number", op, id(`1001`), 400, "invalid_field"},
		{"goods a long string", op, id(`"` + strings.Repeat("9", 4096) + `"`), 422, "invalid_goods_id"},
		{"a body of 2 MB", op, item("1" + strings.Repeat(" ", 2<<20)), 413, "body_too_large"},
		{"broken JSON", op, `{"items":[`, 400, "malformed_json"},
		{"no body", op, ``, 400, "malformed_json"},
		{"two values", op, item("1") + item("1"), 400, "malformed_json"},
		{"a list", op, `[]`, 400, "invalid_field"},
		{"field status", op, `{"status":"DONE","items":[{"goods_id":"` + goods + `","num":1}]}`, 400, "unknown_field"},
		{"field price", op, `{"items":[{"goods_id":"` + goods + `","num":1,"price":1}]}`, 400, "unknown_field"},
		{"flag with /", "PUT /v1/operations/a%2Fb", item("1"), 422, "invalid_flag"},
		{"flag with a path", "PUT /v1/operations/a/b", item("1"), 404, "not_found"},
		{"flag ..", "PUT /v1/operations/%2E%2E", item("1"), 422, "invalid_flag"},
		{"flag with NUL", "PUT /v1/operations/a%00", item("1"), 422, "invalid_flag"},
		{"flag with a quote", "PUT /v1/operations/a%27%22", item("1"), 422, "invalid_flag"},
		{"flag of 65", "PUT /v1/operations/" + strings.Repeat("a", 65), item("1"), 422, "invalid_flag"},
		{"flag of 4 KiB", "PUT /v1/operations/" + strings.Repeat("a", 4096), item("1"), 422, "invalid_flag"},
		{"flag of letters that look like others", "PUT /v1/operations/%D0%B0", item("1"), 422, "invalid_flag"},
		{"cancel of a flag with a quote", "POST /v1/operations/a%27/cancel", ``, 422, "invalid_flag"},
		{"wrong method", "DELETE /v1/operations/f", item("1"), 405, "method_not_allowed"},
		{"flows of no flag", "GET /v1/flows", ``, 422, "invalid_flag"},
		{"flows of a bad flag", "GET /v1/flows?flag=a%27", ``, 422, "invalid_flag"},
		{"flows of 501 flags", "GET /v1/flows?" + strings.Repeat("flag=a&", 501), ``, 422, "invalid_flag"},
		{"stock of unknown goods", "GET /v1/stock/424242", ``, 404, "unknown_goods"},
		{"stock of bad goods", "GET /v1/stock/1%27", ``, 422, "invalid_goods_id"},
		{"page of 0", "GET /v1/stock?limit=0", ``, 422, "invalid_page"},
		{"page of 1e9", "GET /v1/stock?limit=1000000000", ``, 422, "invalid_page"},
		{"page of +1", "GET /v1/stock?limit=%2B1", ``, 422, "invalid_page"},
		{"page of 01", "GET /v1/stock?limit=01", ``, 422, "invalid_page"},
		{"page with two limits", "GET /v1/stock?limit=1&limit=2", ``, 422, "invalid_page"},
		{"page with an unknown name", "GET /v1/stock?order=num", ``, 422, "invalid_page"},
		{"goods with an unknown name", "GET /v1/stock?goods_id=1&Limit=1", ``, 422, "invalid_page"},
		{"page with a semicolon", "GET /v1/stock?limit=1;x=1", ``, 422, "invalid_page"},
		{"page with a broken escape", "GET /v1/stock?aft%zzer=1", ``, 422, "invalid_page"},
		{"flows with a broken escape", "GET /v1/flows?flag=a&flag=b%", ``, 422, "invalid_flag"},
		{"flows with an unknown name", "GET /v1/flows?flag=a&limit=1", ``, 422, "invalid_flag"},
		{"a slash at the end", "GET /v1/stock/", ``, 404, "not_found"},
		{"items twice", op, `{"items":[{"goods_id":"` + goods + `","num":1}],"items":[]}`, 400, "malformed_json"},
		{"num in two cases", op, `{"items":[{"goods_id":"` + goods + `","NUM":2,"num":1}]}`, 400, "unknown_field"},
		{"restock without a flag", "POST /v1/stock/" + goods + "/restock", `{"num":1}`, 422, "invalid_flag"},
		{"restock of 0", "POST /v1/stock/" + goods + "/restock", `{"flag":"x","num":0}`, 422, "invalid_num"},
		{"restock of -1", "POST /v1/stock/" + goods + "/restock", `{"flag":"x","num":-1}`, 422, "invalid_num"},
		{"restock without a number", "POST /v1/stock/" + goods + "/restock", `{"flag":"x"}`, 422, "invalid_num"},
		{"restock of 1.5", "POST /v1/stock/" + goods + "/restock", `{"flag":"x","num":1.5}`, 400, "invalid_field"},
		{"restock of a text", "POST /v1/stock/" + goods + "/restock", `{"flag":"x","num":"1"}`, 400, "invalid_field"},
		{
			"restock of 2^63", "POST /v1/stock/" + goods + "/restock", `{"flag":"x","num":9223372036854775808}`,
			400, "invalid_field",
		},
		{
			"restock at a price of 1.5", "POST /v1/stock/" + goods + "/restock",
			`{"flag":"x","num":1,"price":1.5}`, 400, "invalid_field",
		},
		{
			"restock at a price below 0", "POST /v1/stock/" + goods + "/restock",
			`{"flag":"x","num":1,"price":-1}`, 422, "invalid_price",
		},
		{
			"restock under a long name", "POST /v1/stock/" + goods + "/restock",
			`{"flag":"x","num":1,"name":"` + strings.Repeat("é", 101) + `"}`, 422, "invalid_name",
		},
		{
			"restock under a name with NUL", "POST /v1/stock/" + goods + "/restock",
			`{"flag":"x","num":1,"name":"a\u0000b"}`, 422, "invalid_name",
		},
		{
			"restock under a name that lost bytes", "POST /v1/stock/" + goods + "/restock",
			`{"flag":"x","num":1,"name":"a\ufffdb"}`, 422, "invalid_name",
		},
		{
			"restock under a name that is not UTF-8", "POST /v1/stock/" + goods + "/restock",
			"{\"flag\":\"x\",\"num\":1,\"name\":\"a\xffb\"}", 400, "malformed_json",
		},
	} {
		t.Run(bad.name, func(t *testing.T) {
			before := s.dump(t)
			p, _ := s.send(t, bad.request, bad.body, "application/json", token)
			if p.Status != bad.status || p.Code != bad.code || p.RequestID == "" {
				t.Errorf("answer %d %s (%s), request id %q; want %d %s",
					p.Status, p.Code, p.Detail, p.RequestID, bad.status, bad.code)
			}
			if strings.Contains(p.Detail, "-1") && !strings.Contains(bad.body, "-1") ||
				strings.Contains(p.Detail, "not 0") && !strings.Contains(bad.body, "0") && bad.code != "invalid_items" {
				t.Errorf("the answer names a number that was not sent: %s", p.Detail)
			}
			if after := s.dump(t); after != before {
				t.Errorf("changed the database: %s; was %s", after, before)
			}
		})
	}
	for kind, status := range map[string]int{"": 415, "text/plain": 415, "application/json; charset=latin1": 415} {
		if p, _ := s.send(t, op, item("1"), kind, token); p.Status != status {
			t.Errorf("content type %q: %d; want %d", kind, p.Status, status)
		}
	}
	for _, wrong := range []string{"", "x", token + "x", token[1:]} {
		for _, request := range []string{
			op, "POST /v1/operations/f/cancel", "GET /v1/flows?flag=f", "GET /v1/stock",
			"POST /v1/stock/" + goods + "/restock",
		} {
			if p, _ := s.send(t, request, item("1"), "application/json", wrong); p.Status != 401 || p.Code != "unauthorized" {
				t.Errorf("%s with token %q: %d %s; want 401", request, wrong, p.Status, p.Code)
			}
		}
	}
}

// TestTheTokenCanBeChangedWithoutAStop: the new one and the one before are taken, and no other.
func TestTheTokenCanBeChangedWithoutAStop(t *testing.T) {
	s := serve(t, nil, stockhttp.Config{OldToken: "old-token"})
	for given, want := range map[string]int{token: 200, "old-token": 200, "": 401, "x": 401, "old-token" + token: 401} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.url+"/v1/stock", nil)
		must(t, err)
		req.Header.Set("Authorization", "Bearer "+given)
		resp, err := http.DefaultClient.Do(req)
		must(t, err)
		_ = resp.Body.Close()
		if resp.StatusCode != want {
			t.Errorf("token %q: %d, want %d", given, resp.StatusCode, want)
		}
	}
	none := serve(t, nil, stockhttp.Config{}) // no old token is no way in
	if p, _ := none.send(t, "GET /v1/stock", "", "", "Bearer "); p.Status != 401 {
		t.Errorf("an empty token: %d", p.Status)
	}
}

// TestFaultQQuantityIsChecked: the case study takes the client's word for the
// quantity, so that a negative one adds stock.
func TestFaultQQuantityIsChecked(t *testing.T) {
	s := serve(t, nil, stockhttp.Config{})
	goods := s.Goods(t, 10)
	for _, num := range []int64{0, -1, -1 << 40, 1 << 31} {
		_, err := s.client.Deduct(t.Context(), s.Flag(), []operation.Item{{GoodsID: goods, Num: num}})
		if operation.CodeOf(err).Scope() != operation.Final {
			t.Errorf("num %d: %v; want it refused", num, err)
		}
	}
	s.WantLevel(t, goods, 10)
}

// dump returns the rows of all tables as text.
func (s *server) dump(t *testing.T) string {
	t.Helper()
	var all []string
	err := s.DB.Raw(`SELECT CONCAT_WS('|', goods_id, name, price, num) FROM stock
		UNION ALL SELECT CONCAT_WS('|', flag, state, items) FROM operations
		UNION ALL SELECT CONCAT_WS('|', flag, goods_id, kind, num) FROM stock_flow`).Scan(&all).Error
	must(t, err)
	return strings.Join(all, "\n")
}

// send sends a request, "METHOD /path", as it stands, and reads the problem that answers it.
func (s *server) send(t *testing.T, request, body, contentType, token string) (p httpapi.Problem, header http.Header) {
	t.Helper()
	method, path, _ := strings.Cut(request, " ")
	req, err := http.NewRequestWithContext(t.Context(), method, s.url+path, strings.NewReader(body))
	must(t, err)
	if contentType != "" {
		req.Header.Set("Content-Type", contentType)
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := http.DefaultClient.Do(req)
	must(t, err)
	defer func() { _ = resp.Body.Close() }()
	raw, err := io.ReadAll(resp.Body)
	must(t, err)
	if resp.StatusCode < 400 {
		t.Fatalf("%s: %d %s; want it refused", request, resp.StatusCode, raw)
	}
	if kind := resp.Header.Get("Content-Type"); kind != httpapi.ProblemType {
		t.Errorf("content type %q; want %q", kind, httpapi.ProblemType)
	}
	decode(t, raw, &p)
	return p, resp.Header
}

// stuck is a strategy whose lock never comes.
type stuck struct{ entered chan struct{} }

func (s stuck) Deduct(ctx context.Context, _ stock.Request) (operation.Operation, error) {
	s.entered <- struct{}{}
	<-ctx.Done()
	return operation.Operation{}, errors.Join(operation.ErrUnavailable, ctx.Err())
}

func TestShedsLoadAndKeepsDeadlines(t *testing.T) {
	d := stuck{make(chan struct{}, 8)}
	s := serve(t, d, stockhttp.Config{MaxInFlight: 2, Timeout: 20 * time.Second})
	items := []operation.Item{{GoodsID: 1, Num: 1}}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			if _, err := s.client.Deduct(ctx, s.Flag(), items); err == nil {
				t.Error("deducted without a lock")
			}
		})
		<-d.entered
	}
	start := time.Now()
	var refused *stockapi.Error
	_, err := s.client.Deduct(t.Context(), s.Flag(), items)
	if !errors.Is(err, operation.ErrOverloaded) || !errors.As(err, &refused) || refused.RetryAfter == 0 {
		t.Errorf("third at once: %v; want overloaded with a time to retry after", err)
	}
	if took := time.Since(start); took > 10*time.Second {
		t.Errorf("shedding took %v", took)
	}
	cancel()
	wg.Wait()
	p, header := s.send(t, "PUT /v1/operations/late", `{"items":[{"goods_id":"1","num":1}]}`,
		"application/json", token+"x")
	if p.Status != 401 || header.Get("Retry-After") != "" {
		t.Errorf("after the load: %d", p.Status)
	}

	for start = time.Now(); len(d.entered) == 0; { // until the server knows that the two callers have gone
		if time.Since(start) > 15*time.Second {
			t.Fatal("the slots of callers that have gone are not free")
		}
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPut, s.url+"/v1/operations/x",
			strings.NewReader(`{"items":[{"goods_id":"1","num":1}]}`))
		must(t, err)
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Authorization", "Bearer "+token)
		req.Header.Set(observe.HeaderTimeout, "150")
		start := time.Now()
		resp, err := http.DefaultClient.Do(req)
		must(t, err)
		_ = resp.Body.Close()
		if took := time.Since(start); resp.StatusCode != 503 || resp.Header.Get("Retry-After") == "" ||
			took > 10*time.Second {
			t.Errorf("a deadline of 150 ms: %d after %v, Retry-After %q; want 503 in time",
				resp.StatusCode, took, resp.Header.Get("Retry-After"))
		}
	}
}

func decode(t *testing.T, raw []byte, dst any) {
	t.Helper()
	if err := json.Unmarshal(raw, dst); err != nil {
		t.Fatalf("decode %q: %v", raw, err)
	}
}

// must ends the test if err is not nil.
func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
