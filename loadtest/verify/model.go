package verify

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"orderstock/loadtest/contract"
	"orderstock/loadtest/history"
	"orderstock/pkg/operation"
)

// want is an answer that the services' READMEs allow to a call, and why.
type want struct {
	code    uint16
	problem history.Problem
	why     string
}

func (w want) String() string {
	text := strconv.Itoa(int(w.code))
	if w.problem != history.NoProblem {
		text += " " + w.problem.String()
	}
	return text + ", as " + w.why
}

// allowed returns the answers that are right for a call with one thing that is odd, if it is not refused for now.
// None: nothing is known.
func (j *judgement) allowed(a *history.Aside) []want {
	route := routeOf(a)
	if route == nil {
		return nil
	}
	if a.Method == http.MethodHead {
		get := *a
		get.Method = http.MethodGet
		wanted := j.allowed(&get)
		for i := range wanted { // it has no body
			wanted[i].problem, wanted[i].why = history.NoProblem, "GET is answered so: "+wanted[i].why
		}
		return wanted
	}
	if route.Guarded && a.Token != "" {
		return []want{{http.StatusUnauthorized, history.Unauthorized, "the token is " + a.Token}}
	}
	values, ok := parameters(route, a.Path)
	if !ok {
		return nil
	}
	if bad := badParameters(route, values); len(bad) > 0 {
		return bad
	}
	if a.Key != "" && route.Key != nil && !route.Key.Allows(a.Key) {
		return []want{{http.StatusBadRequest, history.InvalidKey, "the key " + strconv.Quote(a.Key) + " is none"}}
	}
	if a.Media != "" {
		return []want{{http.StatusUnsupportedMediaType, history.UnsupportedMedia, "the body is said to be " + a.Media}}
	}
	if bad := j.badBody(route, a.Body); len(bad) > 0 {
		return bad
	}
	switch {
	case strings.HasPrefix(a.Route, "/v1/orders/{id}"):
		return []want{{http.StatusNotFound, history.OrderNotFound, "there is no such order"}}
	case a.Op >= 0:
		return j.underUsedKey(a, route, values.Get("flag"))
	case a.Route == together:
		return []want{{http.StatusOK, history.NoProblem, "each deduction is answered as if it had come alone"}}
	case route.Body != nil && strings.HasSuffix(a.Route, "/restock"):
		return j.restockAllowed(a)
	case a.Route == "/v1/stock/{goods_id}":
		if id, _ := strconv.ParseInt(values.Get("goods_id"), 10, 64); j.product(id) == nil {
			return []want{{http.StatusNotFound, history.UnknownGoods, "it is no product of the run"}, {code: http.StatusOK}}
		}
	case a.Method != http.MethodGet:
		return nil
	}
	return []want{{http.StatusOK, history.NoProblem, "it is a read"}}
}

// together is the route of several deductions in one call.
const together = "/v1/operations"

// routeOf returns the route of a call, or nil. HEAD works wherever GET does.
func routeOf(a *history.Aside) *contract.Route {
	if a.Method == http.MethodHead {
		return contract.Find(http.MethodGet, a.Route)
	}
	return contract.Find(a.Method, a.Route)
}

// parameters returns the values of a call's parameters: in its path, and in its query.
func parameters(r *contract.Route, text string) (url.Values, bool) {
	path, query, _ := strings.Cut(text, "?")
	values, err := url.ParseQuery(query)
	want, got := strings.Split(r.Path, "/"), strings.Split(path, "/")
	if err != nil || len(want) != len(got) {
		return nil, false
	}
	for i := range want {
		value, err := url.PathUnescape(got[i])
		if name, is := strings.CutPrefix(want[i], "{"); is && err == nil {
			values.Set(strings.TrimSuffix(name, "}"), value)
		} else if want[i] != value || err != nil {
			return nil, false
		}
	}
	return values, true
}

// badParameters returns the answers to parameters that the OpenAPI document does not allow.
func badParameters(r *contract.Route, values url.Values) []want {
	for _, p := range r.Parameters {
		for _, value := range values[p.Name] {
			if p.Schema.Allows(value) && (p.Schema.MaxItems == 0 || len(values[p.Name]) <= p.Schema.MaxItems) {
				continue
			}
			why := fmt.Sprintf("%s cannot be %q", p.Name, value)
			page := want{http.StatusUnprocessableEntity, history.InvalidPage, why}
			switch p.Name {
			case "id":
				return []want{{http.StatusBadRequest, history.InvalidOrder, why}}
			case "flag":
				return []want{{http.StatusUnprocessableEntity, history.InvalidFlag, why}}
			case "goods_id":
				goods := want{http.StatusUnprocessableEntity, history.InvalidGoods, why}
				if strings.Contains(r.Path, "{goods_id}") {
					return []want{goods}
				}
				return []want{goods, page}
			case "after":
				return []want{page, {http.StatusUnprocessableEntity, history.InvalidGoods, why}}
			}
			return []want{page}
		}
	}
	return nil
}

// sentBody is the body of any call.
type sentBody struct {
	Items []struct {
		Goods string         `json:"goods_id"`
		Num   jsontext.Value `json:"num"`
	} `json:"items"`
}

// strictly reads a body as the services do: each field once, by its exact name, and nothing else. It returns what is
// wrong with it, if anything is.
func strictly(text string, body *sentBody) (p history.Problem, why string) {
	err := json.Unmarshal([]byte(text), body, contract.Strict)
	switch {
	case err == nil:
		return history.NoProblem, ""
	case !jsontext.Value(text).IsValid():
		return history.MalformedJSON, "is no JSON, or has a field twice"
	case errors.Is(err, json.ErrUnknownName):
		return history.UnknownField, "has a field that is not documented"
	}
	return history.InvalidField, "is not as documented"
}

