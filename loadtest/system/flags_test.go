package system_test

import (
	"strings"
	"testing"

	"orderstock/loadtest/system"
)

// A wrong strategy is refused with the list of the strategies.
func TestStrategyIsChecked(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ strategy, warns, refuses string }{
		{"", "", ""},
		{"zk-lock", "", ""},
		{"unsafe", "WARNING: the strategy unsafe oversells", ""},
		{"groupde", "", "want one of unsafe, single-node"},
	} {
		var said string
		c := system.Config{
			OrderServices: 1, StockServices: 1, Strategy: test.strategy, Progress: func(text string) { said += text },
		}
		err := c.Check()
		if (err == nil) != (test.refuses == "") || err != nil && !strings.Contains(err.Error(), test.refuses) ||
			!strings.HasPrefix(said, test.warns) || said != "" && test.warns == "" {
			t.Errorf("strategy %q: said %q, error %v; want %q and %q", test.strategy, said, err, test.warns, test.refuses)
		}
	}
}
