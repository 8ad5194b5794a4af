package shop

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
)

// Operation is a request. File makes a file of the one that places orders.
type Operation struct {
	// Name is its method and path, and ID its name in the document, or "".
	Name, ID string
	d        draft
}

// Is reports whether a user's text names the operation.
func (o Operation) Is(text string) bool {
	return text != "" && (strings.EqualFold(text, o.Name) || strings.EqualFold(text, o.ID))
}

// File returns a file for the order that the operation places, with comments where its user must look.
func (o Operation) File() (string, error) { return o.d.file() }

// orders are words in the names of operations that order.
var orders = []string{"order", "checkout", "purchase", "book", "reserv", "redeem", "buy", "claim", "spend", "ticket"}

// sorted puts the operations first that look like an order.
func sorted(operations []Operation) []Operation {
	rank := func(o Operation) int {
		name := strings.ToLower(o.Name + " " + o.ID)
		likely := slices.ContainsFunc(orders, func(word string) bool { return strings.Contains(name, word) })
		switch after := strings.Contains(name, "cancel") || strings.Contains(name, "/pay"); {
		case likely && !after && o.d.method == http.MethodPost:
			return 0
		case likely:
			return 1
		}
		return 2
	}
	slices.SortStableFunc(operations, func(a, b Operation) int { return rank(a) - rank(b) })
	return operations
}

// FromOpenAPI returns the operations of an OpenAPI document that may order, the likely ones first.
func FromOpenAPI(text []byte) ([]Operation, error) {
	doc, err := openapi3.NewLoader().LoadFromData(text)
	if err != nil {
		return nil, fmt.Errorf("OpenAPI: %w", err)
	}
	base := "http://127.0.0.1:8080"
	if len(doc.Servers) > 0 {
		if u, err := url.Parse(doc.Servers[0].URL); err == nil && u.Host != "" {
			base = strings.TrimSuffix(doc.Servers[0].URL, "/")
		} else if err == nil {
			base += strings.TrimSuffix(u.Path, "/")
		}
	}
	var operations []Operation
	for _, path := range slices.Sorted(maps.Keys(doc.Paths.Map())) {
		item := doc.Paths.Value(path)
		for _, method := range slices.Sorted(maps.Keys(item.Operations())) {
			if method == http.MethodGet || method == http.MethodHead || method == http.MethodOptions {
				continue
			}
			op := item.Operations()[method]
			d := draft{method: method, answers: answersOf(op), login: secured(doc, op)}
			d.address = base + d.parameters(path, slices.Concat(item.Parameters, op.Parameters))
			d.content(op)
			operations = append(operations, Operation{Name: method + " " + path, ID: op.OperationID, d: d})
		}
	}
	if len(operations) == 0 {
		return nil, errors.New("OpenAPI: the document has no operation that may order")
	}
	return sorted(operations), nil
}

func secured(doc *openapi3.T, op *openapi3.Operation) bool {
	if op.Security != nil {
		return len(*op.Security) > 0
	}
	return len(doc.Security) > 0
}

// parameters fills in the parameters of a path, and takes the required headers and queries.
func (c *draft) parameters(path string, all openapi3.Parameters) string {
	query := []string{}
	for _, ref := range all {
		p := ref.Value
		if p == nil {
			continue
		}
		value := fmt.Sprint(sample(p.Name, p.Schema, 0))
		if p.Example != nil && !strings.HasPrefix(value, "{{") {
			value = fmt.Sprint(p.Example)
		}
		switch {
		case p.In == openapi3.ParameterInPath:
			path = strings.ReplaceAll(path, "{"+p.Name+"}", value)
		case p.In == openapi3.ParameterInHeader && (p.Required || strings.Contains(strings.ToLower(p.Name), "idempotency")):
			c.headers = append(c.headers, p.Name+": "+value)
		case p.In == openapi3.ParameterInQuery && p.Required:
			query = append(query, p.Name+"="+value)
		}
	}
	if len(query) > 0 {
		path += "?" + strings.Join(query, "&")
	}
	return path
}

