package queue_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/go-zookeeper/zk"

	"orderstock/pkg/zklock/internal/queue"
)

func TestSort(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		created []int32 // the numbers, in the order of creation
		asked   bool    // for the czxids
	}{
		"none":               {nil, false},
		"one":                {[]int32{7}, false},
		"rising":             {[]int32{0, 99_999, 100_000, 999_999_999, 1_000_000_000}, false},
		"the end":            {[]int32{math.MaxInt32 - 1, math.MaxInt32}, true},
		"stuck at the end":   {[]int32{math.MaxInt32 - 1, math.MaxInt32, math.MaxInt32, math.MaxInt32}, true},
		"creates under way":  {[]int32{math.MaxInt32, math.MinInt32, math.MinInt32 + 1, math.MaxInt32, math.MinInt32}, true},
		"negative":           {[]int32{math.MinInt32, 5}, true},
		"a counter that ran": {[]int32{-1, 0, 1}, true},
		"ties":               {[]int32{3, 3, 4}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var nodes []queue.Member
			zxids := map[string]int64{}
			for i, seq := range c.created {
				n := queue.Member{Name: fmt.Sprintf("%c-%010d", 'z'-i, seq), Seq: seq} // names sort the other way round
				nodes = append(nodes, n)
				zxids[n.Name] = int64(i + 1)
			}
			want := names(nodes)
			slices.Reverse(nodes)
			asked := make(chan struct{}, len(nodes))
			sorted, err := queue.Sort(t.Context(), nodes, func(_ context.Context, name string) (int64, error) {
				asked <- struct{}{}
				return zxids[name], nil
			})
			if err != nil {
				t.Fatal(err)
			}
			if got := names(sorted); !slices.Equal(got, want) {
				t.Errorf("order %q, want %q", got, want)
			}
			if got := len(asked) > 0; got != c.asked {
				t.Errorf("asked for the czxids: %v", got)
			}
		})
	}
}

func TestSortWithoutAnAnswer(t *testing.T) {
	t.Parallel()
	stuck := func() []queue.Member {
		return []queue.Member{
			{Name: "a", Seq: math.MaxInt32}, {Name: "gone", Seq: math.MaxInt32}, {Name: "b", Seq: math.MaxInt32},
		}
	}
	sorted, err := queue.Sort(t.Context(), stuck(), func(_ context.Context, name string) (int64, error) {
		if name == "gone" {
			return 0, zk.ErrNoNode
		}
		return int64('c' - name[0]), nil
	})
	if got := names(sorted); err != nil || !slices.Equal(got, []string{"b", "a"}) {
		t.Errorf("order %q, %v", got, err)
	}
	_, err = queue.Sort(t.Context(), stuck(), func(context.Context, string) (int64, error) {
		return 0, zk.ErrConnectionClosed
	})
	if !errors.Is(err, zk.ErrConnectionClosed) {
		t.Errorf("the order without an answer: %v", err)
	}
}

func names(nodes []queue.Member) []string {
	var names []string
	for _, n := range nodes {
		names = append(names, n.Name)
	}
	return names
}
