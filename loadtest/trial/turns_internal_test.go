package trial

import "testing"

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