// content takes an example of the body.
func (c *draft) content(op *openapi3.Operation) {
	if op.RequestBody == nil || op.RequestBody.Value == nil {
		return
	}
	content := op.RequestBody.Value.Content
	for _, kind := range []string{"application/json", "application/x-www-form-urlencoded", "multipart/form-data"} {
		media := content.Get(kind)
		if media == nil {
			continue
		}
		value := media.Example
		for _, name := range slices.Sorted(maps.Keys(media.Examples)) {
			if ref := media.Examples[name]; value == nil && ref.Value != nil {
				value = ref.Value.Value
			}
		}
		if value == nil {
			value = sample("", media.Schema, 0)
		}
		fields, isObject := value.(map[string]any)
		switch {
		case kind == "application/json":
			text, err := json.Marshal(value)
			if err == nil {
				c.data = []string{string(text)}
			}
		case isObject:
			for _, name := range slices.Sorted(maps.Keys(fields)) {
				if text := name + "=" + plain(fields[name]); kind == "multipart/form-data" {
					c.parts = append(c.parts, text)
				} else {
					c.data = append(c.data, name+"="+url.QueryEscape(plain(fields[name])))
				}
			}
		}
		return
	}
}

// deepest bounds a sample of a schema that holds itself.
const deepest = 6

// sample returns a value for a schema: an example, or one by its name and type.
func sample(name string, ref *openapi3.SchemaRef, depth int) any {
	lower := strings.ToLower(strings.NewReplacer("_", "", "-", "").Replace(name))
	if strings.Contains(lower, "idempotency") {
		return "{{key}}"
	}
	if ref == nil || ref.Value == nil || depth == deepest {
		return "{{key}}"
	}
	s := ref.Value
	switch {
	case s.Example != nil:
		return s.Example
	case s.Default != nil:
		return s.Default
	case len(s.Enum) > 0:
		return s.Enum[0]
	case len(s.AllOf)+len(s.OneOf)+len(s.AnyOf) > 0:
		merged := map[string]any{}
		for _, part := range slices.Concat(s.AllOf, s.OneOf, s.AnyOf) {
			value := sample(name, part, depth+1)
			fields, isObject := value.(map[string]any)
			if !isObject {
				return value
			}
			maps.Copy(merged, fields)
			if len(s.AllOf) == 0 {
				break
			}
		}
		return merged
	case s.Type.Is("array"):
		return []any{sample(strings.TrimSuffix(name, "s"), s.Items, depth+1)}
	case s.Type.Is("object") || len(s.Properties) > 0:
		out := map[string]any{}
		for _, field := range slices.Sorted(maps.Keys(s.Properties)) {
			if len(s.Required) == 0 || slices.Contains(s.Required, field) {
				out[field] = sample(field, s.Properties[field], depth+1)
			}
		}
		return out
	case strings.Contains(lower, "product") || strings.Contains(lower, "sku"):
		if s.Type.Is("integer") || s.Type.Is("number") {
			return "{{product|number}}"
		}
		return "{{product}}"
	case slices.Contains([]string{"quantity", "qty", "pieces", "count", "num", "amount"}, lower):
		return "{{pieces}}"
	case s.Type.Is("boolean"):
		return true
	case s.Type.Is("integer") || s.Type.Is("number"):
		if s.Min != nil {
			return max(*s.Min, 1)
		}
		return 1
	case s.Format == "uuid":
		return "{{uuid}}"
	case s.Format == "email" || strings.Contains(lower, "email"):
		return "{{key}}@example.com"
	}
	return "{{key}}"
}

// answersOf returns answers by the statuses that the document has for an operation.
func answersOf(op *openapi3.Operation) string {
	var good, refused []string
	id := ""
	if op.Responses == nil {
		return ""
	}
	for _, status := range slices.Sorted(maps.Keys(op.Responses.Map())) {
		number, err := strconv.Atoi(status)
		switch {
		case err != nil:
		case number < 300:
			good = append(good, status)
			if id == "" {
				id = idOf(op.Responses.Value(status))
			}
		case slices.Contains([]int{400, 403, 409, 410, 422}, number):
			refused = append(refused, status)
		}
	}
	if len(good) == 0 {
		return ""
	}
	if len(refused) == 0 {
		refused = []string{"400", "409", "422"}
	}
	return answerLines(strings.Join(good, ", "), id, strings.Join(refused, ", "))
}

// answerLines returns answers by their statuses. An id of "" is not known.
func answerLines(good, id, refused string) string {
	return fmt.Sprintf("  - {status: [%s], means: accepted, order: %s} # where the order's id is in the answer\n"+
		"  - {status: [%s], contains: [stock, sold out], means: rejected} # the text of the refusal\n",
		good, cmp.Or(id, "$.id"), refused)
}

