package shop

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
)

// At is a place in the file, from 1. The zero value is none.
type At struct{ Line, Column int }

// Mistake is a mistake in the file.
type Mistake struct {
	At   At
	Text string
}

func (m *Mistake) Error() string {
	if m.At == (At{}) {
		return m.Text
	}
	return fmt.Sprintf("line %d, column %d: %s", m.At.Line, m.At.Column, m.Text)
}

func mistake(at At, format string, args ...any) error {
	return &Mistake{at, fmt.Sprintf(format, args...)}
}

// at returns the place of a node: of its first key, if it is a mapping.
func at(n ast.Node) At {
	switch n := n.(type) {
	case *ast.MappingNode:
		if len(n.Values) > 0 {
			return at(n.Values[0])
		}
	case *ast.MappingValueNode:
		return at(n.Key)
	case *ast.SequenceNode:
		if len(n.Values) > 0 {
			return at(n.Values[0])
		}
	}
	if n == nil || n.GetToken() == nil || n.GetToken().Position == nil {
		return At{}
	}
	p := n.GetToken().Position
	return At{p.Line, p.Column}
}

// decode reads a node into v. Fields that v does not have are mistakes; others are the structs that have fields of the
// same mapping.
func decode(n ast.Node, v any, others ...any) error {
	return placed(yaml.NodeToValue(n, v, yaml.Strict()), append(others, v)...)
}

// placed returns the parser's error as a mistake in a mapping with the fields of structs.
func placed(err error, structs ...any) error {
	if own, ok := errors.AsType[*Mistake](err); ok {
		return own
	}
	theirs, ok := errors.AsType[yaml.Error](err)
	if !ok || theirs.GetToken() == nil {
		return err
	}
	p := theirs.GetToken().Position
	return mistake(At{p.Line, p.Column}, "%s%s%s", theirs.GetMessage(), hint(theirs.GetMessage()),
		meant(theirs.GetMessage(), structs))
}

// hint says what to look for, as the parser speaks of its grammar.
func hint(message string) string {
	for part, says := range map[string]string{
		"'\t'":                    "indent with spaces, not with tabs",
		"value is not allowed":    "is the line indented like those beside it, with a space after the colon?",
		"could not find flow map": `a value that begins with {{ needs quotes, such as "{{key}}"`,
		"was used where mapping":  "names with values belong here, such as {name: value}",
		"',' or '}' must be":      "a bracket is not closed, or a value with brackets, commas or colons in it needs quotes",
		"used where sequence":     "a list belongs here: each item begins with a dash",
	} {
		if strings.Contains(message, part) {
			return ": " + says
		}
	}
	return ""
}

// unknownField is the parser's message on a field that a struct does not have.
var unknownField = regexp.MustCompile(`^unknown field "(.*)"$`)

// meant names the field of structs that is written most like an unknown one, if any is.
func meant(message string, structs []any) (text string) {
	m := unknownField.FindStringSubmatch(message)
	if m == nil {
		return ""
	}
	least := 1 + len(m[1])/3 // more edits than this make another word
	for _, v := range structs {
		for _, name := range slices.Sorted(maps.Keys(fieldsOf(v))) {
			if n := edits(m[1], name); n <= least && name != "" && name != "-" && name != m[1] {
				least, text = n-1, ": do you mean "+name+"?"
			}
		}
	}
	return text
}

