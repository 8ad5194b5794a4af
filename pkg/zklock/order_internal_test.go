package zklock

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"
)

func TestOrdered(t *testing.T) {
	t.Parallel()
	const last = math.MaxInt32 - 1024
	for name, c := range map[string]struct {
		created []int32 // the numbers, in the order of creation
		usedUp  bool
	}{
		"none":               {nil, false},
		"one":                {[]int32{7}, false},
		"rising":             {[]int32{0, 99_999, 100_000, 999_999_999, 1_000_000_000, last}, false},
		"near the end":       {[]int32{last, last + 1}, true},
		"stuck at the end":   {[]int32{math.MaxInt32, math.MaxInt32}, true},
		"a counter that ran": {[]int32{-1, 0, 1}, true},
		"a stranger's":       {[]int32{3, 3, 4}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var want []string
			for i, seq := range c.created {
				want = append(want, fmt.Sprintf("%c-lock-%010d", 'a'+i, seq))
			}
			names := slices.Clone(want)
			slices.Reverse(names)
			members, err := ordered(append(names, "leases"), lockKind)
			if c.usedUp {
				if !errors.Is(err, ErrUsedUp) {
					t.Errorf("error %v", err)
				}
				return
			}
			var got []string
			for _, m := range members {
				got = append(got, m.name)
			}
			if err != nil || !slices.Equal(got, want) {
				t.Errorf("order %q, want %q, %v", got, want, err)
			}
		})
	}
}
