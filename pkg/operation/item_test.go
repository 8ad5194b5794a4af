package operation_test

import (
	"errors"
	"math"
	"slices"
	"testing"

	"orderstock/pkg/operation"
)

func TestItems(t *testing.T) {
	many := make([]operation.Item, operation.MaxItems+1)
	for i := range many {
		many[i] = operation.Item{GoodsID: int64(len(many) - i), Num: 1}
	}
	for name, c := range map[string]struct {
		items []operation.Item
		want  error
	}{
		"one":                 {many[:1], nil},
		"as many as may be":   {many[1:], nil},
		"the highest":         {[]operation.Item{{GoodsID: math.MaxInt64, Num: operation.MaxNum}}, nil},
		"none":                {nil, operation.ErrInvalidItems},
		"one too many":        {many, operation.ErrInvalidItems},
		"no goods id":         {[]operation.Item{{Num: 1}}, operation.ErrInvalidGoodsID},
		"a negative goods id": {[]operation.Item{{GoodsID: -1, Num: 1}}, operation.ErrInvalidGoodsID},
		"no quantity":         {[]operation.Item{{GoodsID: 1}}, operation.ErrInvalidNum},
		"a negative quantity": {[]operation.Item{{GoodsID: 1, Num: -1}}, operation.ErrInvalidNum},
		"too high a quantity": {[]operation.Item{{GoodsID: 1, Num: operation.MaxNum + 1}}, operation.ErrInvalidNum},
		"the same goods twice": {
			[]operation.Item{{GoodsID: 1, Num: 1}, {GoodsID: 2, Num: 1}, {GoodsID: 1, Num: 2}},
			operation.ErrDuplicateGoods,
		},
	} {
		t.Run(name, func(t *testing.T) {
			before := slices.Clone(c.items)
			items, err := operation.NewItems(c.items)
			if !errors.Is(err, c.want) {
				t.Errorf("got %v, want %v", err, c.want)
			}
			if !slices.Equal(c.items, before) {
				t.Errorf("the argument became %v", c.items)
			}
			rising := func(a, b operation.Item) int { return int(a.GoodsID - b.GoodsID) }
			if err == nil && (len(items) != len(before) || !slices.IsSortedFunc(items, rising)) {
				t.Errorf("got %v", items)
			}
		})
	}
}

func TestGoodsIDsHaveOneWrittenForm(t *testing.T) {
	for _, bad := range []string{
		"", "0", "-1", "+1", "01", " 1", "1 ", "1.0", "0x1", "1e3", "9223372036854775808", "١",
		"1\x00",
	} {
		if id, err := operation.ParseGoodsID(bad); !errors.Is(err, operation.ErrInvalidGoodsID) {
			t.Errorf("%q is read as %d, %v", bad, id, err)
		}
	}
	for _, id := range []int64{1, 1001, math.MaxInt64} {
		if got, err := operation.ParseGoodsID(operation.FormatGoodsID(id)); got != id || err != nil {
			t.Errorf("%d is read back as %d, %v", id, got, err)
		}
	}
}
