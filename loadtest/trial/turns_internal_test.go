package trial

import (
	"context"
	"errors"
	"strings"
	"testing"

	"orderstock/loadtest/fire"
	"orderstock/loadtest/system/systemtest"
)

// Each turn begins with the other side, also in a suite that continues another.
func TestSidesTakeTurns(t *testing.T) {
	t.Parallel()
	got := ""
	for turn := range 4 {
		for _, side := range ordered([]string{"a", "b"}, turn) {
			got += side
		}
	}
	if got != "abbaabba" {
		t.Errorf("the order is %s, want abbaabba", got)
	}
}

// TestTurnsThatFail end the suite with an error that names the side; whatever was opened is closed, and there is no
// report.
func TestTurnsThatFail(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	for name, test := range map[string]struct {
		open func(e string) error
		says string
		shut string
	}{
		"the second does not open": {func(e string) error {
			if e == "b" {
				return broken
			}
			return nil
		}, "open b: broken", "a"},
		"the first cannot fire": {func(string) error { return nil }, "fire at a: broken", "a b"},
	} {
		var shut []string
		s := Suite{
			Turns: 1, Experiments: []Experiment{{Name: "a"}, {Name: "b"}}, Watch: func(string, any) {},
			Open: func(_ context.Context, e Experiment) (*Side, error) {
				e.Load.Target = fire.Target{StockURLs: []string{"http://127.0.0.1:1"}}
				e.Checks = []Check{When(Intact, "broken", func(context.Context, *Run) error { return broken })}
				return &Side{Experiment: e, System: systemtest.Idle(t), Close: func(context.Context) error {
					shut = append(shut, e.Name)
					return nil
				}}, test.open(e.Name)
			},
		}
		report, err := s.Run(t.Context())
		if report != nil || !errors.Is(err, broken) || !strings.Contains(err.Error(), test.says) {
			t.Errorf("%s: %v, %v; want %q and no report", name, report, err, test.says)
		}
		if got := strings.Join(shut, " "); got != test.shut {
			t.Errorf("%s: closed %q, want %q", name, got, test.shut)
		}
	}
}