// idOf returns the path of an id in a response, or "".
func idOf(ref *openapi3.ResponseRef) string {
	if ref == nil || ref.Value == nil {
		return ""
	}
	media := ref.Value.Content.Get("application/json")
	if media == nil {
		return ""
	}
	return idIn(sample("", media.Schema, 0))
}

// idIn returns the path of an order's id in a value of JSON, or "".
func idIn(answer any) string {
	value, ok := answer.(map[string]any)
	if !ok {
		return ""
	}
	for _, name := range []string{"id", "order_id", "orderId", "orderID"} {
		if _, found := value[name]; found {
			return "$." + name
		}
	}
	for _, name := range slices.Sorted(maps.Keys(value)) {
		if inner, isObject := value[name].(map[string]any); isObject && inner["id"] != nil {
			return "$." + name + ".id"
		}
	}
	return ""
}

// FromHAR returns the requests of a HAR file, as a browser saves them, that may order: the likely ones first.
func FromHAR(text []byte) ([]Operation, error) {
	var file struct {
		Log struct {
			Entries []struct {
				Request struct {
					Method, URL string
					Headers     []struct{ Name, Value string }
					PostData    struct {
						MimeType, Text string
						Params         []struct{ Name, Value string }
					}
				}
				Response struct {
					Status  int
					Content struct{ Text string }
				}
			}
		}
	}
	if err := json.Unmarshal(text, &file); err != nil {
		return nil, fmt.Errorf("HAR: %w", err)
	}
	var operations []Operation
	var sent []draft
	for _, entry := range file.Log.Entries {
		r := entry.Request
		u, err := url.Parse(r.URL)
		if err != nil || r.Method == http.MethodGet || r.Method == http.MethodHead || r.Method == http.MethodOptions {
			continue
		}
		d := draft{method: r.Method, address: r.URL}
		for _, h := range r.Headers {
			if !strings.HasPrefix(h.Name, ":") && !slices.Contains(browserOnly, strings.ToLower(h.Name)) {
				d.headers = append(d.headers, h.Name+": "+h.Value)
			}
		}
		switch multipart := strings.HasPrefix(r.PostData.MimeType, "multipart/"); {
		case r.PostData.Text != "" && !multipart:
			d.data = []string{r.PostData.Text}
		default:
			for _, p := range r.PostData.Params {
				if multipart {
					d.parts = append(d.parts, p.Name+"="+p.Value)
				} else {
					d.data = append(d.data, url.QueryEscape(p.Name)+"="+url.QueryEscape(p.Value))
				}
			}
		}
		var answer any
		if json.Unmarshal([]byte(entry.Response.Content.Text), &answer) == nil { // else it is no JSON
			d.token = tokenIn("$", answer)
		}
		if status := entry.Response.Status; status >= 200 && status < 400 {
			d.answers = answerLines(strconv.Itoa(status), idIn(answer), "400, 409, 422")
		}
		sent = append(sent, d)
		operations = append(operations, Operation{Name: r.Method + " " + u.Path, d: d})
	}
	for i := range operations {
		operations[i].d.before, operations[i].d.after = sent[:i], sent[i+1:]
	}
	if len(operations) == 0 {
		return nil, errors.New("HAR: the file has no request that may order")
	}
	return sorted(operations), nil
}

// tokenIn returns the path of the first token in a value of JSON at a path, or "".
func tokenIn(path string, value any) string {
	fields, _ := value.(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		if _, isText := fields[name].(string); isText && strings.Contains(strings.ToLower(name), "token") {
			return path + "." + name
		}
	}
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		if found := tokenIn(path+"."+name, fields[name]); found != "" {
			return found
		}
	}
	return ""
}

// browserOnly are headers that a browser adds, and that say nothing about the order.
var browserOnly = []string{
	"user-agent", "accept", "accept-language", "referer", "origin", "pragma", "cache-control", "dnt", "priority", "te",
	"sec-fetch-dest", "sec-fetch-mode", "sec-fetch-site", "sec-fetch-user", "sec-ch-ua", "sec-ch-ua-mobile",
	"sec-ch-ua-platform", "upgrade-insecure-requests",
}
