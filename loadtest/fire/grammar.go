package fire

import (
	"fmt"
	"math"
	"math/rand/v2"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"orderstock/loadtest/contract"
	"orderstock/loadtest/history"
	"orderstock/pkg/operation"
)

// The grammar of a run's odd calls. One thing is odd in each call: the token, a parameter, a field or a line of the
// basket, the body under a used key, or the key. A way to be odd is a line in one of these tables; package verify knows
// the right answer. Keys that services might take for each other are history's relatives: their orders are orders like
// others.

// way is a way to make something odd.
type way[F any] struct {
	name string
	of   F
}

// tokens are the ways to send the stock service's token, as header lines.
var tokens = []way[func(token string) string]{
	{"", func(token string) string { return "Authorization: Bearer " + token + "\r\n" }},
	{"none", func(string) string { return "" }},
	{"a longer one", func(token string) string { return "Authorization: Bearer " + token + "x\r\n" }},
	{"a prefix", func(token string) string { return "Authorization: Bearer " + token[:len(token)/2] + "\r\n" }},
	{"in other case", func(token string) string {
		for _, other := range []string{strings.ToLower(token), strings.ToUpper(token)} {
			if other != token {
				return "Authorization: Bearer " + other + "\r\n"
			}
		}
		return "Authorization: Bearer " + token + "x\r\n" // it has no letter
	}},
	{"another scheme", func(token string) string { return "Authorization: Basic " + token + "\r\n" }},
	{"another header", func(token string) string { return "X-Authorization: Bearer " + token + "\r\n" }},
}

// keys are headers Idempotency-Key that are none, made of a key.
var keys = []way[func(key string) string]{
	{"a blank inside", func(key string) string { return key + " x" }},
	{"256 characters", func(key string) string { return key + strings.Repeat("l", 256-len(key)) }},
	{"a composed letter", func(key string) string { return key + "\u00e9" }},
	{"a decomposed letter", func(key string) string { return key + "e\u0301" }},
	{"a blank in quotes", func(key string) string { return `"` + key + ` x"` }},
	{"an open quote", func(key string) string { return `"` + key }},
	{"empty quotes", func(string) string { return `""` }},
}

// baskets make a line of a basket odd: functions of the lines and the odd one's index.
var baskets = []way[func(lines []line, at int) []line]{
	{"no piece", number("0")},
	{"a negative number", number("-5")},
	{"a fraction", number("1.5")},
	{"a number as text", number(`"2"`)},
	{"too large a number", number("2147483648")},
	{"a number beyond 64 bits", number("36893488147419103233")},
	{"an unknown product", func(lines []line, at int) []line {
		id, _ := strconv.ParseInt(lines[at].goods, 10, 64)
		lines[at].goods = strconv.FormatInt(id+500_000, 10) // within the ids of the run's millisecond, which has not so many
		return lines
	}},
	{"a product id with a zero before it", func(lines []line, at int) []line {
		lines[at].goods = "0" + lines[at].goods
		return lines
	}},
	{"a product twice", func(lines []line, at int) []line { return slices.Insert(lines, at, lines[at]) }},
	{"a product twice, with another number", func(lines []line, at int) []line {
		return append(lines, line{lines[at].goods, lines[at].num + "0"})
	}},
	{"no line", func([]line, int) []line { return nil }},
	{"100 lines, of unknown products but for one", func(lines []line, at int) []line {
		return unknown(lines[at], operation.MaxItems-1)
	}},
	{"101 lines", func(lines []line, at int) []line { return unknown(lines[at], operation.MaxItems) }},
}

// unknown returns the line and so many others, each of an unknown product.
func unknown(first line, others int) []line {
	id, _ := strconv.ParseInt(first.goods, 10, 64)
	lines := []line{first}
	for i := range others {
		lines = append(lines, line{strconv.FormatInt(id+500_000+int64(i), 10), "1"})
	}
	return lines
}

// bodies spoil the text of a basket, so that it is none.
var bodies = []way[func(basket string) string]{
	{"the items twice", func(basket string) string { return basket[:len(basket)-1] + "," + basket[1:] }},
	{"a field with another name", func(basket string) string { return `{"extra":1,` + basket[1:] }},
	{"a field in other case", func(basket string) string { return strings.Replace(basket, "items", "Items", 1) }},
	{"a text behind it", func(basket string) string { return basket + "x" }},
	{"an end too early", func(basket string) string { return basket[:len(basket)-1] }},
	{"a list", func(basket string) string { return "[" + basket + "]" }},
}

