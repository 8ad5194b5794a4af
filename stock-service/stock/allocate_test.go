package stock_test

import (
	"errors"
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"orderstock/pkg/operation"
	"orderstock/stock-service/stock"
)

func TestAllocate(t *testing.T) {
	ask := func(flag string, items ...operation.Item) stock.Request {
		return stock.Request{Flag: flag, Items: items}
	}
	requests := []stock.Request{
		ask("first", operation.Item{GoodsID: 1, Num: 2}),
		ask("too-many", operation.Item{GoodsID: 1, Num: 1}, operation.Item{GoodsID: 2, Num: 9}),
		ask("fits-still", operation.Item{GoodsID: 1, Num: 1}, operation.Item{GoodsID: 2, Num: 5}),
		ask("first", operation.Item{GoodsID: 1, Num: 2}),
		ask("first", operation.Item{GoodsID: 1, Num: 1}),
		ask("unknown", operation.Item{GoodsID: 1, Num: 99}, operation.Item{GoodsID: 3, Num: 1}),
		ask("done", operation.Item{GoodsID: 1, Num: 7}),
		ask("tombstone", operation.Item{GoodsID: 1, Num: 1}),
		ask("none-left", operation.Item{GoodsID: 1, Num: 1}),
		ask("none-left", operation.Item{GoodsID: 1, Num: 1}),
	}
	recorded := map[string]operation.Operation{
		"done":      {Flag: "done", State: operation.Done, Items: []operation.Item{{GoodsID: 1, Num: 7}}, Repeat: true},
		"tombstone": {Flag: "tombstone", State: operation.Cancelled, Repeat: true},
	}
	levels := map[int64]*stock.Level{1: {Num: 3}, 2: {Num: 5}}
	a := stock.Allocate(requests, levels, recorded)

	want := []struct {
		state  operation.State
		repeat bool
		err    error
	}{
		{operation.Done, false, nil},
		{operation.Rejected, false, nil},
		{operation.Done, false, nil},
		{operation.Done, true, nil},
		{"", false, operation.ErrFlagConflict},
		{"", false, operation.ErrUnknownGoods},
		{operation.Done, true, nil},
		{operation.Cancelled, true, nil},
		{operation.Rejected, false, nil},
		{operation.Rejected, true, nil},
	}
	for i, w := range want {
		got := a.Results[i]
		if got.Operation.State != w.state || got.Operation.Repeat != w.repeat || !errors.Is(got.Err, w.err) {
			t.Errorf("%d, %s: %+v; want %+v", i, requests[i].Flag, got, w)
		}
	}
	if reason := a.Results[1].Operation.Reason; reason != stock.ShortReason(2) {
		t.Errorf("rejected for %q; want goods 2", reason)
	}
	if a.Taken[1] != 3 || a.Taken[2] != 5 || levels[1].Num != 0 || levels[2].Num != 0 {
		t.Errorf("taken %v, left %d, %d", a.Taken, levels[1].Num, levels[2].Num)
	}
}

// In every group, no level falls below zero, the pieces taken match the new outcomes, and a refused request could not
// have been served at its turn.
func TestAllocateAnyGroup(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		levels, left := map[int64]*stock.Level{}, map[int64]int64{}
		for id := range int64(4) {
			n := rapid.Int64Range(0, 20).Draw(t, "level")
			levels[id+1], left[id+1] = &stock.Level{Num: n}, n
		}
		var requests []stock.Request
		for range rapid.IntRange(1, 30).Draw(t, "requests") {
			items, err := operation.NewItems(rapid.SliceOfNDistinct(rapid.Custom(func(t *rapid.T) operation.Item {
				return operation.Item{GoodsID: rapid.Int64Range(1, 5).Draw(t, "goods"), Num: rapid.Int64Range(1, 6).Draw(t, "num")}
			}), 1, 3, func(i operation.Item) int64 { return i.GoodsID }).Draw(t, "items"))
			if err != nil {
				t.Fatal(err)
			}
			requests = append(requests, stock.Request{Flag: fmt.Sprint(rapid.IntRange(1, 12).Draw(t, "flag")), Items: items})
		}
		a := stock.Allocate(requests, levels, nil)
		taken := map[int64]int64{}
		for i, o := range a.Results {
			if !o.New() {
				continue
			}
			fits := true
			for _, item := range requests[i].Items {
				fits = fits && left[item.GoodsID] >= item.Num
			}
			if fits != (o.Operation.State == operation.Done) {
				t.Fatalf("request %d %v with %v left: %s", i, requests[i], left, o.Operation.State)
			}
			if o.Operation.State == operation.Done {
				for _, item := range requests[i].Items {
					left[item.GoodsID] -= item.Num
					taken[item.GoodsID] += item.Num
				}
			}
		}
		for id, level := range levels {
			if level.Num != left[id] || level.Num < 0 || taken[id] != a.Taken[id] {
				t.Fatalf("goods %d: level %d, want %d; taken %d, want %d", id, level.Num, left[id], a.Taken[id], taken[id])
			}
		}
	})
}

func TestItems(t *testing.T) {
	items, err := operation.NewItems([]operation.Item{{GoodsID: 9, Num: 1}, {GoodsID: 2, Num: 3}})
	if err != nil {
		t.Fatal(err)
	}
	text := operation.EncodeItems(items)
	if text != "2:3,9:1" {
		t.Errorf("encoded as %q", text)
	}
	back, err := operation.DecodeItems(text)
	if err != nil || operation.EncodeItems(back) != text {
		t.Errorf("decoded as %v, %v", back, err)
	}
	for _, bad := range []string{"1", "1:", ":1", "a:b", "1:2,,3:4"} {
		if got, err := operation.DecodeItems(bad); err == nil {
			t.Errorf("decode %q: %v", bad, got)
		}
	}
	most := make([]operation.Item, operation.MaxItems)
	for i := range most {
		most[i] = operation.Item{GoodsID: 1<<63 - 1 - int64(i), Num: 1<<31 - 1}
	}
	if most, err = operation.NewItems(most); err != nil || len(operation.EncodeItems(most)) > 3400 {
		t.Errorf("the longest items do not fit their column: %d, %v", len(operation.EncodeItems(most)), err)
	}
}
