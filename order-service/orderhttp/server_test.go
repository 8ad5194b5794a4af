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

	"orderstock/order-service/order"
	"orderstock/order-service/orderhttp"
)

// orders answers as an order service whose calls fail with err.
type orders struct{ err error }

func (o orders) Place(context.Context, order.Request) (order.Placement, error) {
	return order.Placement{}, o.err
}
func (o orders) Cancel(context.Context, int64) (order.Order, error) { return order.Order{}, o.err }
func (o orders) Get(context.Context, int64) (order.Order, error)    { return order.Order{ID: 7}, o.err }

func (o orders) Page(context.Context, order.Status, int64, int) ([]order.Order, bool, error) {
	return nil, false, o.err
}

func call(t *testing.T, o orders, method, path, body string) (int, string) {
	t.Helper()
	server := httptest.NewServer(orderhttp.New(o, nil, slog.New(slog.DiscardHandler)))
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
	if status, body := call(t, orders{}, "GET", "/", ""); status != http.StatusOK || !strings.Contains(body, "POST /v1/orders") {
		t.Errorf("GET /: %d %s", status, body)
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

// TestDetailsAreForTheClient: what the code was doing is not the client's, and causes are not either.
func TestDetailsAreForTheClient(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		err    error
		status int
		detail string
	}{
		{fmt.Errorf("price order: %w", fmt.Errorf("%w: goods 7", order.ErrUnknownGoods)), 422, "unknown goods: goods 7"},
		{fmt.Errorf("cancel order: %w", order.ErrRejected), 409, "the order was rejected"},
		{fmt.Errorf("insert order: %w: dial tcp 10.0.0.1: refused", order.ErrUnavailable), 503, "not available in time"},
	} {
		status, body := call(t, orders{err: c.err}, "POST", "/v1/orders/7/cancel", "")
		var problem struct{ Detail string }
		if err := json.Unmarshal([]byte(body), &problem); err != nil || status != c.status || problem.Detail != c.detail {
			t.Errorf("%v: %d %s, %v; want %d with the detail %q", c.err, status, body, err, c.status, c.detail)
		}
	}
}
