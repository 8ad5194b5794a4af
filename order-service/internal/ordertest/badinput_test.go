package ordertest_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"orderstock/order-service/order"
	"orderstock/pkg/operation"
)

// Fault Q: price and quantity were the client's word, unchecked: a negative
// quantity added stock.
func TestFaultQ_BadInputChangesNothing(t *testing.T) {
	w := newWorld(t)
	r := w.replica(enough)
	w.restock(1001, 10)
	dear := int64(1<<53 - 1)
	_, err := w.client.Restock(t.Context(), operation.Restock{GoodsID: 1003, Flag: "dear", Num: 5, Price: &dear})
	must(t, err)

	item := func(num string) string { return `{"items":[{"goods_id":"1001","num":` + num + `}]}` }
	many := func(n int) string {
		all := make([]string, n)
		for i := range all {
			all[i] = fmt.Sprintf(`{"goods_id":"%d","num":1}`, i+1)
		}
		return `{"items":[` + strings.Join(all, ",") + `]}`
	}
	for _, c := range []struct {
		name, body string
		status     int
		code       string
		headers    []string
	}{
		{"no items", `{"items":[]}`, 422, "invalid_items", nil},
		{"items missing", `{}`, 422, "invalid_items", nil},
		{"items null", `{"items":null}`, 422, "invalid_items", nil},
		{"101 items", many(101), 422, "invalid_items", nil},
		{
			"the same goods twice", `{"items":[{"goods_id":"1001","num":1},{"goods_id":"1001","num":2}]}`,
			422, "duplicate_goods", nil,
		},
		{"num 0", item("0"), 422, "invalid_num", nil},
		{"num -1", item("-1"), 422, "invalid_num", nil},
		{"num 1.5", item("1.5"), 422, "invalid_num", nil},
		{"num 1e0", item("1e0"), 422, "invalid_num", nil},
		{`num "1"`, item(`"1"`), 422, "invalid_num", nil},
		{"num null", item("null"), 422, "invalid_num", nil},
		{"num true", item("true"), 422, "invalid_num", nil},
		{"num missing", `{"items":[{"goods_id":"1001"}]}`, 422, "invalid_num", nil},
		{"num 2^31", item("2147483648"), 422, "invalid_num", nil},
		{"num 2^63", item("9223372036854775808"), 422, "invalid_num", nil},
		{"total overflows", `{"items":[{"goods_id":"1003","num":2147483647}]}`, 422, "total_overflow", nil},
		{
			"total above 2^53-1", `{"items":[{"goods_id":"1001","num":1},{"goods_id":"1003","num":1}]}`,
			422, "total_overflow", nil,
		},
		{"unknown goods", `{"items":[{"goods_id":"1001","num":1},{"goods_id":"404","num":1}]}`, 422, "unknown_goods", nil},
		{"goods id 0", `{"items":[{"goods_id":"0","num":1}]}`, 422, "invalid_goods_id", nil},
		{"goods id with a leading zero", `{"items":[{"goods_id":"01001","num":1}]}`, 422, "invalid_goods_id", nil},
		{"goods id +1001", `{"items":[{"goods_id":"+1001","num":1}]}`, 422, "invalid_goods_id", nil},
		{"goods id -1001", `{"items":[{"goods_id":"-1001","num":1}]}`, 422, "invalid_goods_id", nil},
		{"goods id empty", `{"items":[{"goods_id":"","num":1}]}`, 422, "invalid_goods_id", nil},
		{"goods id null", `{"items":[{"goods_id":null,"num":1}]}`, 422, "invalid_goods_id", nil},
		{"goods id as a number", `{"items":[{"goods_id":1001,"num":1}]}`, 400, "invalid_field", nil},
		{"goods id 2^63", `{"items":[{"goods_id":"9223372036854775808","num":1}]}`, 422, "invalid_goods_id", nil},
		{"goods id with a slash", `{"items":[{"goods_id":"10/01","num":1}]}`, 422, "invalid_goods_id", nil},
		{"goods id with dots", `{"items":[{"goods_id":"../1001","num":1}]}`, 422, "invalid_goods_id", nil},
		{"goods id with a zero byte", `{"items":[{"goods_id":"1001\u0000","num":1}]}`, 422, "invalid_goods_id", nil},
		{"goods id with quotes", `{"items":[{"goods_id":"1001' OR '1'='1","num":1}]}`, 422, "invalid_goods_id", nil},
		{
			"goods id of 4 KiB", `{"items":[{"goods_id":"` + strings.Repeat("1", 4096) + `","num":1}]}`,
			422, "invalid_goods_id", nil,
		},
		{
			"a status of the client's", `{"items":[{"goods_id":"1001","num":1}],"status":"CONFIRMED"}`,
			400, "unknown_field", nil,
		},
		{"a price of the client's", `{"items":[{"goods_id":"1001","num":1,"price":1}]}`, 400, "unknown_field", nil},
		{"broken JSON", `{"items":[{"goods_id":"1001","num":1}`, 400, "malformed_json", nil},
		{"two values", item("1") + item("1"), 400, "malformed_json", nil},
		{"empty body", ``, 400, "malformed_json", nil},
		{"a list", `[]`, 400, "invalid_field", nil},
		{"2 MB", `{"items":"` + strings.Repeat("x", 2<<20) + `"}`, 413, "body_too_large", nil},
		{"another content type", item("1"), 415, "unsupported_media_type", []string{"Content-Type", "text/plain"}},
		{"no content type", item("1"), 415, "unsupported_media_type", []string{"Content-Type", ""}},
		{"items twice", `{"items":[{"goods_id":"1001","num":7}],"items":[{"goods_id":"1002"}]}`, 400, "malformed_json", nil},
		{"num twice", `{"items":[{"goods_id":"1001","num":1,"num":2}]}`, 400, "malformed_json", nil},
		{"num in two cases", `{"items":[{"goods_id":"1001","num":1,"NUM":2}]}`, 400, "unknown_field", nil},
		{"a letter that folds", `{"item\u017f":[{"goods_id":"1001","num":1}]}`, 400, "unknown_field", nil},
		{"empty key", item("1"), 400, "invalid_idempotency_key", []string{"Idempotency-Key", ""}},
		{
			"key of 256 characters", item("1"), 400, "invalid_idempotency_key",
			[]string{"Idempotency-Key", strings.Repeat("k", 256)},
		},
		{"key with a space", item("1"), 400, "invalid_idempotency_key", []string{"Idempotency-Key", "a b"}},
		{"key beyond ASCII", item("1"), 400, "invalid_idempotency_key", []string{"Idempotency-Key", "clé"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := r.call("POST", "/v1/orders", c.body, c.headers...)
			if a.status != c.status || a.order.Code != c.code {
				t.Errorf("got %d %s, want %d %s", a.status, a.body, c.status, c.code)
			}
			if strings.Contains(a.body, "-1") && !strings.Contains(c.body, "-1") {
				t.Errorf("the answer names a number that was not sent: %s", a.body)
			}
		})
	}
	for _, id := range []string{
		"0", "-1", "01", "abc", "1%2F2", "..%2F1", "1%00", "1'", strings.Repeat("1", 4096),
		"9223372036854775808",
	} {
		for method, path := range map[string]string{"GET": "/v1/orders/" + id, "POST": "/v1/orders/" + id + "/cancel"} {
			if a := r.call(method, path, ""); a.status != http.StatusBadRequest || a.order.Code != "invalid_order_id" {
				t.Errorf("%s of id %.20q: %d %s", method, id, a.status, a.body)
			}
		}
	}
	for _, query := range []string{
		"status=DONE", "limit=0", "limit=-1", "limit=501", "limit=x", "limit=1&limit=2", "after=x", "after=-1", "order=id",
		"after=" + url.QueryEscape("1' OR '1'='1"), "limit=%2B1", "limit=01", "status=CANCELLED;x=1", "status=CANCELLED%",
		"stat%zzus=CANCELLED", "Status=CANCELLED",
	} {
		if a := r.call("GET", "/v1/orders?"+query, ""); a.status != http.StatusUnprocessableEntity ||
			a.order.Code != "invalid_page" {
			t.Errorf("page ?%s: %d %s", query, a.status, a.body)
		}
	}
	for _, path := range []string{"/v1/orders/", "/readyz/"} {
		a := r.call("POST", path, item("1"), "X-Forwarded-Prefix", "//elsewhere.example")
		if a.status != http.StatusNotFound {
			t.Errorf("POST %s: %d %s", path, a.status, a.body)
		}
	}
	w.wantRows(0, 0)
	w.wantLevel(1001, 10)
	w.wantLevel(1003, 5)
	if n := w.wire.count(http.MethodPut); n != 0 {
		t.Errorf("the stock service was asked for %d deductions", n)
	}

	// The bounds themselves are inside.
	if a := r.call("POST", "/v1/orders", item("10"),
		"Idempotency-Key", strings.Repeat("k", 255)); a.status != http.StatusCreated {
		t.Errorf("a key of 255 characters: %d %s", a.status, a.body)
	}
	r.call("POST", "/v1/orders", item("2147483647")).want(t, http.StatusConflict, order.Rejected)
	if a := r.call("POST", "/v1/orders", `{"items":[{"goods_id":"1003","num":1}]}`); a.status != http.StatusCreated ||
		a.order.Total != dear {
		t.Errorf("a total of 2^53-1: %d %s", a.status, a.body)
	}
}
