// Package contract reads the OpenAPI documents of both services: their calls, parameters and answers.
package contract

import (
	"encoding/json"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"orderstock/order-service/orderhttp"
	"orderstock/stock-service/stockhttp"
)

// Route is a call of a service.
type Route struct {
	// Method is in capitals, and Path as in the document: "/v1/orders/{id}".
	Method, Path string
	// Stock is true if it is a call of the stock service, and Guarded if it needs that service's token.
	Stock, Guarded bool
	// Parameters are in the path and in the query.
	Parameters []Parameter
	// Key is the schema of the header Idempotency-Key, or nil.
	Key *Schema
	// Body is the schema of the body, or nil.
	Body *Schema
	// Statuses are the statuses that may answer.
	Statuses []int
}

func (r *Route) String() string { return r.Method + " " + r.Path }

// Has reports whether the call has a parameter of that name.
func (r *Route) Has(name string) bool {
	return slices.ContainsFunc(r.Parameters, func(p Parameter) bool { return p.Name == name })
}

// Fields returns the names of the body's fields that are numbers or texts, sorted.
func (r *Route) Fields() (names []string) {
	if r.Body == nil {
		return nil
	}
	for name, s := range r.Body.Properties {
		if s.Type == "integer" || s.Type == "string" {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// Parameter is a parameter of a call.
type Parameter struct {
	Name     string  `json:"name"`
	In       string  `json:"in"`
	Required bool    `json:"required"`
	Schema   *Schema `json:"schema"`
}

// Schema is a JSON schema, with the keywords that the documents use for parameters and requests.
type Schema struct {
	Ref        string             `json:"$ref"`
	Type       any                `json:"type"`
	Enum       []string           `json:"enum"`
	Default    json.RawMessage    `json:"default"`
	Pattern    string             `json:"pattern"`
	Minimum    *int64             `json:"minimum"`
	Maximum    *int64             `json:"maximum"`
	MaxItems   int                `json:"maxItems"`
	MaxLength  int                `json:"maxLength"`
	Items      *Schema            `json:"items"`
	Properties map[string]*Schema `json:"properties"`
	Required   []string           `json:"required"`

	pattern *regexp.Regexp // Pattern; nil for none
}

// Allows reports whether a value of a path, a query or a field, as text, obeys the schema.
func (s *Schema) Allows(text string) bool {
	n, err := strconv.ParseInt(text, 10, 64)
	whole := err == nil && strconv.FormatInt(n, 10) == text
	switch {
	case s.Type == "array":
		return s.Items.Allows(text)
	case s.Type == "integer":
		return whole && (s.Minimum == nil || n >= *s.Minimum) && (s.Maximum == nil || n <= *s.Maximum)
	case s.Type == "boolean":
		return text == "true" || text == "false"
	case len(s.Enum) > 0:
		return slices.Contains(s.Enum, text)
	case strings.Contains(s.Pattern, "[0-9]"): // an id, which has 63 bits
		return whole && n > 0 || text == "" && strings.Contains(s.Pattern, "?")
	}
	return (s.MaxLength == 0 || utf8.RuneCountInString(text) <= s.MaxLength) &&
		(s.pattern == nil || s.pattern.MatchString(text))
}

// Routes returns the calls of both services under /v1, by path.
var Routes = sync.OnceValue(func() (all []*Route) {
	for i, text := range [][]byte{orderhttp.OpenAPI, stockhttp.OpenAPI} {
		var d document
		if err := json.Unmarshal(text, &d); err != nil {
			panic(err) // the services' tests read it
		}
		for path, calls := range d.Paths {
			for method, c := range calls {
				if strings.HasPrefix(path, "/v1/") {
					all = append(all, d.route(i == 1, strings.ToUpper(method), path, c))
				}
			}
		}
	}
	slices.SortStableFunc(all, func(a, b *Route) int {
		return strings.Compare(a.Path+a.Method, b.Path+b.Method)
	})
	return all
})

// Find returns the route of a call, or nil.
func Find(method, path string) *Route {
	for _, r := range Routes() {
		if r.Method == method && r.Path == path {
			return r
		}
	}
	return nil
}

type document struct {
	Security   []json.RawMessage           `json:"security"`
	Paths      map[string]map[string]*call `json:"paths"`
	Components struct {
		Schemas map[string]*Schema `json:"schemas"`
	} `json:"components"`
}

type call struct {
	Security   *[]json.RawMessage `json:"security"`
	Parameters []Parameter        `json:"parameters"`
	Body       struct {
		Content map[string]struct {
			Schema *Schema `json:"schema"`
		} `json:"content"`
	} `json:"requestBody"`
	Responses map[string]json.RawMessage `json:"responses"`
}

func (d *document) route(stock bool, method, path string, c *call) *Route {
	r := &Route{Method: method, Path: path, Stock: stock, Guarded: len(d.Security) > 0}
	if c.Security != nil {
		r.Guarded = len(*c.Security) > 0
	}
	for _, p := range c.Parameters {
		switch p.Schema = d.whole(p.Schema); {
		case p.In != "header":
			r.Parameters = append(r.Parameters, p)
		case p.Name == "Idempotency-Key":
			r.Key = p.Schema
		}
	}
	for _, content := range c.Body.Content {
		r.Body = d.whole(content.Schema)
	}
	for status := range c.Responses {
		if n, err := strconv.Atoi(status); err == nil {
			r.Statuses = append(r.Statuses, n)
		}
	}
	return r
}

// whole returns a schema with the ones that it refers to.
func (d *document) whole(s *Schema) *Schema {
	if s == nil {
		return nil
	}
	if name, found := strings.CutPrefix(s.Ref, "#/components/schemas/"); found {
		s = d.Components.Schemas[name]
	}
	if types, several := s.Type.([]any); several { // or null, which stands for no field
		s.Type = types[0]
	}
	if s.Pattern != "" && s.pattern == nil {
		s.pattern = regexp.MustCompile(s.Pattern)
	}
	s.Items = d.whole(s.Items)
	for name, p := range s.Properties {
		s.Properties[name] = d.whole(p)
	}
	return s
}
