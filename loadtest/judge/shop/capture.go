package shop

import (
	"bytes"
	"encoding/json"
	"fmt"
	"html"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml/ast"
	"github.com/theory/jsonpath"
)

// Answer is an answer to a request.
type Answer struct {
	Status int         `json:"status"`
	Header http.Header `json:"header"`
	Body   Body        `json:"body"`

	parsed bool
	json   any
}

// Body is the body of an answer. As JSON, it is a text if it is one, else a list with its bytes in base64.
type Body []byte

// MarshalJSON implements json.Marshaler.
func (b Body) MarshalJSON() ([]byte, error) {
	if utf8.Valid(b) {
		return json.Marshal(string(b))
	}
	return json.Marshal([][]byte{b})
}

// UnmarshalJSON implements json.Unmarshaler.
func (b *Body) UnmarshalJSON(text []byte) error {
	var readable string
	if json.Unmarshal(text, &readable) == nil {
		*b = Body(readable)
		return nil
	}
	var binary [1][]byte
	err := json.Unmarshal(text, &binary)
	*b = binary[0]
	return err
}

// mark is the byte-order mark at the beginning of some texts.
var mark = []byte("\ufeff")

// JSON returns the body's value, or nil if it is no JSON. It is not safe for concurrent use.
func (a *Answer) JSON() any {
	if !a.parsed {
		a.parsed = true
		decoder := json.NewDecoder(bytes.NewReader(bytes.TrimPrefix(a.Body, mark)))
		decoder.UseNumber() // ids may have more digits than a float holds
		if decoder.Decode(&a.json) != nil {
			a.json = nil
		}
	}
	return a.json
}

// cookie returns the value of a cookie that the answer sets.
func (a *Answer) cookie(name string) (string, bool) {
	for _, c := range (&http.Response{Header: a.Header}).Cookies() {
		if c.Name == name {
			return c.Value, true
		}
	}
	return "", false
}

// Capture finds a value in an answer: by a path in JSON, in a header or a cookie, by a regular expression in the body
// or the header, or as a fixed text with variables.
type Capture struct {
	At     At
	Path   *jsonpath.Path
	Header string
	Cookie string
	Regexp *Pattern
	// Text is used if all others are empty.
	Text string
}

// UnmarshalYAML implements yaml.NodeUnmarshaler.
func (c *Capture) UnmarshalYAML(n ast.Node) (err error) {
	c.At = at(n)
	if text, _, err := scalar(n); err == nil {
		if strings.HasPrefix(text, "$") {
			c.Path, err = path(n, text)
			return err
		}
		if c.Text = text; !hole.MatchString(text) {
			return mistake(c.At, "%q: want a path such as $.id, {header: …}, {cookie: …}, {regexp: …} or a text with {{…}}",
				text)
		}
		return nil
	}
	var parts struct {
		JSON   string   `yaml:"json"`
		Header string   `yaml:"header"`
		Cookie string   `yaml:"cookie"`
		Regexp *Pattern `yaml:"regexp"`
	}
	if err := decode(n, &parts); err != nil {
		return err
	}
	c.Header, c.Cookie, c.Regexp = parts.Header, parts.Cookie, parts.Regexp
	from := 0
	for _, part := range []string{parts.JSON, parts.Header, parts.Cookie} {
		if part != "" {
			from++
		}
	}
	if from > 1 || from == 0 && c.Regexp == nil {
		return mistake(c.At, "want one of json, header and cookie, or a regexp for the body")
	}
	if parts.JSON != "" {
		c.Path, err = path(n, parts.JSON)
	}
	return err
}

func path(n ast.Node, text string) (*jsonpath.Path, error) {
	p, err := jsonpath.Parse(text)
	if err != nil {
		return nil, mistake(at(n), "%q is no JSONPath: %s", text, strings.TrimPrefix(err.Error(), "jsonpath: "))
	}
	return p, nil
}

// From returns the value in the answer, if it is there and not empty.
func (c *Capture) From(a *Answer, vars Vars) (value any, ok bool) {
	var text string
	switch {
	case c.Path != nil:
		found := c.Path.Select(a.JSON())
		if len(found) == 0 || found[0] == nil || found[0] == "" {
			return nil, false
		}
		if c.Regexp == nil {
			return found[0], true
		}
		text = plain(found[0])
	case c.Header != "":
		text = a.Header.Get(c.Header)
	case c.Cookie != "":
		text, _ = a.cookie(c.Cookie)
	case c.Regexp != nil:
		text = string(a.Body)
	default:
		text, err := vars.Text(c.Text)
		return text, err == nil && text != ""
	}
	if c.Regexp != nil {
		m := c.Regexp.FindStringSubmatch(text)
		if m == nil {
			return nil, false
		}
		text = m[min(1, len(m)-1)]
		if strings.Contains(a.Header.Get("Content-Type"), "html") {
			text = html.UnescapeString(text)
		}
	}
	return text, text != ""
}

// lastName is the end of a path.
var lastName = regexp.MustCompile(`\["([^"]*)"\]$`)

// Elsewhere proposes another place in an answer, for a path that finds nothing there: the nearest one with the path's
// last name, or else one of the names; or it returns "".
func (c *Capture) Elsewhere(a *Answer, names ...string) string {
	if c.Path == nil {
		return ""
	}
	if m := lastName.FindStringSubmatch(c.Path.String()); m != nil {
		names = append([]string{m[1]}, names...)
	}
	for _, name := range names {
		if path := nearest(a.JSON(), name); path != "" {
			return "; do you mean $" + path + "?"
		}
	}
	return ""
}

// nearest returns the shortest path to a text or a number with that name, or with a name whose last word it is,
// such as order_id and orderId for id.
func nearest(root any, name string) string {
	type place struct {
		path  string
		value any
	}
	ends := regexp.MustCompile(`^(.*_)?` + regexp.QuoteMeta(name) + `$|[a-z]` + regexp.QuoteMeta(title(name)) + `$`)
	other := ""
	for level := []place{{"", root}}; len(level) > 0; {
		var below []place
		for _, at := range level {
			switch value := at.value.(type) {
			case map[string]any:
				for _, key := range slices.Sorted(maps.Keys(value)) {
					path := at.path + segment(key)
					switch found := value[key].(type) {
					case string, json.Number:
						if key == name && found != "" {
							return path
						}
						if other == "" && found != "" && ends.MatchString(key) {
							other = path
						}
					default:
						below = append(below, place{path, found})
					}
				}
			case []any:
				for i, element := range value {
					below = append(below, place{fmt.Sprintf("%s[%d]", at.path, i), element})
				}
			}
		}
		level = below
	}
	return other
}

// title returns a name with its first letter in upper case.
func title(name string) string {
	if name == "" {
		return ""
	}
	return strings.ToUpper(name[:1]) + name[1:]
}

// segment is the part of a path that a name is.
func segment(name string) string {
	if regexp.MustCompile(`^[A-Za-z_]\w*$`).MatchString(name) {
		return "." + name
	}
	return fmt.Sprintf("[%q]", name)
}

func (c *Capture) String() string {
	var where string
	switch {
	case c.Path != nil:
		where = c.Path.String()
	case c.Header != "":
		where = "header " + c.Header
	case c.Cookie != "":
		where = "cookie " + c.Cookie
	case c.Regexp == nil:
		return c.Text
	default:
		where = "the body"
	}
	if c.Regexp != nil {
		where += " by " + c.Regexp.String()
	}
	return where
}
