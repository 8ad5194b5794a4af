package orderhttp_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"orderstock/order-service/order"
	"orderstock/order-service/orderhttp"
	"orderstock/pkg/httpapi/contracttest"
	"orderstock/pkg/operation"
	"orderstock/pkg/redisdb"
	"orderstock/pkg/servers/serverstest"
)

// orders answers as an order service whose calls fail with err.
type orders struct{ err error }

func (o orders) Place(context.Context, order.Request) (order.Placement, error) {
	item := operation.Item{GoodsID: 1, Num: 1}
	placed := order.Order{ID: 7, Status: order.Pending, Items: []operation.Item{item}, Prices: []int64{1}}
	return order.Placement{Order: placed}, o.err
}
func (o orders) Cancel(context.Context, int64) (order.Order, error) { return order.Order{}, o.err }
func (o orders) Get(context.Context, int64) (order.Order, error) {
	item := operation.Item{GoodsID: 1, Num: 1}
	return order.Order{ID: 7, Status: order.Confirmed, Items: []operation.Item{item}, Prices: []int64{1}}, o.err
}

func (o orders) Page(context.Context, order.Range, bool) ([]order.Order, bool, error) {
	return nil, false, o.err
}

func call(t *testing.T, o orders, method, path, body string) (int, string) {
	t.Helper()
	server := httptest.NewServer(contracttest.Read(t, orderhttp.OpenAPI).Check(t,
		orderhttp.New(o, orderhttp.Config{}, slog.New(slog.DiscardHandler))))
	defer server.Close()
	req, err := http.NewRequestWithContext(t.Context(), method, server.URL+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(text)
}

func TestTheRootListsTheCalls(t *testing.T) {
	t.Parallel()
	if status, body := call(t, orders{}, "GET", "/", ""); status != http.StatusOK ||
		!strings.Contains(body, "POST /v1/orders") {
		t.Errorf("GET /: %d %s", status, body)
	}
}

func TestTheRootNamesTheConsole(t *testing.T) {
	t.Parallel()
	for _, address := range []string{"", "http://127.0.0.1:8090"} {
		h := contracttest.Read(t, orderhttp.OpenAPI).Check(t,
			orderhttp.New(orders{}, orderhttp.Config{Console: address}, slog.New(slog.DiscardHandler)))
		rec := httptest.NewRecorder()
		h.ServeHTTP(rec, httptest.NewRequest("GET", "/", nil))
		var links map[string]any
		if err := json.Unmarshal(rec.Body.Bytes(), &links); err != nil || rec.Code != http.StatusOK {
			t.Fatal(rec.Code, err)
		}
		if named, ok := links["console"]; ok != (address != "") || ok && named != address {
			t.Errorf("the console at %q is %v in %s", address, named, rec.Body)
		}
	}
}

// TestTheDescriptionIsServed: as it stands, and as a page that names each call and loads nothing.
func TestTheDescriptionIsServed(t *testing.T) {
	t.Parallel()
	if status, body := call(t, orders{}, "GET", "/openapi.json", ""); status != http.StatusOK ||
		body != string(orderhttp.OpenAPI) {
		t.Errorf("GET /openapi.json: %d %.100s", status, body)
	}
	status, page := call(t, orders{}, "GET", "/docs", "")
	for _, want := range []string{
		"POST /v1/orders/{id}/cancel", "Idempotency-Key", "has used its share up",
		`href="#OrderRequest"`, `id="OrderRequest"`,
	} {
		if status != http.StatusOK || !strings.Contains(page, want) {
			t.Errorf("GET /docs: %d without %q:\n%s", status, want, page)
		}
	}
	for _, foreign := range []string{"<script", "src=", "http://", "https://", "url("} {
		if strings.Contains(page, foreign) {
			t.Errorf("the page has %q", foreign)
		}
	}
}

func TestAKeyCanBeRequired(t *testing.T) {
	t.Parallel()
	h := contracttest.Read(t, orderhttp.OpenAPI).Check(t,
		orderhttp.New(orders{}, orderhttp.Config{RequireKey: true}, slog.New(slog.DiscardHandler)))
	for key, want := range map[string]int{"": http.StatusBadRequest, "k": http.StatusAccepted} {
		req := httptest.NewRequest("POST", "/v1/orders", strings.NewReader(`{"items":[{"goods_id":"1","num":1}]}`))
		req.Header.Set("Content-Type", "application/json")
		if key != "" {
			req.Header.Set("Idempotency-Key", key)
		}
		rec := httptest.NewRecorder()
		h.ServeHTTP(rec, req)
		if rec.Code != want || (key == "" && !strings.Contains(rec.Body.String(), "idempotency_key_missing")) {
			t.Errorf("key %q: %d %s, want %d", key, rec.Code, rec.Body, want)
		}
	}
}

func TestHeadWorksWhereGetDoes(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"/", "/healthz", "/readyz", "/v1/orders", "/v1/orders/7"} {
		if status, body := call(t, orders{}, "HEAD", path, ""); status != http.StatusOK || body != "" {
			t.Errorf("HEAD %s: %d %q", path, status, body)
		}
	}
	if status, _ := call(t, orders{err: order.ErrNotFound}, "HEAD", "/v1/orders/7", ""); status != http.StatusNotFound {
		t.Errorf("HEAD of an order that is not there: %d", status)
	}
}