// broken are the problems of fields that break rules.
var broken = map[string]history.Problem{
	"flag": history.InvalidFlag, "num": history.InvalidNum, "name": history.InvalidName, "price": history.InvalidPrice,
}

// badFields returns the answers to a body whose numbers or texts break rules. null stands for no field.
func badFields(r *contract.Route, text string) (bad []want) {
	var fields map[string]jsontext.Value
	if err := json.Unmarshal([]byte(text), &fields); err != nil {
		return []want{{http.StatusBadRequest, history.MalformedJSON, "the body is none: " + err.Error()}}
	}
	for _, name := range r.Fields() {
		s, value := r.Body.Properties[name], fields[name]
		if len(value) == 0 || value.Kind() == 'n' {
			if slices.Contains(r.Body.Required, name) {
				bad = append(bad, want{http.StatusUnprocessableEntity, broken[name], "there is no " + name})
			}
			continue
		}
		var err error
		text := string(value)
		if s.Type == "integer" {
			_, err = strconv.ParseInt(text, 10, 64)
		} else {
			err = json.Unmarshal(value, &text)
		}
		switch why := name + " cannot be " + string(value); {
		case err != nil:
			bad = append(bad, want{http.StatusBadRequest, history.InvalidField, why})
		case !s.Allows(text):
			bad = append(bad, want{http.StatusUnprocessableEntity, broken[name], why})
		}
	}
	return bad
}

// badBody returns the answers to a body that breaks rules. The answer may name any broken rule.
func (j *judgement) badBody(r *contract.Route, text string) (bad []want) {
	switch {
	case r.Body == nil:
		return nil
	case !slices.Contains(r.Body.Required, "items"):
		return badFields(r, text)
	}
	add := func(p history.Problem, format string, args ...any) {
		bad = append(bad, want{http.StatusUnprocessableEntity, p, fmt.Sprintf(format, args...)})
	}
	var body sentBody
	if problem, why := strictly(text, &body); problem != history.NoProblem {
		return []want{{http.StatusBadRequest, problem, "the body " + why}}
	}
	items := r.Body.Properties["items"]
	goods, num := items.Items.Properties["goods_id"], items.Items.Properties["num"]
	if n := len(body.Items); n < 1 || n > items.MaxItems {
		add(history.InvalidItems, "it has %d lines", n)
	}
	seen, unknown := map[string]bool{}, ""
	for _, it := range body.Items {
		if id, _ := operation.ParseID(it.Goods); !goods.Allows(it.Goods) {
			add(history.InvalidGoods, "%q is no product", it.Goods)
		} else if j.near(id) && j.product(id) == nil {
			unknown = it.Goods
		}
		if !num.Allows(string(it.Num)) {
			add(history.InvalidNum, "%s is no number of pieces", it.Num)
		}
		if seen[it.Goods] {
			add(history.DuplicateGoods, "product %s is in it twice", it.Goods)
		}
		seen[it.Goods] = true
	}
	if unknown != "" && len(bad) == 0 {
		add(history.UnknownGoods, "there is no product %s", unknown)
	}
	return bad
}

// near reports whether the id of a product is one that only the run uses.
func (j *judgement) near(goods int64) bool {
	return len(j.h.Goods) > 0 && goods >= j.h.Goods[0].ID && goods < j.h.Goods[0].ID+1_000_000
}

// underUsedKey returns the answers to other items, or a restock, under the key or the flag of an order. A client must
// have had an answer that shows it, or nothing is known.
func (j *judgement) underUsedKey(a *history.Aside, r *contract.Route, flag string) []want {
	n, sent := int(a.Op), a.Key+flag
	if body, ok := j.restockIn(a); ok {
		sent = body.Flag
	}
	ofOrder := r.Stock && j.h.Path == history.PathOrder // the order's id is the flag
	used := slices.ContainsFunc(j.callsOf(n), func(i int32) bool {
		c := &j.h.Calls[i]
		if c.Done > a.Sent || !isEnd(c.Status) {
			return false
		}
		sold := c.Status == history.Confirmed || c.Status == history.Rejected
		return !ofOrder || sold && sent == strconv.FormatInt(c.Order, 10)
	})
	if !used || !ofOrder && sent != j.h.Key(n) ||
		a.Body == string(history.AppendBody(nil, j.h.Items(n))) {
		return nil
	}
	why := "this key has an order of " + words(j.h.Items(n))
	if r.Stock {
		return []want{{http.StatusConflict, history.FlagConflict, why}}
	}
	return []want{{http.StatusUnprocessableEntity, history.KeyReused, why}}
}

// restockIn returns the restock of a product of the run that a call asks for.
func (j *judgement) restockIn(a *history.Aside) (body operation.Restock, ok bool) {
	route := contract.Find(a.Method, a.Route)
	if route == nil || route.Body == nil || !strings.HasSuffix(a.Route, "/restock") ||
		json.Unmarshal([]byte(a.Body), &body) != nil {
		return body, false
	}
	values, ok := parameters(route, a.Path)
	body.GoodsID, _ = strconv.ParseInt(values.Get("goods_id"), 10, 64)
	return body, ok && j.product(body.GoodsID) != nil
}

// restockAllowed returns the answers to a restock under a flag of the run, whose restocks all have one.
func (j *judgement) restockAllowed(a *history.Aside) []want {
	body, ok := j.restockIn(a)
	switch r := j.restockUnder([]byte(body.Flag)); {
	case r == nil:
		return nil
	case ok && r.is(body):
		return []want{{http.StatusOK, history.NoProblem, "the flag is new, or it is a repeat"}}
	default:
		return []want{{http.StatusConflict, history.FlagConflict, "this flag has a restock of " + r.words()}}
	}
}
