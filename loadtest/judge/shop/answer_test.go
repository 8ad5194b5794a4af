package shop_test

import (
	"net/http"
	"strings"
	"testing"

	"orderstock/loadtest/judge/shop"
)

// answers returns a file with those rules.
func answers(t *testing.T, rules string) *shop.File {
	t.Helper()
	head, rest, _ := strings.Cut(good, "answers:\n")
	_, tail, _ := strings.Cut(rest, "books:")
	f, err := shop.Parse([]byte(head+"answers:\n"+rules+"books:"+tail), nil)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestAnswersAreRead(t *testing.T) {
	t.Parallel()
	f := answers(t, `
  - {status: [200, 201], $.data.status: [CONFIRMED, 1], means: accepted, order: $.data.id}
  - {status: 303, headers: {Location: ^/orders/}, means: accepted, order: {header: Location, regexp: "/orders/(\\w+)"}}
  - {status: 200, matches: "Order #\\d+", means: accepted, order: {regexp: "Order #(\\d+)"}}
  - {status: 202, means: pending, order: "{{key}}"}
  - {contains: [sold out, not enough], means: rejected}
  - {$.error: null, status: 418, means: unknown}
`)
	for _, c := range []struct {
		status       int
		header, body string
		means        shop.Means
		order        string
		rule         int
	}{
		{201, "", `{"data":{"status":"CONFIRMED","id":12345678901234567890}}`, shop.Accepted, "12345678901234567890", 1},
		{200, "", `{"data":{"status":1,"id":"A-1"}}`, shop.Accepted, "A-1", 1},
		{
			200, "", `{"data":{"status":1,"id":"8A1C4B7E00004000800000000000000F"}}`, shop.Accepted,
			"8a1c4b7e-0000-4000-8000-00000000000f", 1,
		},
		{200, "", `{"data":{"status":1}}`, shop.Unknown, "", 1}, // no order id
		{200, "", `{"data":{"status":"FAILED","id":1}}`, shop.Unknown, "", 0},
		{303, "/orders/x7", "", shop.Accepted, "x7", 2},
		{303, "/login", "", shop.Unknown, "", 0},
		{200, "", "<h1>Order #17 &amp; thanks</h1>", shop.Accepted, "17", 3},
		{202, "", "", shop.Pending, "k1", 4},
		{500, "", "SOLD OUT", shop.Rejected, "", 5},
		{409, "", `{"message":"Not enough stock"}`, shop.Rejected, "", 5},
		{201, "", "\ufeff" + `{"data":{"status":"CONFIRMED","id":7}}`, shop.Accepted, "7", 1}, // a byte-order mark
		{418, "", `{"error":null}`, shop.Unknown, "", 6},
		{500, "", "oops", shop.Unknown, "", 0},
		{0, "", "", shop.Unknown, "", 0},
	} {
		a := &shop.Answer{Status: c.status, Header: http.Header{}, Body: []byte(c.body)}
		if c.header != "" {
			a.Header.Set("Location", c.header)
		}
		r := f.Read(a, shop.Vars{"key": "k1"})
		if r.Means != c.means || r.Order != c.order || r.Rule != c.rule {
			t.Errorf("%d %s %s was read as %s, rule %d; want %s, order %s, rule %d",
				c.status, c.header, c.body, r, r.Rule, c.means, c.order, c.rule)
		}
	}
}

func TestCapturesFindTokens(t *testing.T) {
	t.Parallel()
	text := strings.Replace(good, "capture: {token: $.access_token}", `capture:
      token: {regexp: 'name="csrf" value="([^"]+)"'}
      session: {cookie: sid}
      version: {header: X-Version}
      first: {json: "$.items[0].id", regexp: "^p-(.*)"}`, 1)
	f, err := shop.Parse([]byte(text), nil)
	if err != nil {
		t.Fatal(err)
	}
	a := &shop.Answer{Status: 200, Header: http.Header{
		"Content-Type": {"text/html"}, "X-Version": {"3"}, "Set-Cookie": {"sid=s%201; Path=/"},
	}, Body: []byte(`<input name="csrf" value="a&#43;b">`)}
	for name, want := range map[string]any{"token": "a+b", "session": "s%201", "version": "3", "first": nil} {
		c := f.Buyer[0].Capture[name]
		if got, _ := c.From(a, nil); got != want {
			t.Errorf("captured %s = %v, want %v", name, got, want)
		}
	}
	c := f.Buyer[0].Capture["first"]
	if got, ok := c.From(&shop.Answer{Body: []byte(`{"items":[{"id":"p-9"}]}`)}, nil); !ok || got != "9" {
		t.Errorf("captured %v, want 9", got)
	}
}

// An answer without the value at its place is searched for another place.
func TestAnotherPlaceIsProposed(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ at, body, want string }{
		{"$.id", `{"success":true,"data":{"ticket":{"event_id":1,"id":7}}}`, "; do you mean $.data.ticket.id?"},
		{"$.id", `{"rows":[{"a":1},{"id":"x"}]}`, "; do you mean $.rows[1].id?"},
		{"$.order.number", `{"data":{"id":4},"x":{"y":{"number":5}}}`, "; do you mean $.x.y.number?"},
		{"$.order.number", `{"data":{"id":4}}`, "; do you mean $.data.id?"},
		{"$.id", `{"data":{"order_id":4}}`, "; do you mean $.data.order_id?"},
		{"$.id", `{"data":{"orderId":4}}`, "; do you mean $.data.orderId?"},
		{"$.id", `{"the id":{"paid":true,"id":{"no":1}}}`, ""},
		{"$.id", `{"the order":{"id":1}}`, `; do you mean $["the order"].id?`},
		{"$.id", "no JSON", ""},
	} {
		f := answers(t, "\n  - {status: 201, means: accepted, order: "+c.at+"}\n")
		r := f.Read(&shop.Answer{Status: 201, Body: []byte(c.body)}, nil)
		if _, text, _ := strings.Cut(r.Note, "]"); r.Means != shop.Unknown || !strings.HasSuffix(r.Note, c.want) ||
			c.want == "" && strings.Contains(text, "mean") {
			t.Errorf("%s: %q; want %q", c.body, r.Note, c.want)
		}
	}
}