// TestDetailsAreForTheClient: a detail holds neither the step that failed nor its cause.
func TestDetailsAreForTheClient(t *testing.T) {
	t.Parallel()
	const place, cancel = "/v1/orders", "/v1/orders/7/cancel"
	for _, c := range []struct {
		path   string
		err    error
		status int
		detail string
	}{
		{
			place, fmt.Errorf("price order: %w", fmt.Errorf("%w: product 7", operation.ErrUnknownGoods)),
			422, "unknown product: product 7",
		},
		{cancel, fmt.Errorf("cancel order: %w", order.ErrRejected), 409, "the order was rejected"},
		{
			cancel, fmt.Errorf("insert order: %w: dial tcp 10.0.0.1: refused", order.ErrUnavailable),
			503, "not available in time",
		},
	} {
		status, body := call(t, orders{err: c.err}, "POST", c.path, `{"items":[{"goods_id":"7","num":1}]}`)
		var problem struct{ Detail string }
		if err := json.Unmarshal([]byte(body), &problem); err != nil || status != c.status || problem.Detail != c.detail {
			t.Errorf("%v: %d %s, %v; want %d with the detail %q", c.err, status, body, err, c.status, c.detail)
		}
	}
}

// TestTheAnswerToTooManyRequestsIsDescribed: the second call of a client that may send one a day.
func TestTheAnswerToTooManyRequestsIsDescribed(t *testing.T) {
	quiet := slog.New(slog.DiscardHandler)
	var once orderhttp.Rate
	if err := once.UnmarshalText([]byte("1-D")); err != nil {
		t.Fatal(err)
	}
	limits := orderhttp.OpenLimits(orderhttp.LimitConfig{
		Redis:   redisdb.Server{Addrs: []string{serverstest.Redis(t).Addr()}, DB: serverstest.RedisDB(t)},
		Timeout: 20 * time.Second, Log: quiet,
	})
	defer func() { _ = limits.Close() }()
	cfg := orderhttp.Config{LimitOrders: limits.Limit("orders", once), LimitReads: limits.Limit("reads", once)}
	h := contracttest.Read(t, orderhttp.OpenAPI).Check(t, orderhttp.New(orders{}, cfg, quiet))
	for _, c := range [][3]string{
		{"POST", "/v1/orders", `{"items":[{"goods_id":"1","num":1}]}`}, {"GET", "/v1/orders", ""},
	} {
		for i := range 2 {
			req := httptest.NewRequest(c[0], c[1], strings.NewReader(c[2]))
			req.Header.Set("Content-Type", "application/json")
			rec := httptest.NewRecorder()
			h.ServeHTTP(rec, req)
			if refused := rec.Code == http.StatusTooManyRequests; refused != (i == 1) ||
				refused != (rec.Header().Get("Retry-After") != "") {
				t.Errorf("%s %s, call %d: %d, Retry-After %q", c[0], c[1], i+1, rec.Code, rec.Header().Get("Retry-After"))
			}
		}
	}
}
