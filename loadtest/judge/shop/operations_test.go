package shop_test

import (
	"bytes"
	"mime"
	"mime/multipart"
	"strings"
	"testing"

	"orderstock/loadtest/judge/shop"
)

const openAPI = `
openapi: 3.0.3
info: {title: A shop, version: "1"}
servers: [{url: "http://127.0.0.1:3000/api"}]
paths:
  /login: {post: {operationId: login, responses: {"200": {description: in}}}}
  /orders/{id}/cancel: {post: {operationId: cancelOrder, responses: {"200": {description: gone}}}}
  /orders:
    get: {responses: {"200": {description: all}}}
    post:
      operationId: createOrder
      security: [{bearer: []}]
      parameters:
        - {name: Idempotency-Key, in: header, required: true, schema: {type: string}}
        - {name: dry, in: query, required: true, schema: {type: boolean}}
      requestBody:
        content:
          application/json:
            schema: {$ref: "#/components/schemas/NewOrder"}
      responses:
        "201":
          description: placed
          content:
            application/json:
              schema: {type: object, properties: {order: {type: object, properties: {id: {type: integer}}}}}
        "409": {description: sold out}
components:
  securitySchemes: {bearer: {type: http, scheme: bearer}}
  schemas:
    NewOrder:
      type: object
      required: [items, email]
      properties:
        email: {type: string, format: email}
        gift: {type: boolean}
        items:
          type: array
          items:
            type: object
            properties:
              product_id: {type: integer}
              quantity: {type: integer, minimum: 1}
              parent: {$ref: "#/components/schemas/NewOrder"}
            required: [product_id, quantity]
`

const har = `{"log": {"entries": [
	{"request": {"method": "GET", "url": "http://127.0.0.1:3000/"}},
	{"request": {"method": "POST", "url": "http://127.0.0.1:3000/login", "headers": [],
		"postData": {"mimeType": "application/json", "text": "{\"name\":\"me\"}"}},
		"response": {"status": 200, "content": {"text": "{\"data\":{\"accessToken\":\"t\"}}"}}},
	{"request": {"method": "POST", "url": "http://127.0.0.1:3000/checkout?x=1", "headers": [
		{"name": ":authority", "value": "x"}, {"name": "User-Agent", "value": "x"}, {"name": "X-Csrf", "value": "t"}],
		"postData": {"mimeType": "application/x-www-form-urlencoded", "params": [{"name": "sku", "value": "A 1"}]}},
		"response": {"status": 202, "content": {"text": "{\"order\":{\"id\":7}}"}}},
	{"request": {"method": "POST", "url": "http://127.0.0.1:3000/upload",
		"postData": {"mimeType": "multipart/form-data; boundary=b", "params": [{"name": "note", "value": "hi"}]}}}
]}}`

// A file made of a document or of a browser's requests is right but for what only its user knows.
func TestAFileFromADocument(t *testing.T) {
	t.Parallel()
	read := func(operations []shop.Operation, err error) []shop.Operation {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return operations
	}
	for _, c := range []struct {
		from  []shop.Operation
		first string
		named string
		want  []string
	}{
		{read(shop.FromOpenAPI([]byte(openAPI))), "POST /orders", "createorder", []string{
			"target: http://127.0.0.1:3000\n", `post: "/api/orders?dry=true"`, `"Idempotency-Key": "{{key}}"`,
			`stock: {"1": 100}`,
			`json: {"email":"{{key}}@example.com","items":[{"product_id":"{{product|number}}","quantity":"{{pieces}}"}]}`,
			"repeats: key", "the order needs a login", "{status: [201], means: accepted, order: $.order.id}",
			"{status: [409], contains: [stock, sold out], means: rejected}",
		}},
		{read(shop.FromHAR([]byte(har))), "POST /checkout", "POST /checkout", []string{
			`post: "/checkout?x=1"`, `"X-Csrf": "t"`, `"sku": "A 1"`, "repeats: none",
			"#   - post: \"/login\"\n#     json: {\"name\":\"me\"}\n#     capture: {token: \"$.data.accessToken\"}",
			"{status: [202], means: accepted, order: $.order.id}",
			"# then: # once for each order", "#   - post: \"/upload\"\n#     multipart:\n#       \"note\": \"hi\"\n# cancel",
		}},
		{read(shop.FromHAR([]byte(har))), "POST /checkout", "post /upload", []string{"multipart:\n    \"note\": \"hi\""}},
	} {
		if c.from[0].Name != c.first {
			t.Errorf("the first is %s, want %s", c.from[0].Name, c.first)
		}
		for _, o := range c.from {
			text, err := o.File()
			if err != nil {
				t.Errorf("%s: %v", o.Name, err)
			}
			const same = "all orders would be the same"
			if _, err := shop.Parse([]byte(text), nil); err != nil && !strings.Contains(err.Error(), same) {
				t.Errorf("%s: %v in\n%s", o.Name, err, text)
			}
			all := strings.ReplaceAll(text, "\n# ", "\n") // the parts that it proposes
			if strings.Contains(text, "the browser sent") {
				if _, err := shop.Parse([]byte(all), nil); err != nil && !strings.Contains(err.Error(), same) {
					t.Errorf("%s: %v in\n%s", o.Name, err, all)
				}
			}
			for _, want := range c.want {
				if o.Is(c.named) && !strings.Contains(text, want) {
					t.Errorf("%s: want %s in\n%s", o.Name, want, text)
				}
			}
		}
	}
	for _, wrong := range []string{"", "{}", "openapi: 3.0.3\npaths: {}", `{"log":{"entries":[]}}`, "\x00"} {
		if operations, err := shop.FromOpenAPI([]byte(wrong)); err == nil {
			t.Errorf("OpenAPI %q: %v", wrong, operations)
		}
		if operations, err := shop.FromHAR([]byte(wrong)); err == nil {
			t.Errorf("HAR %q: %v", wrong, operations)
		}
	}
}

// A form with parts is sent as one.
func TestAFormWithParts(t *testing.T) {
	t.Parallel()
	r := shop.Request{Post: "/o", Multipart: shop.Form{"sku": {"{{sku}}"}, "n": {"1", "2"}}}
	out, err := r.Render("http://127.0.0.1", shop.Vars{"sku": "A 1"})
	if err != nil {
		t.Fatal(err)
	}
	_, of, err := mime.ParseMediaType(out.Header.Get("Content-Type"))
	if err != nil {
		t.Fatal(err)
	}
	form, err := multipart.NewReader(bytes.NewReader(out.Body), of["boundary"]).ReadForm(1 << 20)
	if err != nil || form.Value["sku"][0] != "A 1" || strings.Join(form.Value["n"], "") != "12" {
		t.Errorf("%v, %v", form, err)
	}
}
