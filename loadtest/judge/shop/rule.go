package shop

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/goccy/go-yaml/ast"
	"github.com/theory/jsonpath"
)

// Condition holds if a part of the body has one of the values.
type Condition struct {
	Path   *jsonpath.Path
	Values Texts
}

// UnmarshalYAML implements yaml.NodeUnmarshaler. Names that begin with $ are paths.
func (r *Rule) UnmarshalYAML(n ast.Node) error {
	values, err := pairs(n)
	if err != nil {
		return err
	}
	r.At = at(n)
	for _, v := range values {
		name, _, err := scalar(v.Key)
		if err != nil {
			return err
		}
		if err := r.set(name, v); err != nil {
			return err
		}
	}
	return nil
}

func (r *Rule) set(name string, v *ast.MappingValueNode) error {
	switch name {
	case "status":
		return r.Status.UnmarshalYAML(v.Value)
	case "contains":
		return r.Contains.UnmarshalYAML(v.Value)
	case "matches":
		r.Matches = &Pattern{}
		return r.Matches.UnmarshalYAML(v.Value)
	case "headers":
		return decode(v.Value, &r.Headers)
	case "means":
		text, _, err := scalar(v.Value)
		all := []Means{Accepted, Rejected, Pending, Unknown, Cancelled}
		if r.Means = Means(text); err == nil && !slices.Contains(all, r.Means) {
			err = mistake(at(v.Value), "means %q: want accepted, rejected, pending or unknown; cancelled under cancel", text)
		}
		return err
	case "order":
		r.Order = &Capture{}
		return r.Order.UnmarshalYAML(v.Value)
	}
	if !strings.HasPrefix(name, "$") {
		return mistake(at(v.Key), "unknown field %q; an answer has status, contains, matches, headers, means, order, "+
			"and conditions such as $.status", name)
	}
	c := Condition{}
	var err error
	if c.Path, err = path(v.Key, name); err != nil {
		return err
	}
	r.JSON = append(r.JSON, c)
	return r.JSON[len(r.JSON)-1].Values.UnmarshalYAML(v.Value)
}

// says reports whether the rule looks at the body or a header.
func (r *Rule) says() bool {
	return len(r.JSON) > 0 || len(r.Contains) > 0 || r.Matches != nil || len(r.Headers) > 0
}

func (r *Rule) match(a *Answer) bool {
	if len(r.Status) > 0 && !slices.Contains(r.Status, a.Status) {
		return false
	}
	body := strings.ToLower(string(a.Body))
	holds := func(text string) bool { return strings.Contains(body, strings.ToLower(text)) }
	if len(r.Contains) > 0 && !slices.ContainsFunc(r.Contains, holds) {
		return false
	}
	if r.Matches != nil && !r.Matches.Match(a.Body) {
		return false
	}
	for name, pattern := range r.Headers {
		if !pattern.MatchString(a.Header.Get(name)) {
			return false
		}
	}
	return !slices.ContainsFunc(r.JSON, func(c Condition) bool { return !c.holds(a) })
}

func (c Condition) holds(a *Answer) bool {
	for _, found := range c.Path.Select(a.JSON()) {
		text := plain(found)
		if found == nil {
			text = Null
		}
		if slices.Contains(c.Values, text) {
			return true
		}
	}
	return false
}

// Reading is how an answer was read.
type Reading struct {
	Means Means `json:"means"`
	// Rule is the number of the rule that matched, from 1; 0 if none did.
	Rule int `json:"rule,omitempty"`
	// Order is the order's id, or "".
	Order string `json:"order,omitempty"`
	// Note says why the answer is unknown although a rule matched.
	Note string `json:"note,omitempty"`
}

// Read gives an answer to the order its meaning. An accepted order without an id is unknown.
func (f *File) Read(a *Answer, vars Vars) Reading { return read(f.Answers, a, vars) }

// Read gives an answer to a step after the order its meaning, which may be unknown. The order's id is the one in vars,
// unless the answer has another.
func (s *Step) Read(a *Answer, vars Vars) Reading {
	reading := read(s.Answers, a, vars)
	if id, known := vars[OrderID]; known && reading.Order == "" && reading.Rule > 0 {
		reading.Order = ID(plain(id))
	}
	return reading
}

// OrderID is the variable with the order's id, after the order.
const OrderID = "order"

// Placed returns the order's id as it is in an answer that was read as that, for the variable OrderID; or nil.
func (f *File) Placed(r Reading, a *Answer, vars Vars) any {
	if r.Rule == 0 || f.Answers[r.Rule-1].Order == nil {
		return nil
	}
	id, _ := f.Answers[r.Rule-1].Order.From(a, vars)
	return id
}

func read(rules []Rule, a *Answer, vars Vars) Reading {
	for i := range rules {
		r := &rules[i]
		if !r.match(a) {
			continue
		}
		reading := Reading{Means: r.Means, Rule: i + 1}
		if r.Order != nil {
			if id, ok := r.Order.From(a, vars); ok {
				reading.Order = ID(plain(id))
			} else if r.Means == Accepted {
				reading.Means, reading.Note = Unknown, "it has no order id at "+r.Order.String()+r.Order.Elsewhere(a, "id")
			}
		}
		return reading
	}
	return Reading{Means: Unknown}
}

// ID returns an id in the form in which ids are compared: a UUID in lower case with its dashes, a whole number without
// a point.
func ID(text string) string {
	text = strings.TrimSpace(text)
	if whole, zeros, point := strings.Cut(text, "."); point && strings.Trim(zeros, "0") == "" &&
		json.Valid([]byte(text)) {
		return whole
	}
	hex := strings.ToLower(strings.ReplaceAll(strings.Trim(text, "{}"), "-", ""))
	if len(hex) != 32 || strings.Trim(hex, "0123456789abcdef") != "" {
		return text
	}
	return hex[:8] + "-" + hex[8:12] + "-" + hex[12:16] + "-" + hex[16:20] + "-" + hex[20:]
}

func (r Reading) String() string {
	text := string(r.Means)
	if r.Order != "" {
		text += ", order " + r.Order
	}
	switch {
	case r.Note != "":
		return text + ": " + r.Note
	case r.Rule > 0:
		return fmt.Sprintf("%s (answer %d)", text, r.Rule)
	case r.Means == Cancelled:
		return text
	}
	return text + " (no answer in the file matches)"
}
