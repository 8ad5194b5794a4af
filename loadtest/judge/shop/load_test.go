package shop_test

import (
	"fmt"
	"strings"
	"testing"

	"orderstock/loadtest/judge/shop"
)

// good is a whole file. Tests replace parts of it.
const good = `target: http://127.0.0.1:8080
stock: {"1": 100}
buyer:
  - post: /login
    json: {email: "{{key}}@example.com"}
    capture: {token: $.access_token}
order:
  post: /api/orders
  headers: {Idempotency-Key: "{{key}}", Authorization: "Bearer {{token}}"}
  json: {items: [{product_id: 1, quantity: 1}]}
  repeats: key
answers:
  - {status: 201, $.status: [CONFIRMED, PAID], means: accepted, order: $.id}
  - {status: 409, contains: sold out, means: rejected}
books:
  dsn: postgres://app@127.0.0.1/app
  stock: SELECT product_id AS product, available AS pieces FROM inventory
  orders:
    dsn: "app:secret@tcp(127.0.0.1:3306)/orders"
    query: SELECT 1
  sold: [CONFIRMED, 7, true, null]
  void: FAILED
service: {start: exec ./server, ready: /health}
settle: 3s
`

func TestAFileIsRead(t *testing.T) {
	t.Parallel()
	f, err := shop.Parse([]byte("\ufeff"+good), nil) // some editors write a byte-order mark
	if err != nil {
		t.Fatal(err)
	}
	got := strings.TrimSpace(fmt.Sprintln(f.Stock, f.Order.Baskets, f.Order.Post, f.Buyer[0].Post, f.Books.Orders.DSN,
		f.Books.Stock.DSN, len(f.Books.Sold), f.Books.Sold[1:3], f.Books.Sold[3] == shop.Null, f.Books.Void,
		f.Service.Start, f.Answers[0].Status))
	want := "map[1:100] [map[1:1]] /api/orders /login app:secret@tcp(127.0.0.1:3306)/orders " +
		"postgres://app@127.0.0.1/app 4 [7 true] true [FAILED] exec ./server [201]"
	if got != want {
		t.Errorf("read\n%s, want\n%s", got, want)
	}
}