// edits returns how many letters must be inserted, left out or replaced to make one word of another.
func edits(from, to string) int {
	row := make([]int, len(to)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(from) {
		diagonal := row[0]
		row[0]++
		for j := range len(to) {
			replaced := diagonal
			if from[i] != to[j] {
				replaced++
			}
			diagonal = row[j+1]
			row[j+1] = min(replaced, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(to)]
}

// pairs returns the keys and values of a mapping.
func pairs(n ast.Node) (values []*ast.MappingValueNode, err error) {
	switch n := n.(type) {
	case *ast.MappingNode:
		return n.Values, nil
	case *ast.MappingValueNode:
		return []*ast.MappingValueNode{n}, nil
	case *ast.AnchorNode:
		return pairs(n.Value)
	}
	return nil, mistake(at(n), "want names with values, found %q", n)
}

// scalar returns a value as it is written, without quotes. NULL is not text.
func scalar(n ast.Node) (text string, isNull bool, err error) {
	switch n := n.(type) {
	case *ast.NullNode:
		return "", true, nil
	case *ast.StringNode:
		return n.Value, false, nil
	case *ast.LiteralNode:
		return n.Value.Value, false, nil
	case *ast.AnchorNode:
		return scalar(n.Value)
	case ast.ScalarNode:
		return n.GetToken().Value, false, nil
	}
	return "", false, mistake(at(n), "want one value, found %q", n)
}

// listed returns a list's values, or the one value itself.
func listed(n ast.Node) []ast.Node {
	if list, ok := n.(*ast.SequenceNode); ok {
		return list.Values
	}
	return []ast.Node{n}
}

// Null is the text of an SQL NULL among Texts.
const Null = "\x00NULL"

// Texts is one text or a list of them. Numbers and booleans are texts as they are written, null is Null.
type Texts []string

// UnmarshalYAML implements yaml.NodeUnmarshaler.
func (t *Texts) UnmarshalYAML(n ast.Node) error {
	*t = nil
	for _, value := range listed(n) {
		text, isNull, err := scalar(value)
		if err != nil {
			return err
		}
		if isNull {
			text = Null
		}
		*t = append(*t, text)
	}
	return nil
}

// Table holds texts by their names.
type Table map[string]string

// UnmarshalYAML implements yaml.NodeUnmarshaler.
func (t *Table) UnmarshalYAML(n ast.Node) error {
	*t = Table{}
	return named(n, func(name string, value ast.Node) (err error) {
		(*t)[name], _, err = scalar(value)
		return err
	})
}

// named calls take with the name and the value of each pair, until it fails.
func named(n ast.Node, take func(name string, value ast.Node) error) error {
	values, err := pairs(n)
	if err != nil {
		return err
	}
	for _, v := range values {
		name, _, err := scalar(v.Key)
		if err == nil {
			err = take(name, v.Value)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Form holds the values of a form's fields, one or a list of them for each.
type Form map[string][]string

// UnmarshalYAML implements yaml.NodeUnmarshaler.
func (f *Form) UnmarshalYAML(n ast.Node) error {
	*f = Form{}
	return named(n, func(name string, value ast.Node) error {
		for _, one := range listed(value) {
			text, _, err := scalar(one)
			if err != nil {
				return err
			}
			(*f)[name] = append((*f)[name], text)
		}
		return nil
	})
}

// Numbers is one number or a list of them.
type Numbers []int

// UnmarshalYAML implements yaml.NodeUnmarshaler.
func (s *Numbers) UnmarshalYAML(n ast.Node) error {
	*s = nil
	for _, value := range listed(n) {
		text, _, err := scalar(value)
		if err != nil {
			return err
		}
		number, err := strconv.Atoi(text)
		if err != nil || number < 100 || number > 599 {
			return mistake(at(value), "status %s: want a number from 100 to 599, or a list of them", text)
		}
		*s = append(*s, number)
	}
	return nil
}

// UnmarshalYAML implements yaml.NodeUnmarshaler.
func (p *Pieces) UnmarshalYAML(n ast.Node) error {
	text, _, err := scalar(n)
	if err != nil {
		return err
	}
	if *p, err = ParsePieces(text); err != nil {
		return mistake(at(n), "%s", err)
	}
	if *p <= 0 {
		return mistake(at(n), "%s pieces: want more than 0", text)
	}
	return nil
}

// Duration is a time such as "10s".
type Duration time.Duration

// UnmarshalYAML implements yaml.NodeUnmarshaler.
func (d *Duration) UnmarshalYAML(n ast.Node) error {
	text, _, err := scalar(n)
	if err != nil {
		return err
	}
	parsed, err := time.ParseDuration(text)
	if err != nil || parsed <= 0 {
		return mistake(at(n), "%q: want a time above 0, such as 10s", text)
	}
	*d = Duration(parsed)
	return nil
}

// Pattern is a regular expression.
type Pattern struct{ *regexp.Regexp }

// UnmarshalYAML implements yaml.NodeUnmarshaler.
func (p *Pattern) UnmarshalYAML(n ast.Node) error {
	text, _, err := scalar(n)
	if err != nil {
		return err
	}
	if p.Regexp, err = regexp.Compile(text); err != nil {
		return mistake(at(n), "%s", strings.TrimPrefix(err.Error(), "error parsing regexp: "))
	}
	return nil
}

// UnmarshalYAML implements yaml.NodeUnmarshaler.
func (r *Request) UnmarshalYAML(n ast.Node) error {
	type plain Request
	defer func() { r.At = at(n) }()
	return decode(n, (*plain)(r))
}

// UnmarshalYAML implements yaml.NodeUnmarshaler. The request's fields are beside the order's.
func (o *Order) UnmarshalYAML(n ast.Node) error {
	own := struct {
		Repeats string              `yaml:"repeats"`
		Baskets []map[string]Pieces `yaml:"baskets"`
		Item    any                 `yaml:"item"`
	}{}
	if err := split(n, &own, &o.Request); err != nil {
		return err
	}
	o.Repeats, o.Baskets, o.Item = own.Repeats, own.Baskets, own.Item
	return nil
}

// UnmarshalYAML implements yaml.NodeUnmarshaler. The request's fields are beside the step's.
func (s *Step) UnmarshalYAML(n ast.Node) error {
	own := struct {
		SQL     Texts  `yaml:"sql"`
		DSN     string `yaml:"dsn"`
		Command string `yaml:"command"`
		Restart bool   `yaml:"restart"`
		Answers []Rule `yaml:"answers"`
		Poll    bool   `yaml:"poll"`
	}{}
	if err := split(n, &own, &s.Request); err != nil {
		return err
	}
	s.SQL, s.DSN, s.Command, s.Restart = own.SQL, own.DSN, own.Command, own.Restart
	s.Answers, s.Poll = own.Answers, own.Poll
	return nil
}

// split decodes the fields of a mapping that own has into own, and the others into rest.
func split(n ast.Node, own any, rest *Request) error {
	values, err := pairs(n)
	if err != nil {
		return err
	}
	mine, others := fieldsOf(own), &ast.MappingNode{BaseNode: &ast.BaseNode{}, Start: n.GetToken()}
	ours := &ast.MappingNode{BaseNode: &ast.BaseNode{}, Start: n.GetToken()}
	for _, v := range values {
		if name, _, _ := scalar(v.Key); mine[name] {
			ours.Values = append(ours.Values, v)
		} else {
			others.Values = append(others.Values, v)
		}
	}
	if err := decode(ours, own); err != nil {
		return err
	}
	type plain Request // without UnmarshalYAML, which does not know own
	err = decode(others, (*plain)(rest), own)
	rest.At = at(n)
	return err
}

// UnmarshalYAML implements yaml.NodeUnmarshaler.
func (b *Books) UnmarshalYAML(n ast.Node) error {
	type plain Books
	defer func() { b.At = at(n) }()
	return decode(n, (*plain)(b))
}

// UnmarshalYAML implements yaml.NodeUnmarshaler.
func (s *Service) UnmarshalYAML(n ast.Node) error {
	type plain Service
	defer func() { s.At = at(n) }()
	return decode(n, (*plain)(s))
}

// UnmarshalYAML implements yaml.NodeUnmarshaler.
func (l *Limit) UnmarshalYAML(n ast.Node) error {
	type plain Limit
	defer func() { l.At = at(n) }()
	return decode(n, (*plain)(l))
}

// UnmarshalYAML implements yaml.NodeUnmarshaler. A text alone is the query.
func (q *Query) UnmarshalYAML(n ast.Node) error {
	type plain Query
	defer func() { q.At = at(n) }()
	if text, _, err := scalar(n); err == nil {
		q.Query = text
		return nil
	}
	return decode(n, (*plain)(q))
}
