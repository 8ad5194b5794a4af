package shop

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
)

// Vars are the values of the variables.
type Vars map[string]any

// With returns the variables with others.
func (v Vars) With(others Vars) Vars {
	both := maps.Clone(v)
	maps.Copy(both, others)
	return both
}

// hole is a place for a variable: its name and, after a bar, the type to write it as.
var hole = regexp.MustCompile(`\{\{\s*([A-Za-z_][\w.]*)\s*(?:\|\s*(\w+)\s*)?\}\}`)

// Text returns text with the values of its variables.
func (v Vars) Text(text string) (string, error) {
	var failed error
	out := hole.ReplaceAllStringFunc(text, func(found string) string {
		value, err := v.value(hole.FindStringSubmatch(found))
		if err != nil {
			failed = err
		}
		return plain(value)
	})
	return out, failed
}

// Value returns a copy of a value of JSON in which the texts have the values of their variables. A text that is nothing
// but a variable becomes the variable's value with its type.
func (v Vars) Value(in any) (any, error) {
	switch in := in.(type) {
	case string:
		if m := hole.FindStringSubmatch(in); m != nil && m[0] == strings.TrimSpace(in) {
			return v.value(m)
		}
		return v.Text(in)
	case []any:
		out := make([]any, len(in))
		for i := range in {
			var err error
			if out[i], err = v.Value(in[i]); err != nil {
				return nil, err
			}
		}
		return out, nil
	case map[string]any:
		out := make(map[string]any, len(in))
		for name, value := range in {
			key, err := v.Text(name)
			if err != nil {
				return nil, err
			}
			if out[key], err = v.Value(value); err != nil {
				return nil, err
			}
		}
		return out, nil
	}
	return in, nil
}

// value returns the value of a hole: its match, name and type.
func (v Vars) value(m []string) (any, error) {
	value, ok := v[m[1]]
	if name, env := strings.CutPrefix(m[1], "env."); env {
		value, ok = os.LookupEnv(name)
	}
	if !ok {
		return nil, fmt.Errorf("no value for {{%s}}", m[1])
	}
	switch m[2] {
	case "number":
		number := json.Number(plain(value))
		if !json.Valid([]byte(number)) {
			return nil, fmt.Errorf("{{%s}} is %q, and no number", m[1], plain(value))
		}
		return number, nil
	case "string":
		return plain(value), nil
	}
	return value, nil
}

// plain returns a value as text: a text as it is, any other value as JSON.
func plain(value any) string {
	switch value := value.(type) {
	case string:
		return value
	case json.Number:
		return value.String()
	case Pieces:
		return value.String()
	}
	text, err := json.Marshal(value)
	if err != nil {
		return fmt.Sprint(value)
	}
	return string(text)
}

// holes returns the names of the variables in a value of JSON, and the types to write them as.
func holes(in any) (names, kinds []string) {
	switch in := in.(type) {
	case string:
		for _, m := range hole.FindAllStringSubmatch(in, -1) {
			names, kinds = append(names, m[1]), append(kinds, m[2])
		}
	case []any:
		for _, value := range in {
			n, k := holes(value)
			names, kinds = append(names, n...), append(kinds, k...)
		}
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(in)) {
			for _, part := range []any{key, in[key]} {
				n, k := holes(part)
				names, kinds = append(names, n...), append(kinds, k...)
			}
		}
	}
	return names, kinds
}
