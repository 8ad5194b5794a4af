package shop_test

import (
	"encoding/json"
	"strings"
	"testing"

	"orderstock/loadtest/judge/shop"
)

func TestVariablesKeepTheirTypes(t *testing.T) {
	t.Parallel()
	vars := shop.Vars{"key": `a"b`, "id": json.Number("12"), "product": "7", "pieces": 2 * shop.Whole, "on": true}
	value, err := vars.Value(map[string]any{
		"key": "{{key}}", "id": "{{id}}", "text": "{{ id | string }}", "product": "{{product|number}}",
		"pieces": "{{pieces}}", "both": "{{id}}-{{key}}", "list": []any{"{{on}}", 3, nil}, "{{id}}": "name",
	})
	if err != nil {
		t.Fatal(err)
	}
	got, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"12":"name","both":"12-a\"b","id":12,"key":"a\"b","list":[true,3,null],"pieces":2,"product":7,"text":"12"}`
	if string(got) != want {
		t.Errorf("rendered\n%s, want\n%s", got, want)
	}
	for _, text := range []string{"{{none}}", "{{key|number}}"} {
		if _, err := vars.Value(text); err == nil {
			t.Errorf("%s has a value", text)
		}
	}
}

func TestARequestIsRendered(t *testing.T) {
	t.Parallel()
	text := strings.Replace(good, "json: {items: [{product_id: 1, quantity: 1}]}",
		`form: {q: "{{key}} &", seat: [1, "{{token}}"]}`, 1)
	f, err := shop.Parse([]byte(text), nil)
	if err != nil {
		t.Fatal(err)
	}
	r, err := f.Order.Render(f.Target, shop.Vars{"key": "k", "token": "t"})
	if err != nil {
		t.Fatal(err)
	}
	if r.Method != "POST" || r.URL.String() != "http://127.0.0.1:8080/api/orders" ||
		string(r.Body) != "q=k+%26&seat=1&seat=t" ||
		r.Header.Get("Content-Type") != "application/x-www-form-urlencoded" || r.Header.Get("Authorization") != "Bearer t" {
		t.Errorf("rendered %+v, body %s", r, r.Body)
	}
	if _, err := f.Order.Render(f.Target, shop.Vars{"key": "k", "token": "t\r\nX: y"}); err == nil {
		t.Error("a value with a line break became a header")
	}
}

func TestPieces(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"1": "1", "100.000": "100", "2.50": "2.5", "-3": "-3", "-0.25": "-0.25", " 7 ": "7", "1e2": "100", "0.0000001": "",
		"": "", "x": "", "99999999999999999999": "",
	} {
		p, err := shop.ParsePieces(text)
		if err != nil && want != "" || err == nil && p.String() != want {
			t.Errorf("%q is %s, %v; want %q", text, p, err, want)
		}
	}
}

// A file made of a curl command is right but for what only its user knows.
func TestAFileFromCurl(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		curl string
		want []string
	}{
		{
			`curl -X POST http://127.0.0.1:8080/api/orders -H 'Idempotency-Key: a' -H 'Authorization: Bearer x' ` +
				`-d '{"items":[{"product_id":7,"quantity":1}]}'`,
			[]string{
				`stock: {"7": 100}`, `post: "/api/orders"`, `"Idempotency-Key": "{{key}}"`,
				`json: {"items":[{"product_id":7,"quantity":"{{pieces}}"}]}`, "repeats: key", `"Authorization": "Bearer x" #`,
			},
		},
		{
			"curl -sSXPUT 'http://localhost:3000/buy?x=1' \\\n  --data-urlencode 'name=a b' --data qty=2",
			[]string{`put: "/buy?x=1"`, `"name": "a b"`, `"qty": "{{pieces}}"`, "  baskets: [{\"1\": 2}] #", "repeats: none"},
		},
		{ // a number of pieces, before an amount, which may be a price
			`curl 127.0.0.1/o -d '{"product_id":7,"Quantity":2,"amount":9000}'`,
			[]string{`{"Quantity":"{{pieces}}","amount":9000,"product_id":7}`, "  baskets: [{\"7\": 2}] #"},
		},
		{
			`curl 127.0.0.1/o -d '{"product_id":7,"qty":"3"}'`,
			[]string{`{"product_id":7,"qty":"{{pieces|string}}"}`, "  baskets: [{\"7\": 3}] #"},
		},
		{`curl 127.0.0.1/o -F product=7 -F count=2`, []string{`"count": "{{pieces}}"`, "  baskets: [{\"1\": 2}] #"}},
		{
			`curl 127.0.0.1/o -d '[{"id":7,"qty":2},{"id":8,"qty":1}]'`,
			[]string{`json: [{"id":7,"qty":2},{"id":8,"qty":1}]`, "  # it has several items: write baskets, item and {{items}}"},
		},
		{`curl 127.0.0.1/o -d '{"id":7,"qty":0,"count":"x"}'`, []string{`json: {"count":"x","id":7,"qty":0}`}},
		{"curl localhost:3000/buy/1 -u me:pw -o /dev/null --compressed", []string{`get: "/buy/1"`, `"Basic bWU6cHc="`}},
		{
			`curl 'https://127.0.0.1:8443/buy' -H $'X-Note: it\'s \u0021\x21\041\tnew' -k ` +
				`--data-raw $'{"sku":"A\\"1","n":"\\n"}'`,
			[]string{
				`target: https://127.0.0.1:8443`, "insecure: true", `"X-Note": "it's !!!\tnew"`, `stock: {"A\"1": 100}`,
				`json: {"n":"\n","sku":"A\"1"}`,
			},
		},
		{
			"curl https://127.0.0.1:8443/buy -d a=1",
			[]string{"\n# insecure: true #", "\n# then: #", "\n# cancel: {", "\n# books: #", "\n# service: {"},
		},
		{
			`curl 127.0.0.1/cart -sk -d 'seat=A1&seat=A2&who=me' -d seat=A3`,
			[]string{`"seat": ["A1","A2","A3"]`, `"who": "me"`, "target: http://127.0.0.1\n"},
		},
		{
			`curl 127.0.0.1/o -d "{\"sku\":\"a\\b\$1\",\"re\":\"\d\"}"`,
			[]string{`body: "{\"sku\":\"a\\b$1\",\"re\":\"\\d\"}"`}, // as a shell reads it: no JSON
		},
		{
			`curl 127.0.0.1/o -F product=7 -F 'note=a b' --form-string x=1 -F x=2 -H 'Content-Type: multipart/form-data'`,
			[]string{`post: "/o"`, "  multipart:\n    \"product\": \"7\"\n", `"note": "a b"`, `"x": ["1","2"]` + "\n  repeats"},
		},
		{`curl --json '{"sku":"A-1",' --json '"n":2}' 127.0.0.1/o`, []string{`json: {"n":2,"sku":"A-1"}`}},
		{`curl --json '{"sku":"A-1"}' "http://[::1]:80/o"`, []string{`post: "/o"`, `stock: {"A-1": 100}`}},
	} {
		text, err := shop.FromCurl(c.curl)
		if err != nil {
			t.Errorf("%s: %v", c.curl, err)
			continue
		}
		for _, want := range c.want {
			if !strings.Contains(text, want) {
				t.Errorf("%s: want %s in\n%s", c.curl, want, text)
			}
		}
		if _, err := shop.Parse([]byte(text), nil); err != nil {
			t.Errorf("%s: %v in\n%s", c.curl, err, text)
		}
		all := strings.ReplaceAll(text, "\n# ", "\n") // the parts that it proposes
		if _, err := shop.Parse([]byte(all), nil); err != nil {
			t.Errorf("%s: %v in\n%s", c.curl, err, all)
		}
	}
	for _, curl := range []string{
		"", "curl", "curl 'http://x", "curl http://127.0.0.1 -H", "curl http://127.0.0.1 -F a=@b",
		"curl http://127.0.0.1 -d $'a", "curl ftp://127.0.0.1/x",
	} {
		if text, err := shop.FromCurl(curl); err == nil {
			t.Errorf("%s made\n%s", curl, text)
		}
	}
}