// medias are media types of a body that a service must refuse.
var medias = []string{"text/plain", "application/json; charset=latin1"}

// line is a line of a basket, its number as JSON.
type line struct{ goods, num string }

func number(num string) func([]line, int) []line {
	return func(lines []line, at int) []line { lines[at].num = num; return lines }
}

type otherItems func(items []history.Item, goods []history.Goods) []history.Item

// others are the ways to send other items under a used key. They return nil if these items have no such others.
var others = []way[otherItems]{
	{"one piece more", func(items []history.Item, _ []history.Goods) []history.Item {
		items[len(items)-1].Num++
		return items
	}},
	{"a subset", func(items []history.Item, _ []history.Goods) []history.Item { return items[1:] }},
	{"a superset", func(items []history.Item, goods []history.Goods) []history.Item {
		if other := notIn(items, goods); other != 0 {
			return append(items, history.Item{GoodsID: other, Num: 1})
		}
		return nil
	}},
	{"another product", func(items []history.Item, goods []history.Goods) []history.Item {
		if items[0].GoodsID = notIn(items, goods); items[0].GoodsID != 0 {
			return items
		}
		return nil
	}},
	{"numbers exchanged", func(items []history.Item, _ []history.Goods) []history.Item {
		a, b := &items[0], &items[len(items)-1]
		if a.Num == b.Num {
			return nil
		}
		a.Num, b.Num = b.Num, a.Num
		return items
	}},
}

func same(items []history.Item, _ []history.Goods) []history.Item { return items }

// notIn returns a product of the run that the items have not, or 0.
func notIn(items []history.Item, goods []history.Goods) int64 {
	for _, g := range goods {
		if !slices.ContainsFunc(items, func(it history.Item) bool { return it.GoodsID == g.ID }) {
			return g.ID
		}
	}
	return 0
}

// restocks are the ways to send the run's restock of a product again.
var restocks = []way[func(*operation.Restock)]{
	{"the same", func(*operation.Restock) {}},
	{"another number", func(r *operation.Restock) { r.Num++ }},
	{"another price", func(r *operation.Restock) { *r.Price++ }},
	{"another name", func(r *operation.Restock) { *r.Name += "x" }},
	{"another product", func(r *operation.Restock) { r.GoodsID++ }},
}

// row is a row of the grammar: one way to make a call odd. draw returns calls to make one after the other, or none if
// it needs an order, and the client knows none yet.
type row struct {
	name string
	draw func(*drawing) []call
}

// call is a call to be made.
type call struct {
	route      *contract.Route
	head       bool   // HEAD in place of GET
	path       string // with its query
	token, key string // token is a name of tokens
	body       string
	media      string // of the body, if it is odd
	op         int32
}

// drawing is what a call is drawn from.
type drawing struct {
	h     *history.History
	r     *rand.Rand
	fresh string // a key that no other call uses
	known known  // an order that has ended
	first known  // the first such order
}

// known is an order whose end a client knows.
type known struct {
	op    int32
	order int64
	items []history.Item
}

// many is how often a call is made that must be answered in the same way each time: what a service keeps of each would
// run out.
const many = 10

