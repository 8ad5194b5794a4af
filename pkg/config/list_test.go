package config_test

import (
	"slices"
	"testing"

	"orderstock/pkg/config"
)

func TestParseList(t *testing.T) {
	for text, want := range map[string][]string{
		"": nil, " ": nil, "a:1": {"a:1"}, "a:1,b:2": {"a:1", "b:2"}, " a:1 ,\tb:2\r\n": {"a:1", "b:2"},
	} {
		if got, err := config.ParseList(text); err != nil || !slices.Equal(got, want) {
			t.Errorf("%q is %q, %v; want %q", text, got, err, want)
		}
	}
	for _, text := range []string{",", "a:1,", ",a:1", "a:1,,b:2", "a:1, ,b:2", "a:1 b:2", "a:1,b:2 c:3", "a:1\nb:2"} {
		if got, err := config.ParseList(text); err == nil {
			t.Errorf("%q is %q", text, got)
		}
	}
}
