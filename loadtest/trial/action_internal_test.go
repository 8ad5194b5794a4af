package trial

import (
	"slices"
	"testing"

	"orderstock/loadtest/system"
)

// TestActsAreArmedInOrder: by their time, and of the same time the ones on connections first, however they are given.
func TestActsAreArmedInOrder(t *testing.T) {
	for _, test := range []struct{ given, want []string }{
		{
			[]string{"1s kill stock-1", "1s cut stock-1 to mysql", "500ms arm-kill stock-1 before commit", "1s pause order-1"},
			[]string{"500ms arm-kill stock-1 before commit", "1s cut stock-1 to mysql", "1s kill stock-1", "1s pause order-1"},
		},
		{[]string{"2s flush-redis", "1s flush-redis"}, []string{"1s flush-redis", "2s flush-redis"}},
	} {
		var e Experiment
		for _, text := range test.given {
			a, err := Parse(text)
			if err != nil {
				t.Fatal(err)
			}
			e.Acts = append(e.Acts, a)
		}
		var got []string
		for _, a := range e.begin(&system.System{}, 1, nil, nil).Acts {
			got = append(got, a.Action.String())
		}
		if !slices.Equal(got, test.want) {
			t.Errorf("%q are armed as %q, want %q", test.given, got, test.want)
		}
	}
	e := Experiment{Acts: []Action{{Action: Nothing, AfterMS: 2, Then: true}, {Action: Nothing, AfterMS: 1}}}
	if acts := e.begin(&system.System{}, 1, nil, nil).Acts; acts[0].Action.AfterMS != 2 {
		t.Error("an action that counts from the ones before it changed its place")
	}
}
