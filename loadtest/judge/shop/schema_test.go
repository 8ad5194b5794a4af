package shop_test

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"orderstock/loadtest/judge/shop"
)

// node is the part of a schema that the test looks at.
type node struct {
	Properties map[string]json.RawMessage `json:"properties"`
	Defs       map[string]node            `json:"$defs"`
	AnyOf      []node                     `json:"anyOf"`
}

// TestTheSchemaHasTheFieldsOfTheTypes: an editor completes each field that Parse reads, and no other.
func TestTheSchemaHasTheFieldsOfTheTypes(t *testing.T) {
	t.Parallel()
	var root node
	if err := json.Unmarshal(shop.Schema, &root); err != nil {
		t.Fatal(err)
	}
	for name, v := range map[string]any{
		"": shop.File{}, "order": shop.Order{}, "step": shop.Step{}, "books": shop.Books{},
		"query": shop.Query{}, "service": shop.Service{}, "limit": shop.Limit{},
	} {
		n := root
		if name != "" {
			n = root.Defs[name]
		}
		if len(n.AnyOf) > 0 {
			n = n.AnyOf[len(n.AnyOf)-1]
		}
		got, want := slices.Sorted(maps.Keys(n.Properties)), fields(reflect.TypeOf(v))
		if !slices.Equal(got, want) {
			t.Errorf("%s: the schema has %v, the type %v", name, got, want)
		}
	}
}

func fields(of reflect.Type) (names []string) {
	for i := range of.NumField() {
		f := of.Field(i)
		name, inline, _ := strings.Cut(f.Tag.Get("yaml"), ",")
		switch {
		case inline == "inline":
			names = append(names, fields(f.Type)...)
		case name != "-":
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// TestTheSchemaAcceptsWhatIsRead, and refuses an unknown field.
func TestTheSchemaAcceptsWhatIsRead(t *testing.T) {
	t.Parallel()
	schema, err := jsonschema.UnmarshalJSON(strings.NewReader(string(shop.Schema)))
	if err != nil {
		t.Fatal(err)
	}
	compiler := jsonschema.NewCompiler()
	if err := compiler.AddResource("shop.json", schema); err != nil {
		t.Fatal(err)
	}
	compiled, err := compiler.Compile("shop.json")
	if err != nil {
		t.Fatal(err)
	}
	validate := func(text string) error {
		converted, err := yaml.YAMLToJSON([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		value, err := jsonschema.UnmarshalJSON(strings.NewReader(string(converted)))
		if err != nil {
			t.Fatal(err)
		}
		return compiled.Validate(value)
	}
	curl, err := shop.FromCurl("curl https://127.0.0.1/o -k -d a=b -d a=c -d d=e")
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{good, curl} {
		if err := validate(text); err != nil {
			t.Errorf("%v in\n%s", err, text)
		}
	}
	for _, wrong := range []string{"contain: x, means", "means: refused, x"} {
		if validate(strings.Replace(good, "contains: sold out, means", wrong, 1)) == nil {
			t.Errorf("the schema accepts %s", wrong)
		}
	}
}
