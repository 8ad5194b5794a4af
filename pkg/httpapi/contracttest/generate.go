package contracttest

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
	"pgregory.net/rapid"
)

// Call is a generated request.
type Call struct {
	Operation    string      // its id in the description
	Method, Path string      // the path with its query
	Header       http.Header // as the server reads it: no control character, no space at either end
	Body         string
}

// Generator makes calls of a description. Most match it; many have one defect.
type Generator struct {
	doc *openapi3.T
	// Known are values known to the service, by the name of a parameter or a field.
	Known map[string][]string
	t     *rapid.T
}

// Generate returns a generator of calls that draws from t.
func (d *Description) Generate(t *rapid.T, known map[string][]string) *Generator {
	return &Generator{doc: d.doc, Known: known, t: t}
}

// Call makes a call of any operation of the description.
func (g *Generator) Call() Call {
	type place struct {
		path, method string
		op           *openapi3.Operation
		item         *openapi3.PathItem
	}
	var places []place
	for _, path := range slices.Sorted(maps.Keys(g.doc.Paths.Map())) {
		if !strings.HasPrefix(path, "/v1/") && !g.rarely("operations") {
			continue
		}
		item := g.doc.Paths.Value(path)
		ops := item.Operations()
		for _, method := range slices.Sorted(maps.Keys(ops)) {
			places = append(places, place{path, method, ops[method], item})
		}
	}
	at := places[g.upTo(len(places), "operation")]
	call := Call{Operation: at.op.OperationID, Method: at.method, Header: http.Header{}}
	query := url.Values{}
	call.Path = at.path
	for _, ref := range at.op.Parameters {
		p := ref.Value
		if !p.Required && p.In != openapi3.ParameterInPath && g.upTo(3, "absent") == 0 {
			continue
		}
		switch value := g.value(p.Name, p.Schema.Value); p.In {
		case openapi3.ParameterInPath:
			call.Path = strings.Replace(call.Path, "{"+p.Name+"}", url.PathEscape(text(value)), 1)
		case openapi3.ParameterInQuery:
			if list, ok := value.([]any); ok {
				for _, one := range list {
					query.Add(p.Name, text(one))
				}
			} else {
				query.Add(p.Name, text(value))
			}
		case openapi3.ParameterInHeader:
			call.Header.Set(p.Name, strings.Trim(strings.Map(printable, text(value)), " "))
		}
	}
	if len(query) > 0 {
		call.Path += "?" + query.Encode()
	}
	if at.op.RequestBody != nil {
		call.Header.Set("Content-Type", "application/json")
		if g.rarely("other type") {
			call.Header.Set("Content-Type", rapid.SampledFrom([]string{"", "text/plain", "application/xml"}).Draw(g.t, "type"))
		}
		value := g.value("", at.op.RequestBody.Value.Content["application/json"].Schema.Value)
		raw, err := json.Marshal(value)
		if err != nil {
			g.t.Fatalf("marshal %v: %v", value, err)
		}
		call.Body = string(raw)
		if len(raw) > 1 && g.rarely("cut") {
			call.Body = call.Body[:g.upTo(len(raw), "length")]
		}
	}
	return call
}

// odd are values that are valid for no field, but that careless code might accept or fail on.
var odd = []any{
	nil, true, -1, 0, 1.5, 1e300, math.MaxInt64, math.MinInt64, "", " ", "0", "-1", "01", "\x00", "\u202e", "'",
	`" OR ""="`, "%", "../..", "a/b", "null", "9223372036854775808",
	strings.Repeat("9", 300), strings.Repeat("é", 101),
	[]any{},
	map[string]any{},
	[]any{nil},
}

// value makes a value of the schema, and seldom one that breaks it. The name is the parameter's or field's.
func (g *Generator) value(name string, s *openapi3.Schema) any {
	if g.rarely("odd") {
		return rapid.SampledFrom(odd).Draw(g.t, "odd value")
	}
	if known := g.Known[name]; len(known) > 0 && s.Type.Includes(openapi3.TypeString) && g.upTo(10, "known") > 0 {
		return rapid.SampledFrom(known).Draw(g.t, name)
	}
	switch {
	case len(s.Enum) > 0:
		return rapid.SampledFrom(s.Enum).Draw(g.t, name)
	case s.Type.Includes(openapi3.TypeObject):
		return g.object(s)
	case s.Type.Includes(openapi3.TypeArray):
		low, high := int(s.MinItems), 4
		if g.rarely("long") && s.MaxItems != nil {
			high = int(*s.MaxItems) + 1
		}
		list := make([]any, rapid.IntRange(low, max(low, high)).Draw(g.t, "items"))
		for i := range list {
			list[i] = g.value(name, s.Items.Value)
		}
		return list
	case s.Type.Includes(openapi3.TypeInteger):
		low, high := int64(-5), int64(math.MaxInt32)
		if s.Min != nil {
			low = int64(*s.Min)
		}
		if s.Max != nil {
			high = int64(*s.Max)
		}
		if g.upTo(4, "small") > 0 {
			high = min(high, low+9)
		}
		return rapid.Int64Range(low, high).Draw(g.t, name)
	case s.Pattern != "":
		return rapid.StringMatching(s.Pattern).Draw(g.t, name)
	}
	return rapid.StringN(0, 12, 40).Draw(g.t, name)
}

func (g *Generator) object(s *openapi3.Schema) map[string]any {
	object := map[string]any{}
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		if slices.Contains(s.Required, name) && !g.rarely("missing") || g.upTo(2, "optional") == 0 {
			object[name] = g.value(name, s.Properties[name].Value)
		}
	}
	if g.rarely("unknown field") {
		object["status"] = "DONE"
	}
	return object
}

// rarely is true once in forty draws.
func (g *Generator) rarely(what string) bool { return g.upTo(40, what) == 39 }

func (g *Generator) upTo(n int, what string) int { return rapid.IntRange(0, n-1).Draw(g.t, what) }

// text writes a value as a parameter.
func text(value any) string {
	switch value := value.(type) {
	case nil:
		return ""
	case string:
		return value
	}
	return fmt.Sprint(value)
}

// printable drops the characters that no header may hold.
func printable(r rune) rune {
	if r < ' ' || r == 0x7f {
		return -1
	}
	return r
}
