package flagset_test

import (
	"slices"
	"testing"

	"github.com/spf13/pflag"

	"orderstock/pkg/command/flagset"
)

// TestListsReplaceTheDefaultAndThenGrow, and keep their value when one is refused.
func TestListsReplaceTheDefaultAndThenGrow(t *testing.T) {
	settings := struct {
		Names []string `flag:"name" default:"default"`
	}{}
	f := pflag.NewFlagSet("shop", pflag.ContinueOnError)
	flagset.Add(f, &settings)
	if shown := f.Lookup("name").DefValue; shown != "default" || !slices.Equal(settings.Names, []string{"default"}) {
		t.Errorf("the default is %q, shown as %q", settings.Names, shown)
	}
	if err := f.Parse([]string{"--name", "a, b", "--name", "c"}); err != nil {
		t.Fatal(err)
	}
	if err := f.Parse([]string{"--name", "d,"}); err == nil || !slices.Equal(settings.Names, []string{"a", "b", "c"}) {
		t.Errorf("%q, %v", settings.Names, err)
	}
}