// grammar returns the rows for a run. Orders says whether it reaches the order service.
func grammar(path history.Path, orders bool) (rows []row) {
	add := func(kind, name string, draw func(*drawing) []call) {
		rows = append(rows, row{kind + ": " + name, draw})
	}
	odd := func(kind, name string, r *contract.Route, change func(*call)) { // a right call of a route, changed
		add(kind, name, func(d *drawing) []call {
			c := d.example(r)
			change(&c)
			return []call{c}
		})
	}
	for _, r := range contract.Routes() {
		if !r.Stock && !orders {
			continue
		}
		for _, t := range tokens[1:] {
			if r.Guarded {
				odd("token", t.name+", "+r.String(), r, func(c *call) { c.token = t.name })
			}
		}
		if r.Method == http.MethodGet && !r.Stock {
			odd("head", r.String(), r, func(c *call) { c.head = true })
		}
		if r.Method == http.MethodGet {
			add("many times", r.String(), func(d *drawing) []call {
				c := d.example(r)
				if r.Has("limit") {
					c.path += "?limit=1" // the history keeps each answer
				}
				return slices.Repeat([]call{c}, many)
			})
		}
		for _, p := range r.Parameters {
			for _, value := range p.Schema.Enum {
				add("parameter", p.Name+" "+value+", "+r.String(), func(d *drawing) []call { return d.with(r, p, value) })
			}
			for _, valid := range []bool{true, false} {
				if valid && p.In == "path" && (r.Method != http.MethodGet && r.Stock) {
					continue // it would write
				}
				add("parameter", p.Name+within[valid]+", "+r.String(), func(d *drawing) []call {
					return d.parameter(r, p, valid)
				})
			}
		}
	}
	deduction := contract.Find(http.MethodPut, "/v1/operations/{flag}")
	place := deduction
	if orders {
		place = contract.Find(http.MethodPost, "/v1/orders")
		for _, k := range keys {
			odd("key", k.name, place, func(c *call) { c.key = k.of(c.key) })
		}
	}
	for _, b := range baskets {
		add("basket", b.name, func(d *drawing) []call {
			c, lines := d.example(place), make([]line, len(d.known.items))
			for i, it := range d.known.items {
				lines[i] = line{operation.FormatGoodsID(it.GoodsID), strconv.FormatInt(it.Num, 10)}
			}
			if len(lines) == 0 {
				return nil
			}
			c.body = basket(b.of(lines, d.r.IntN(len(lines))))
			return []call{c}
		})
	}
	for _, b := range bodies {
		odd("body", b.name, place, func(c *call) { c.body = b.of(c.body) })
	}
	for _, media := range medias {
		odd("media type", media, place, func(c *call) { c.media = media })
	}
	if orders || path == history.PathDeduct {
		for _, o := range others {
			add("used key", o.name, func(d *drawing) []call { return d.again(place, o.of) })
			if orders {
				add("used flag of an order", o.name, func(d *drawing) []call { return d.again(deduction, o.of) })
			}
		}
		add("deductions together", "one that is invalid beside a repeat", func(d *drawing) []call {
			calls := d.again(deduction, same)
			for i, again := range calls {
				lines := []string{
					fmt.Sprintf(`{"flag":%q,"items":[{"goods_id":"1","num":0}]}`, d.fresh),
					fmt.Sprintf(`{"flag":%q,%s`, flagOf(again), strings.TrimPrefix(again.body, "{")),
				}
				if d.r.IntN(2) == 0 {
					slices.Reverse(lines)
				}
				calls[i] = d.example(contract.Find(http.MethodPost, "/v1/operations"))
				calls[i].body = `{"operations":[` + strings.Join(lines, ",") + `]}`
			}
			return calls
		})
		add("used flag of an order", "a restock", func(d *drawing) []call {
			calls := d.again(deduction, same)
			for i, of := range calls {
				calls[i] = d.restock(func(r *operation.Restock) { r.Flag = flagOf(of) })
				calls[i].op = of.op
			}
			return calls
		})
	}
	for _, r := range contract.Routes() {
		for _, name := range r.Fields() {
			add("field", name+within[false]+", "+r.String(), func(d *drawing) []call { return d.beyond(r, name) })
			if slices.Contains(r.Body.Required, name) {
				add("field", "no "+name+", "+r.String(), func(d *drawing) []call { return []call{d.field(r, name, "")} })
			}
		}
	}
	add("used flag", "cancelled before", func(d *drawing) []call {
		return []call{d.example(contract.Find(http.MethodPost, "/v1/operations/{flag}/cancel")), d.example(deduction)}
	})
	for _, o := range restocks {
		add("used flag", o.name, func(d *drawing) []call { return []call{d.restock(o.of)} })
	}
	return rows
}

var within = map[bool]string{true: " within its limits", false: " beyond its limits"}

func basket(lines []line) string {
	texts := make([]string, len(lines))
	for i, l := range lines {
		texts[i] = fmt.Sprintf(`{"goods_id":%q,"num":%s}`, l.goods, l.num)
	}
	return `{"items":[` + strings.Join(texts, ",") + `]}`
}