// Each mistake names its line, and says what to write.
func TestMistakesNameTheLine(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ old, new, want string }{
		{"http://127.0.0.1:8080", "http://shop.example:80", "line 1, column 1: target is at shop.example, which"},
		{"target: http://127.0.0.1:8080", "target: ftp://127.0.0.1", `want http://host:port or https://host:port`},
		{"target: http://127.0.0.1:8080\n", "", "target is missing"},
		{"stock: {\"1\": 100}\n", "", "stock is missing"},
		{`{"1": 100}`, `{"1": 0}`, "line 2, column 14: 0 pieces: want more than 0"},
		{`{"1": 100}`, `{"1": many}`, `line 2, column 14: "many" is no number of pieces`},
		{`{"1": 100}`, `{"1": 100, "2": 5}`, "line 8, column 3: the stock has several products"},
		{"  post: /api/orders\n", "  post: /api/orders\n  put: /x\n", "one of get, post, put, patch, delete and url"},
		{"post: /api/orders", "post: api/orders", `want one that begins with /`},
		{"{{token}}", "{{tokn}}", "line 8, column 3: {{tokn}} has no value here; there are i, key, n, phase"},
		{"{{token}}", "{{env.ORDERSTOCK_NOT_SET}}", "the environment variable ORDERSTOCK_NOT_SET is not set"},
		{"repeats: key", "repeats: yes", "want key or none"},
		{"  repeats: key\n", "", "order.repeats is missing"},
		{"repeats: key", "repeat: key", `line 11, column 3: unknown field "repeat": do you mean repeats?`},
		{"    capture: {", "    captures: {", `line 6, column 5: unknown field "captures": do you mean capture?`},
		{"books:\n", "book:\n", `line 15, column 1: unknown field "book": do you mean books?`},
		{"settle: 3s", "unlike_all: 3s", `line 24, column 1: unknown field "unlike_all"` + "\n"},
		{"contains: sold out", "contain: sold out", `line 14, column 19: unknown field "contain"`},
		{"status: 201,", "status: 2xx,", "line 13, column 14: status 2xx: want a number from 100 to 599"},
		{", order: $.id", "", "line 13, column 6: an accepted answer needs the order's id"},
		{
			"status: 201, $.status: [CONFIRMED, PAID], means: accepted, order: $.id",
			`status: [200, 201], means: accepted, order: "{{key}}"`, "status 200 may also be any page",
		},
		{"order: $.id", "order: id", "want a path such as $.id"},
		{"order: $.id", `order: "$.["`, "is no JSONPath"},
		{"status: 409, contains: sold out", "status: 500", "line 14, column 6: status 500 is no rejection by itself"},
		{"status: 409, contains: sold out", "status: [409, 503]", "status 503 is no rejection by itself"},
		{"status: 409, contains: sold out", "status: 429", "may also be a limit of requests"},
		{"status: 409, contains: sold out, means", "means", "the answer has no condition"},
		{"means: rejected", "means: refused", `line 14, column 46: means "refused": want accepted`},
		{"dsn: postgres://app@127.0.0.1/app", "dsn: oracle://x", "can be read by command:"},
		{"postgres://app@127.0.0.1/app", "postgres://app@db.example/app", "the database is at db.example"},
		{"tcp(127.0.0.1:3306)", "tcp(10.0.0.1:3306)", "line 19, column 5: the database is at 10.0.0.1"},
		{"app@127.0.0.1/app", "app:p@ss:w/rd@127.0.0.1/app", "line 16, column 3: dsn: a password with /, ?, #, @ or % is"},
		{"app@127.0.0.1/app", "app:12/34@127.0.0.1/app", "such as %40 for @"},
		{"app@127.0.0.1/app", "app:100%@127.0.0.1/app", "such as %40 for @"},
		{"void: FAILED", "void: CONFIRMED", "state CONFIRMED is both in sold and in void"},
		{"ready: /health", "ready: health", "want a path that begins with /"},
		{"start: exec ./server,", "kill: x,", "service has one of start and container"},
		{"settle: 3s", "settle: 3", `line 24, column 9: "3": want a time above 0`},
		{"books:\n", "books:\n  [\n", "line 1"},
		{"  post: /api/orders", "\tpost: /api/orders", "indent with spaces, not with tabs"},
		{"  post: /api/orders", " post: /api/orders", "is the line indented like those beside it"},
		{"{\"1\": 100}", "{\"1\": {{n}}}", "a value that begins with {{ needs quotes"},
		{"{\"1\": 100}", "100", "names with values belong here"},
		{"buyer:\n  - post", "buyer:\n    post", "a list belongs here"},
		{"means: rejected}", "means: rejected", "a bracket is not closed"},
		{"buyer:", "limit: {per: day, pieces: 1}\nbuyer:", "line 3, column 9: limit: want {per: buyer, pieces: 1}"},
		{"buyer:", "limit: {per: buyer, pieces: 1}\nbuyer:", "line 3, column 9: limit: neither the order nor"},
		{"buyer:", "reset: [{restart: true, command: x}]\nbuyer:", "a step of reset is one of"},
	} {
		text := strings.Replace(good, c.old, c.new, 1)
		if text == good {
			t.Fatalf("%q is not in the file", c.old)
		}
		_, err := shop.Parse([]byte(text), nil)
		if err == nil || !strings.Contains(err.Error()+"\n", c.want) {
			t.Errorf("with %q for %q: %v\nwant %s", c.new, c.old, err, c.want)
		}
	}
}

func TestAnotherMachineIsJudgedOnlyWhenNamed(t *testing.T) {
	t.Parallel()
	text := strings.Replace(good, "127.0.0.1:8080", "shop.example:8080", 1)
	if _, err := shop.Parse([]byte(text), []string{"shop.example"}); err != nil {
		t.Error(err)
	}
	if _, err := shop.Parse([]byte(text), []string{"shop"}); err == nil {
		t.Error("another name was enough")
	}
}

// People write numbers and booleans where texts are meant.
func TestScalarsAreTexts(t *testing.T) {
	t.Parallel()
	text := strings.NewReplacer(
		`{"1": 100}`, `{1: 2.5}`,
		"json: {items: [{product_id: 1, quantity: 1}]}", "form: {quantity: 1, gift: true, 7: x}",
		`Authorization: "Bearer {{token}}"`, "X-Version: 2",
	).Replace(good)
	f, err := shop.Parse([]byte(text), nil)
	if err != nil {
		t.Fatal(err)
	}
	form := f.Order.Form
	if f.Stock["1"].String() != "2.5" || form["quantity"][0] != "1" || form["7"][0] != "x" || form["gift"][0] != "true" ||
		f.Order.Headers["X-Version"] != "2" {
		t.Errorf("read stock %v, form %v, headers %v", f.Stock, f.Order.Form, f.Order.Headers)
	}
}

// A mistake in the address of the database is said once, for all queries that it serves.
func TestAMistakeInTheDSNIsSaidOnce(t *testing.T) {
	t.Parallel()
	text := strings.Replace(good, "app@127.0.0.1/app", "app:p@ss:w/rd@127.0.0.1/app", 1)
	text = strings.Replace(text, `    dsn: "app:secret@tcp(127.0.0.1:3306)/orders"`+"\n", "", 1)
	_, err := shop.Parse([]byte(text+"reset: [{sql: SELECT 1}]\n"), nil)
	if err == nil || strings.Count(err.Error(), "dsn:") != 1 {
		t.Errorf("%v; want one mistake", err)
	}
}
