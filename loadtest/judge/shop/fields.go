package shop

import (
	"reflect"
	"strings"
)

// fieldsOf returns the names in YAML of the fields of the struct that v points to; none of anything else.
func fieldsOf(v any) map[string]bool {
	names := map[string]bool{}
	t := reflect.TypeOf(v).Elem()
	if t.Kind() != reflect.Struct {
		return names
	}
	for i := range t.NumField() {
		name, _, _ := strings.Cut(t.Field(i).Tag.Get("yaml"), ",")
		names[name] = true
	}
	return names
}