// again returns a call with other items under the key of an order that has ended: the client's first or its last, as
// drawn, or the other one, if the first drawn has no such items.
func (d *drawing) again(r *contract.Route, of otherItems) []call {
	for _, i := range d.r.Perm(2) {
		used := []known{d.first, d.known}[i]
		if len(used.items) == 0 || d.h.FormOf(int(used.op)) == history.Keyless ||
			used.order == 0 && d.h.Path == history.PathOrder {
			continue
		}
		items := of(slices.Clone(used.items), d.h.Goods)
		if len(items) == 0 {
			continue
		}
		c := d.example(r)
		c.op, c.key, c.body = used.op, d.h.Key(int(used.op)), string(history.AppendBody(nil, items))
		if r.Stock {
			c.path, c.key = strings.Replace(r.Path, "{flag}", d.flag(used), 1), ""
		}
		return []call{c}
	}
	return nil
}

// flag returns the operation flag of an order, if its id is known.
func (d *drawing) flag(of known) string {
	if d.h.Path == history.PathDeduct {
		return d.h.Key(int(of.op))
	}
	return strconv.FormatInt(max(of.order, 1), 10)
}

// flagOf returns the flag at the end of a call's path.
func flagOf(c call) string { return c.path[strings.LastIndex(c.path, "/")+1:] }

// restock returns the run's restock of a product, changed.
func (d *drawing) restock(change func(*operation.Restock)) call {
	body := d.h.Restock(d.r.IntN(len(d.h.Goods)))
	change(&body)
	return restockCall(body)
}

// restockCall returns a call that stocks a product.
func restockCall(body operation.Restock) call {
	r := contract.Find(http.MethodPost, "/v1/stock/{goods_id}/restock")
	path := strings.Replace(r.Path, "{goods_id}", operation.FormatGoodsID(body.GoodsID), 1)
	return call{route: r, path: path, body: encode(body), op: -1}
}

// example returns a right call of a route, under a fresh key or flag.
func (d *drawing) example(r *contract.Route) call {
	c, query := call{route: r, path: r.Path, op: -1}, url.Values{}
	for _, p := range r.Parameters {
		switch {
		case p.In == "path":
			c.path = strings.Replace(c.path, "{"+p.Name+"}", d.value(p.Name, p.Schema), 1)
		case p.Required:
			query.Set(p.Name, d.value(p.Name, p.Schema))
		}
	}
	if len(query) > 0 {
		c.path += "?" + query.Encode()
	}
	if r.Body != nil {
		c.body = d.json("", r.Body)
	}
	if !r.Stock && r.Method == http.MethodPost && r.Body != nil {
		c.key = d.fresh
	}
	return c
}

// value returns a valid value of a parameter or a field: an unused flag, a product of the run, or 1.
func (d *drawing) value(name string, s *contract.Schema) string {
	switch {
	case strings.Contains(name, "flag"):
		return d.fresh
	case strings.Contains(name, "goods"):
		return operation.FormatGoodsID(d.h.Goods[d.r.IntN(len(d.h.Goods))].ID)
	case len(s.Enum) > 0:
		return s.Enum[len(s.Enum)-1]
	}
	return "1"
}

// json returns a valid value of a schema, with the fields that it requires.
func (d *drawing) json(name string, s *contract.Schema) string {
	switch s.Type {
	case "object":
		return d.object(s, "", "")
	case "array":
		return "[" + d.json(name, s.Items) + "]"
	case "string":
		return strconv.Quote(d.value(name, s))
	}
	return d.value(name, s)
}

// object returns the fields that a schema requires, with one at a given value, or without it.
func (d *drawing) object(s *contract.Schema, odd, value string) string {
	names := s.Required
	if odd != "" && !slices.Contains(names, odd) {
		names = append(slices.Clone(names), odd)
	}
	var fields []string
	for _, name := range names {
		text := value
		if name != odd {
			text = d.json(name, s.Properties[name])
		}
		if text != "" {
			fields = append(fields, strconv.Quote(name)+":"+text)
		}
	}
	return "{" + strings.Join(fields, ",") + "}"
}

// field returns a call with one field of the body at a value in JSON, or without it.
func (d *drawing) field(r *contract.Route, name, value string) call {
	c := d.example(r)
	c.body = d.object(r.Body, name, value)
	return c
}

// beyond returns calls with one field of the body at a value that the schema does not allow, and just beyond each of
// its borders.
func (d *drawing) beyond(r *contract.Route, name string) (calls []call) {
	s := r.Body.Properties[name]
	for _, text := range d.values(s, false) {
		if s.Type != "integer" || !jsontext.Value(text).IsValid() {
			text = encode(text)
		}
		calls = append(calls, d.field(r, name, text))
	}
	return calls
}

// texts are values of parameters and fields, valid or not by the schema.
var texts = []string{
	"0", "1", "2", "-1", "01", "+1", "1.5", "x", "9223372036854775807", "9223372036854775808", "true", "false", "maybe",
	"confirmed", "a b", "\u00e9", "a'b", "%", "1\n",
}

// parameter returns calls with one parameter at any valid value but its default, or at an invalid one, and at each of
// its borders. A list begins near the client's own orders or products, so that the parameter should show.
func (d *drawing) parameter(r *contract.Route, p contract.Parameter, valid bool) (calls []call) {
	if p.Schema.Type == "array" {
		for _, list := range d.lists(p, valid) {
			calls = append(calls, d.with(r, p, list...)...)
		}
	}
	if p.Schema.Type != "array" || !valid {
		var not []string
		if p.In == "path" { // a server cleans such paths, or takes them for others
			not = []string{"%", "1\n"}
		}
		for _, value := range d.values(p.Schema, valid, not...) {
			calls = append(calls, d.with(r, p, value)...)
		}
	}
	return calls
}

// lists returns lists for a parameter: of some known ones and one that is not there, and as many as may be; or one too
// many.
func (d *drawing) lists(p contract.Parameter, valid bool) [][]string {
	known := d.listed(p.Name)
	if !valid {
		return [][]string{slices.Repeat(known[:1], p.Schema.MaxItems+1)}
	}
	var unknown []string
	for i := range p.Schema.MaxItems - len(known) {
		other := d.fresh + "-" + strconv.Itoa(i)
		if !p.Schema.Items.Allows(other) {
			other = strconv.Itoa(i + 1)
		}
		unknown = append(unknown, other)
	}
	return [][]string{slices.Concat(known, unknown[:1]), slices.Concat(known, unknown)}
}

// values returns one of the values that a schema allows, or does not, as drawn, and all of them that are at a border:
// the last that the schema allows, or the first that it does not.
func (d *drawing) values(s *contract.Schema, valid bool, not ...string) []string {
	fit := slices.DeleteFunc(append(slices.Clone(s.Enum), texts...), func(text string) bool { // the default has no effect
		return text == "" || text == string(s.Default) || s.Allows(text) != valid || slices.Contains(not, text)
	})
	values := []string{fit[d.r.IntN(len(fit))]}
	add := func(last, next string) {
		if s.Allows(last) && !s.Allows(next) {
			values = append(values, map[bool]string{true: last, false: next}[valid])
		}
	}
	if s.Minimum != nil {
		add(strconv.FormatInt(*s.Minimum, 10), strconv.FormatInt(*s.Minimum-1, 10))
	}
	if s.Maximum != nil {
		add(strconv.FormatInt(*s.Maximum, 10), strconv.FormatInt(*s.Maximum+1, 10))
	}
	add(strconv.FormatInt(math.MaxInt64, 10), strconv.FormatUint(math.MaxInt64+1, 10))
	for n := 1; n < 300; n++ {
		add(strings.Repeat("x", n), strings.Repeat("x", n+1))
	}
	return values
}

// with returns a call with one parameter at a value, or at several.
func (d *drawing) with(r *contract.Route, p contract.Parameter, values ...string) []call {
	if p.In == "path" {
		of := *r
		of.Path = strings.Replace(r.Path, "{"+p.Name+"}", url.PathEscape(values[0]), 1)
		c := d.example(&of)
		c.route = r
		return []call{c}
	}
	query := url.Values{p.Name: values}
	switch {
	case p.Schema.Type == "array":
	case p.Name == "after" || !r.Has("after"):
	case r.Stock:
		query.Set("after", strconv.FormatInt(d.h.Goods[0].ID-1, 10))
	case d.first.order == 0:
		return nil
	default:
		query.Set("after", strconv.FormatInt([]known{d.first, d.known}[d.r.IntN(2)].order-1, 10))
	}
	return []call{{route: r, path: r.Path + "?" + query.Encode(), op: -1}}
}

// listed returns some products of the run, or the flag of an order.
func (d *drawing) listed(name string) (all []string) {
	if !strings.Contains(name, "goods") {
		return []string{d.flag(d.known)}
	}
	for i := range min(3, len(d.h.Goods)) {
		all = append(all, operation.FormatGoodsID(d.h.Goods[i].ID))
	}
	return all
}
